"""The project's own format as a Parquet file: the columns of the CSV format, with their types."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.model import InvalidInputError, MissingExtraError, TaskBatch
from hybrid_scheduler.model.task import Dependency
from hybrid_scheduler.workloads.arrow_columns import BadRowError, arrow_chunk
from hybrid_scheduler.workloads.chunks import TaskChunk
from hybrid_scheduler.workloads.csv_trace import trace_column_names
from hybrid_scheduler.workloads.opening import opened
from hybrid_scheduler.workloads.readers.base import Reader
from hybrid_scheduler.workloads.recorded import TraceFile

MAGIC = b"PAR1"
"""How every Parquet file begins."""


class ParquetReader(Reader):
    """The columns of `read_csv`; `dependencies` may be lists of whole numbers, or text as in a CSV file."""

    title = "Parquet of this project, one row per task"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its first bytes."""
        return head.startswith(MAGIC)

    def read(self, path: Path, seed: int) -> TraceFile:
        """Read it; nothing is drawn."""
        chunks = list(self.stream(path, seed))
        first = chunks[0]
        columns: dict[str, Any] = {
            name: np.concatenate([chunk.figures[name] for chunk in chunks]) for name in first.figures
        }
        for name in ("task_id", "arrival_time"):
            if name not in first.derived:
                columns[name] = np.concatenate([getattr(chunk, name) for chunk in chunks])
        if "kind" not in first.derived:
            columns["kind"] = _kinds(path)
        ids = columns.get("task_id", np.arange(len(columns["size"])))
        if any(len(chunk.child) for chunk in chunks):
            parents: dict[int, list[Dependency]] = {}
            handed = any(len(chunk.megabytes) for chunk in chunks)
            for chunk in chunks:
                data = chunk.megabytes.tolist() or [0.0] * len(chunk.child)
                for task, parent, megabytes in zip(chunk.child.tolist(), chunk.parent.tolist(), data, strict=True):
                    parents.setdefault(task, []).append((parent, megabytes) if handed else parent)
            columns["dependencies"] = [parents.get(task, ()) for task in ids.tolist()]
        try:
            return TraceFile(TaskBatch.from_columns(**columns), first.derived)
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error

    def stream(self, path: Path, seed: int) -> Iterator[TaskChunk]:
        """Read it batch by batch."""
        done = 0
        for batch, names in _batches(path):
            try:
                yield arrow_chunk(batch, names, done)
            except BadRowError as error:
                where = f"{path}, row {done + error.row + 1}, column {error.column}"
                raise InvalidInputError(f"{where}: {error}") from error
            done += len(batch)
        if not done:
            raise InvalidInputError(f"{path}: there are columns but no task; add at least one row")


def _batches(path: Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """The batches, and which column is which."""
    if find_spec("pyarrow") is None:
        raise MissingExtraError("a Parquet file", "pyarrow", "report")
    import pyarrow as pa
    from pyarrow import parquet

    with opened(path) as raw:
        source = raw if isinstance(raw, BufferedReader) else pa.BufferReader(raw.read())  # gzip cannot be sought in
        try:
            with parquet.ParquetFile(source) as file:
                names = trace_column_names(path, tuple(file.schema_arrow.names))
                for batch in file.iter_batches(columns=sorted(set(names.values()))):
                    if len(batch):
                        yield batch, names
        except pa.ArrowException as error:
            raise InvalidInputError(f"{path}: not readable as Parquet: {error}") from error


def _kinds(path: Path) -> list[str]:
    return [kind.strip() for batch, names in _batches(path) for kind in batch.column(names["kind"]).to_pylist()]
