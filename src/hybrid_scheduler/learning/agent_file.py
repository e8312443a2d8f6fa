"""The agent's file format: a `.pth` of tensors and plain values, read without running code from it."""

from __future__ import annotations

import os
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

from hybrid_scheduler.model.errors import InvalidInputError

FORMAT = "hybrid-ml-scheduler agent"
VERSION = 1


def write_agent(path: str | Path, contents: dict[str, Any]) -> None:
    """Write the contents whole or not at all: a crash in the middle leaves the old file."""
    import torch

    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".unfinished")
    torch.save({"format": FORMAT, "version": VERSION, **contents}, unfinished)
    os.replace(unfinished, target)


def read_agent(path: str | Path) -> dict[str, Any]:
    """Read what `write_agent` wrote.

    Raises:
        InvalidInputError: The file is missing, damaged, something else, or of another version.
    """
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that are none of ours: the error below says it better
            contents = torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no model file {path}; train one first or check the name") from error
    except (OSError, EOFError, RuntimeError, ValueError, KeyError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{path} is not a readable agent ({_first_line(error)}); it may be cut off or another kind of file: "
            "save it again with save_model"
        ) from error
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise InvalidInputError(f"{path} is not an agent saved by this program; save one with save_model")
    if contents.get("version") != VERSION:
        raise InvalidInputError(
            f"{path} has version {contents.get('version')}, but this program reads version {VERSION}; train it again"
        )
    return contents


def summary_writer(folder: str) -> Any:
    """A TensorBoard writer for a folder; the package is optional."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InvalidInputError(
            "log_dir needs the package tensorboard; install it with 'pip install tensorboard'"
        ) from error
    return SummaryWriter(folder)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
