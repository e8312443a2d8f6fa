"""Saved predictors: a joblib pickle of a dictionary that says what it is.

A pickle can run code when it is read: read only files you trust. (The schedulers' own forests are no pickles, see
`learning.forest_file`.)
"""

from __future__ import annotations

import pickle
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError

FORMAT: Final = "hybrid-scheduler predictor"
VERSION: Final = 1
KEYS: Final = ("model", "feature_names", "target", "seed", "estimator")

_UNREADABLE = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    ImportError,
    MemoryError,
    zlib.error,
)
"""What reading bytes that are no pickle, or half of one, can raise."""


def require(what: str, package: str, module: str, extra: str) -> None:
    """Refuse to go on without a library.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, package, extra) from error


def write_predictor(path: str | Path, contents: dict[str, Any]) -> None:
    """Write a predictor.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    import joblib

    try:
        joblib.dump({"format": FORMAT, "version": VERSION, **contents}, path, compress=3)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written ({error.strerror}); choose another place") from error


def read_predictor(path: str | Path, model: str) -> dict[str, Any]:
    """Read what `write_predictor` wrote.

    Args:
        path: The file.
        model: The class it must have been saved by.

    Raises:
        InvalidInputError: The file is missing, damaged, not such a model, or of another version.
    """
    import joblib

    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file; check the path, or train a model first")
    try:
        contents = joblib.load(path)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror or error}); check the file") from error
    except _UNREADABLE as error:
        raise InvalidInputError(
            f"{path}: not a saved predictor, or the file is damaged ({error}); save or train it again"
        ) from error
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise InvalidInputError(f"{path}: not a saved predictor; give a file written by save")
    if contents.get("version") != VERSION:
        raise InvalidInputError(
            f"{path}: the model has version {contents.get('version')}, but this program reads {VERSION}; train it again"
        )
    missing = [key for key in KEYS if key not in contents]
    if missing:
        raise InvalidInputError(f"{path}: the model has no {missing[0]!r}; save or train it again")
    if contents["model"] != model:
        raise InvalidInputError(f"{path}: a {contents['model']}, but a {model} is needed; load it with its own class")
    return contents
