"""The agent's file format: a `.pth` of tensors and plain values, read without running code from it."""

from __future__ import annotations

import io
import pickletools
import warnings
import zipfile
from pathlib import Path
from typing import Any, Final

from hybrid_scheduler.learning.model_file import append_checksum, described, open_archive, replacing
from hybrid_scheduler.model.errors import InvalidInputError, MissingExtraError

FORMAT: Final = "hybrid-ml-scheduler agent"
VERSION: Final = 3
BUILDERS: Final = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch FloatStorage"}
"""What an agent is put together from. PyTorch itself allows more, an array of a billion zeros among it."""


def write_agent(path: str | Path, contents: dict[str, Any]) -> None:
    """Write the contents whole or not at all: a crash in the middle leaves the old file.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    import torch

    # Into a buffer first, because PyTorch says nothing helpful about a full disk.
    archive = io.BytesIO()
    torch.save({"format": FORMAT, "version": VERSION, **contents}, archive)
    with replacing(path) as file:
        file.write(archive.getbuffer())
        append_checksum(file)


def read_agent(path: str | Path) -> dict[str, Any]:
    """Read what `write_agent` wrote.

    Raises:
        InvalidInputError: The file is missing, damaged, something else, or of another version.
    """
    import torch

    try:
        with Path(path).open("rb") as file, warnings.catch_warnings():
            with open_archive(file) as archive:
                _check_builders(archive)
            warnings.simplefilter("ignore")  # about files that are none of ours: the error below says it better
            file.seek(0)
            contents = torch.load(file, weights_only=True, map_location="cpu")
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no model file {path}; train one first or check the name") from error
    except Exception as error:
        raise InvalidInputError(
            f"{path} is not a readable agent ({described(error)}); it may be cut off or another kind of file: "
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
    """A TensorBoard writer for a folder.

    Raises:
        MissingExtraError: TensorBoard is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtraError("log_dir", "TensorBoard", "tensorboard") from error
    return SummaryWriter(folder)


def _check_builders(archive: zipfile.ZipFile) -> None:
    """Refuse what is put together from anything but tensors and plain values."""
    for entry in archive.infolist():
        if entry.filename.endswith(".pkl"):
            steps = pickletools.genops(archive.read(entry))
            foreign = {str(what) for step, what, _ in steps if "GLOBAL" in step.name} - BUILDERS
            if foreign:
                raise ValueError(f"it holds {min(foreign)}, which is no part of an agent")
