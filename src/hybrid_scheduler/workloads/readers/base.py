"""The contract of a reader: one format of workload files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from hybrid_scheduler.workloads.chunks import TaskChunk, chunk_of
from hybrid_scheduler.workloads.recorded import RecordedFile

HEAD_BYTES = 65_536
"""How much of a file `Reader.recognises` is shown."""


class Reader(ABC):
    """Reads one format. Registered under a name in the entry-point group `hybrid_scheduler.readers`.

    A reader has no state: one object may read many files. What a file does not say is filled by a named rule and stated
    in the result (`assumed`); a task that is left out is counted there too.

    Attributes:
        title: What the format is, in a few words, for lists.
        rows: What a file of it holds.
    """

    title: ClassVar[str]
    rows: ClassVar[str] = "tasks"

    @abstractmethod
    def recognises(self, head: bytes, name: str) -> bool:
        """Whether a file looks like this format.

        Args:
            head: Its first 64 KB, unpacked.
            name: Its name, without folders.
        """

    @abstractmethod
    def read(self, path: Path, seed: int) -> RecordedFile:
        """Read a whole file.

        Args:
            path: The file, compressed by gzip or not (`workloads.opening.opened` unpacks).
            seed: Of everything that is drawn; the same seed gives the same tasks.

        Raises:
            InvalidInputError: Names the file, the line, the rule that is broken and the fix.
        """

    def stream(self, path: Path, seed: int) -> Iterator[TaskChunk]:
        """The file in pieces, for statistics; a format of large files reads piece by piece.

        Raises:
            InvalidInputError: As for `read`.
        """
        yield chunk_of(self.read(path, seed))


def header_of(head: bytes) -> tuple[str, ...]:
    """The names in the first line of a CSV file, of its first bytes; empty where it is not text."""
    line = head.split(b"\n", 1)[0]
    try:
        return tuple(cell.strip().strip('"') for cell in line.decode("utf-8-sig").split(","))
    except UnicodeDecodeError:
        return ()


def has_columns(head: bytes, required: tuple[str, ...]) -> bool:
    """Whether more than half of these columns stand in the first line: enough to tell which one is wrong."""
    header = header_of(head)
    return 2 * sum(name in header for name in required) > len(required)
