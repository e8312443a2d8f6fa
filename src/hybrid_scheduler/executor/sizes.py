"""How large the arguments of a call are, which is its size unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

SAMPLE = 1000
"""Of a longer container so many items are looked at."""
NUMBER_BYTES = 8


def argument_bytes(arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> int:
    """Bytes of arguments: of arrays and tensors, bytes and texts, numbers, and one level into containers.

    What else there is, such as an object with arrays inside, counts as nothing.
    """
    total = 0
    for value in (*arguments, *keywords.values()) if keywords else arguments:
        if isinstance(value, list | tuple | set | frozenset):
            total += _bytes_in(value, len(value))
        elif isinstance(value, dict):
            total += _bytes_in(value.values(), len(value)) + _bytes_in(value, len(value))
        else:
            total += _bytes_of(value)
    return total


def _bytes_in(values: Any, count: int) -> int:
    if count <= SAMPLE:
        return sum(map(_bytes_of, values))
    return sum(map(_bytes_of, islice(values, SAMPLE))) * count // SAMPLE


def _bytes_of(value: Any) -> int:
    if isinstance(value, int | float):
        return NUMBER_BYTES
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    nbytes = getattr(value, "nbytes", 0)
    return nbytes if isinstance(nbytes, int) else 0
