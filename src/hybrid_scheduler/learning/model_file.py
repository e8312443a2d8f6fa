"""What all model files share: written whole or not at all, for their owner alone; read within bounds, damage noticed.

The archives (`.npz`, `.pth`) are zip files with a checksum (SHA-256) of everything before it in the place of a zip
file's comment, so that other programs read them as before. Those of earlier versions have none: their entries' own
checksums (CRC-32) are tested instead. A checksum shows damage, not who wrote the file.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.errors import InvalidInputError

MOST_BYTES: Final = 2**31
"""A larger file is no model."""
FREE_BYTES: Final = 2**26
MOST_TIMES: Final = 20
"""An archive may unfold to so many bytes, or to so many times its own size: numbers that were learned hardly shrink."""
CHECKSUM: Final = b"hybrid-scheduler sha256 "
DIGITS: Final = 64
PLAIN_END, PLAIN_END_BYTES = b"PK\x05\x06", 22
"""How a zip file without a comment ends."""

Arrays = dict[str, NDArray[Any]]


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write and read that takes the place of `path` when the block has ended well; readable by its owner.

    Folders on the way are made when absent, for the owner alone.

    Raises:
        InvalidInputError: It cannot be written; what was there before is still there.
    """
    path = Path(path)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        make_folder(path.parent)
        unfinished.unlink(missing_ok=True)  # a crash may have left one that others can read
        try:
            with open(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"{path}: the model cannot be written ({error.strerror or error}); choose another place"
        ) from error


def make_folder(folder: Path) -> None:
    """Make a folder, and those on the way to it, for the owner alone; those that are there stay as they are."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def append_checksum(file: BinaryIO) -> None:
    """Complete a zip file that was just written."""
    file.seek(-2, os.SEEK_END)
    file.write((len(CHECKSUM) + DIGITS).to_bytes(2, "little") + CHECKSUM)
    file.seek(0)
    digest = hashlib.sha256(file.read()).hexdigest()
    file.write(digest.encode())


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """A zip file that is as it was written and does not unfold to more than is credible; nothing is unpacked yet.

    Raises:
        Exception: It is damaged, too large or something else; of whatever kind the reading library likes.
    """
    size = file.seek(0, os.SEEK_END)
    if size > MOST_BYTES:
        raise ValueError(f"it has {size} bytes, but a model has at most {MOST_BYTES}")
    archive = zipfile.ZipFile(file)
    unfolded, most = sum(entry.file_size for entry in archive.infolist()), max(FREE_BYTES, MOST_TIMES * size)
    if unfolded > most:
        raise ValueError(f"it unfolds to {unfolded / 1e6:.0f} MB, but at most {most / 1e6:.0f} MB are credible")
    file.seek(max(0, size - len(CHECKSUM) - DIGITS))
    end = file.read()
    if end.startswith(CHECKSUM):
        file.seek(0)
        if hashlib.sha256(file.read(size - DIGITS)).hexdigest().encode() != end[-DIGITS:]:
            raise ValueError("its checksum does not match")
    elif end[-PLAIN_END_BYTES:].startswith(PLAIN_END) and end.endswith(b"\0\0"):
        damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"its entry {damaged} is damaged")
    else:
        raise ValueError("its checksum is damaged")
    return archive


def read_arrays(file: BinaryIO) -> Arrays:
    """The arrays of NumPy's archive format; none of objects, which would be pickles.

    Raises:
        Exception: As `open_archive`.
    """
    with open_archive(file) as archive:
        return {
            entry.filename.removesuffix(".npy"): _array(entry.filename, archive.read(entry))
            for entry in archive.infolist()
        }


def _array(name: str, data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} has another format")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(stream)
    if kind.kind not in "biuf" or prod(shape) * kind.itemsize != len(data) - stream.tell():
        raise ValueError(f"{name} holds something else than its {shape} numbers of type {kind}")
    return np.ndarray(shape, kind, bytearray(memoryview(data)[stream.tell() :]), order="F" if by_columns else "C")


def described(error: Exception) -> str:
    """An error of a library in a few words on one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
