"""Pickles for other processes on the same machine or cluster, of lambdas, closures and what `__main__` defines too.

Plain pickle is many times as fast as cloudpickle, but it carries functions and classes by name, also those of
`__main__`, which is another module in another process. So those are looked for while plain pickle runs.
"""

from __future__ import annotations

import io
import pickle
import traceback
from types import FunctionType
from typing import Any

PROTOCOL = 5


class RemoteTraceback(Exception):  # noqa: N818 (it is no error: it is the cause of one, and says where that was raised)
    """The traceback, as text, of an error that was raised in another process."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class _NotByNameError(Exception):
    """Something is known by a name that means nothing elsewhere."""


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, value: Any, /) -> Any:
        if isinstance(value, (FunctionType, type)) and value.__module__ == "__main__":
            raise _NotByNameError
        return NotImplemented


def dumps(value: object) -> bytes:
    """A pickle of this value: a plain one where that can be read elsewhere, else cloudpickle's.

    Raises:
        Exception: It cannot be pickled; the classes of its parts may raise what they like.
    """
    file = io.BytesIO()
    try:
        _PlainPickler(file, PROTOCOL).dump(value)
    except (_NotByNameError, pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle

        pickled: bytes = cloudpickle.dumps(value, PROTOCOL)
        return pickled
    return file.getvalue()


def portable(error: BaseException) -> tuple[bytes, str]:
    """An error as a pickle that can be read, and its traceback as text."""
    text = "".join(traceback.format_exception(error))
    try:
        pickled = dumps(error)
        pickle.loads(pickled)
    except Exception:  # noqa: BLE001 (its class may do anything; what it said is kept)
        pickled = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"), PROTOCOL)
    return pickled, text
