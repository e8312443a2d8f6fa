"""Saved predictors: a compressed joblib pickle that says at its beginning what it is, with a checksum.

The beginning is the comment of a gzip file, so `joblib.load` reads the file too. It is checked before anything is
unpickled: another kind of file, another version and damage are noticed in time. That does not make the file safe: **a
pickle can run any code when it is read, and whoever makes a bad one can make its checksum too. Read only files whose
origin you trust.** (The schedulers' own models are no pickles, see `learning.forest.file` and `learning.agent_file`.)
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final

from hybrid_scheduler.learning.model_file import MOST_BYTES, described, replacing
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError

FORMAT: Final = "hybrid-scheduler predictor"
VERSION: Final = 1
KEYS: Final = ("model", "feature_names", "target", "seed", "estimator")
HEADER: Final = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff"
"""The header of a gzip file with a comment."""
COMMENT: Final = re.compile(rb"hybrid-scheduler predictor: version (\d{1,9}), ([^,\0]{1,100}), sha256 ([0-9a-f]{64})\0")
"""Version, model, and the checksum of what follows."""


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

    packed = io.BytesIO()
    joblib.dump({"format": FORMAT, "version": VERSION, **contents}, packed, compress=("gzip", 3))
    rest = packed.getbuffer()[len(HEADER) :]  # joblib's own header has no comment
    comment = f"{FORMAT}: version {VERSION}, {contents['model']}, sha256 {hashlib.sha256(rest).hexdigest()}"
    with replacing(path) as file:
        file.write(HEADER + comment.encode() + b"\0")
        file.write(rest)


def read_predictor(path: str | Path, model: str, *, trusted: bool = False) -> dict[str, Any]:
    """Read what `write_predictor` wrote.

    Args:
        path: The file.
        model: The class it must have been saved by.
        trusted: Read a joblib file too that does not say what it is; a warning says what that means.

    Raises:
        InvalidInputError: The file is missing, damaged, not such a model, or of another version.
    """
    try:
        with Path(path).open("rb") as file:
            contents = _read(path, file, model, trusted)
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path}: there is no such file; check the path, or train a model first") from error
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror or error}); check the file") from error
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise InvalidInputError(f"{path}: not a saved predictor; give a file written by save")
    _check(path, model, contents.get("version"), contents.get("model"))
    missing = [key for key in KEYS if key not in contents]
    if missing:
        raise InvalidInputError(f"{path}: the model has no {missing[0]!r}; save or train it again")
    return contents


def _read(path: str | Path, file: BinaryIO, model: str, trusted: bool) -> Any:
    import joblib

    data = file.read(MOST_BYTES)
    comment = COMMENT.match(data, len(HEADER)) if data.startswith(HEADER) else None
    if comment:
        version, found, digest = (part.decode(errors="replace") for part in comment.groups())
        _check(path, model, int(version), found)
        if hashlib.sha256(memoryview(data)[comment.end() :]).hexdigest() != digest:
            raise InvalidInputError(f"{path}: the file is damaged: its checksum does not match; save or train it again")
    elif trusted:
        warnings.warn(f"{path} is a bare pickle: reading it runs whatever code it holds", stacklevel=4)
    else:
        raise InvalidInputError(
            f"{path}: not a saved predictor, or the file is damaged: its beginning does not say what it is; give a "
            "file written by save, or load(path, trusted=True) if it is a joblib file whose origin you trust"
        )
    try:
        return joblib.load(io.BytesIO(data))
    except Exception as error:
        raise InvalidInputError(
            f"{path}: not a saved predictor, or the file is damaged ({described(error)}); save or train it again"
        ) from error


def _check(path: str | Path, model: str, version: object, found: object) -> None:
    if version != VERSION:
        raise InvalidInputError(
            f"{path}: the model has version {version}, but this program reads {VERSION}; train it again"
        )
    if found != model:
        raise InvalidInputError(f"{path}: a {found}, but a {model} is needed; load it with its own class")
