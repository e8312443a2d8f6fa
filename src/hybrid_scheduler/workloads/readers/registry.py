"""Readers by name, found through entry points: built-in ones and other people's alike."""

from __future__ import annotations

from pathlib import Path

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.registered import load_registered, registered
from hybrid_scheduler.workloads.opening import head
from hybrid_scheduler.workloads.readers.base import HEAD_BYTES, Reader
from hybrid_scheduler.workloads.recorded import RecordedFile

GROUP = "hybrid_scheduler.readers"
OWN = "csv"
"""The project's own format: what a file is taken for when no reader recognises it."""


def reader_names() -> list[str]:
    """The names of all registered readers, sorted. Loads none of them."""
    return sorted(registered(GROUP))


def create_reader(name: str) -> Reader:
    """The reader registered under a name.

    Raises:
        UnknownNameError: Nothing is registered under it; the message offers the nearest name.
        InvalidInputError: What is registered is not a reader, or cannot be imported.
    """
    return load_registered(GROUP, name, "format", Reader)()  # type: ignore[type-abstract]


def recognise(path: str | Path) -> str:
    """Name of the format of a file, by its content; the project's own where no reader recognises it.

    Raises:
        InvalidInputError: The file cannot be read, or several readers recognise it.
    """
    path = Path(path)
    start = head(path, HEAD_BYTES)
    names = [name for name in reader_names() if create_reader(name).recognises(start, path.name)]
    if len(names) > 1:
        raise InvalidInputError(f"{path}: this could be {' or '.join(names)}; say which, e.g. --format {names[0]}")
    return names[0] if names else OWN


def read_workload(path: str | Path, seed: int, name: str | None = None) -> tuple[str, RecordedFile]:
    """Read a file of any registered format.

    Args:
        path: The file.
        seed: Of what is drawn where the file says nothing.
        name: The format; None: recognised by content.

    Returns:
        The name of the format, and what was read.

    Raises:
        UnknownNameError: There is no such format.
        InvalidInputError: Something is wrong in the file; the message names file, line and rule.
    """
    name = recognise(path) if name is None else name
    return name, create_reader(name).read(Path(path), seed)
