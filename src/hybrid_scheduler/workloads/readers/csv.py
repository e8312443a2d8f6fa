"""The project's own format: a CSV file with one row per task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hybrid_scheduler.workloads.chunks import TaskChunk
from hybrid_scheduler.workloads.csv_stream import stream_csv
from hybrid_scheduler.workloads.csv_tasks import task_column_names
from hybrid_scheduler.workloads.csv_trace import REQUIRED, read_csv
from hybrid_scheduler.workloads.readers.base import Reader, header_of
from hybrid_scheduler.workloads.recorded import TraceFile


class CsvReader(Reader):
    """See `read_csv`. A file that no reader recognises is read as this format too."""

    title = "CSV of this project, one row per task"

    def recognises(self, head: bytes, name: str) -> bool:
        """All required columns stand in the first line."""
        names = task_column_names(header_of(head))
        return all(required in names for required in REQUIRED)

    def read(self, path: Path, seed: int) -> TraceFile:
        """Read it; nothing is drawn."""
        return read_csv(path)

    def stream(self, path: Path, seed: int) -> Iterator[TaskChunk]:
        """Read it piece by piece."""
        return stream_csv(path)
