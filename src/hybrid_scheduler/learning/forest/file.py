"""Saved forests: NumPy's archive format with a JSON header.

Not a pickle, whatever the file is called: reading one from a stranger runs no code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybrid_scheduler.learning.features import FEATURE_NAMES
from hybrid_scheduler.learning.model_file import Arrays, append_checksum, described, read_arrays, replacing
from hybrid_scheduler.model.errors import InvalidInputError

FORMAT: Final = "hybrid-scheduler forest"
VERSION: Final = 1
TARGET: Final = "log seconds of the whole task on every device"
HEADER: Final = "header"


def write_archive(path: str | Path, header: Mapping[str, object], arrays: Arrays) -> None:
    """Write a model: what it is, its header, its arrays.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    about = {"format": FORMAT, "version": VERSION, "features": FEATURE_NAMES, "target": TARGET, **header}
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    with replacing(path) as file:
        np.savez_compressed(file, allow_pickle=False, **{HEADER: text, **arrays})
        append_checksum(file)


def read_archive(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """Read a model's header and arrays.

    Raises:
        InvalidInputError: The file is missing, damaged, not such a model, or of another version.
    """
    try:
        with Path(path).open("rb") as file:
            arrays = read_arrays(file)
        header = json.loads(bytes(arrays.pop(HEADER)))
    except OSError as error:
        raise InvalidInputError(
            f"{path}: the model cannot be read ({error.strerror or error}); check the path"
        ) from error
    except Exception as error:
        raise InvalidInputError(
            f"{path}: not a saved forest scheduler, or the file is damaged ({described(error)}); save or train it again"
        ) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidInputError(f"{path}: not a saved forest scheduler; give one written by save_model")
    if header.get("version") != VERSION:
        raise InvalidInputError(
            f"{path}: the model has version {header.get('version')}, but this program reads {VERSION}; train it again"
        )
    if header.get("features") != list(FEATURE_NAMES) or header.get("target") != TARGET:
        raise InvalidInputError(
            f"{path}: the model predicts {header.get('target')!r} from {header.get('features')}, but {TARGET!r} from "
            f"{list(FEATURE_NAMES)} is needed; train it again"
        )
    return header, arrays
