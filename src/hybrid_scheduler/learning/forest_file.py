"""Saved forests: NumPy's archive format with a JSON header.

Not a pickle, whatever the file is called: reading one from a stranger runs no code.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.features import FEATURE_NAMES
from hybrid_scheduler.model.errors import InvalidInputError

FORMAT: Final = "hybrid-scheduler forest"
VERSION: Final = 1
TARGET: Final = "log seconds of the whole task on every device"
HEADER: Final = "header"

Arrays = dict[str, NDArray[Any]]


def write_archive(path: str | Path, header: Mapping[str, object], arrays: Arrays) -> None:
    """Write a model: what it is, its header, its arrays.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    about = {"format": FORMAT, "version": VERSION, "features": FEATURE_NAMES, "target": TARGET, **header}
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    try:
        with Path(path).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **{HEADER: text, **arrays})
    except OSError as error:
        raise InvalidInputError(
            f"{path}: the model cannot be written ({error.strerror}); choose another place"
        ) from error


def read_archive(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """Read a model's header and arrays.

    Raises:
        InvalidInputError: The file is missing, damaged, not such a model, or of another version.
    """
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or HEADER not in archive:
                raise ValueError("no header")
            header = json.loads(bytes(archive[HEADER]))
            arrays = {name: archive[name] for name in archive.files if name != HEADER}
    except OSError as error:
        raise InvalidInputError(
            f"{path}: the model cannot be read ({error.strerror or error}); check the path"
        ) from error
    except (ValueError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidInputError(
            f"{path}: not a saved forest scheduler, or the file is damaged ({error}); save or train it again"
        ) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidInputError(f"{path}: not a saved forest scheduler; give one written by save_model")
    if header.get("version") != VERSION:
        raise InvalidInputError(
            f"{path}: the model has version {header.get('version')}, but this program reads {VERSION}; train it again"
        )
    if tuple(header.get("features", ())) != FEATURE_NAMES or header.get("target") != TARGET:
        raise InvalidInputError(
            f"{path}: the model predicts {header.get('target')!r} from {header.get('features')}, but {TARGET!r} from "
            f"{list(FEATURE_NAMES)} is needed; train it again"
        )
    return header, arrays
