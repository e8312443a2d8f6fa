"""Files and folders that only their owner can read."""

from __future__ import annotations

import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_MODE, FOLDER_MODE, UMASK = 0o600, 0o700, 0o077


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it, as far as they are not there; those that are stay as they are."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(FOLDER_MODE, exist_ok=True)


def private_opener(path: str, flags: int) -> int:
    """For `open`: a new file is the owner's alone."""
    return os.open(path, flags, FILE_MODE)


class PrivateRotatingFile(RotatingFileHandler):
    """A log file and its predecessors; one that is there already keeps its mode."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=private_opener), encoding=self.encoding)
