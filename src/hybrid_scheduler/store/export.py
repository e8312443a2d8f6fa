"""A whole table into a CSV or Parquet file, a chunk at a time."""

from __future__ import annotations

import asyncio
import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import JSON, Boolean, Integer, Table, Text, cast, select, tuple_

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.store.tables import EXPORTED, EpochTime, PackedSeconds, UtcTime


class Sink(Protocol):
    """Takes rows."""

    def __call__(self, rows: Sequence[tuple[Any, ...]], /) -> None:
        """Append them to the file."""


async def export_table(database: Database, name: str, path: Path) -> int:
    """Write a table; the file appears when it is complete. Gives the number of rows.

    Every chunk is a transaction of its own, so that a long export delays no other call.

    Raises:
        InvalidInputError: There is no such table, or the file's ending is not known, or it cannot be written.
    """
    by_name = {table.name: table for table in EXPORTED}
    if name not in by_name:
        raise UnknownNameError("table", name, by_name)
    opened = WRITERS.get(path.suffix.lower())
    if opened is None:
        raise InvalidInputError(f"{path}: a table goes into a file that ends in {' or '.join(WRITERS)}; rename it")
    table, unfinished = by_name[name], path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            count = await _copy(database, table, opened(unfinished, table))
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be written: {error.strerror or error}") from error
    return count


async def _copy(database: Database, table: Table, opened: AbstractContextManager[Sink]) -> int:
    keys = list(table.primary_key)
    # Documents go out as the text they are; reading them only to write them again would be in vain.
    columns = [cast(column, Text) if isinstance(column.type, JSON) else column for column in table.c]
    count, last = 0, None
    with opened as write:
        while True:
            query = select(*columns).order_by(*keys).limit(database.limits.export_rows)
            if last is not None:
                query = query.where(tuple_(*keys) > tuple_(*last, types=[key.type for key in keys]))
            async with database.reading() as connection:
                rows = [tuple(row) for row in await connection.execute(query)]
            await asyncio.to_thread(write, rows)
            count += len(rows)
            if len(rows) < database.limits.export_rows:
                return count
            last = rows[-1][: len(keys)]


@contextmanager
def _csv_file(path: Path, table: Table) -> Iterator[Sink]:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns.keys())
        yield lambda rows: writer.writerows([_csv_cell(value) for value in row] for row in rows)


def _csv_cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return to_json(value) if isinstance(value, tuple) else value


@contextmanager
def _parquet_file(path: Path, table: Table) -> Iterator[Sink]:
    import pyarrow
    from pyarrow import parquet

    kinds = (
        (UtcTime | EpochTime, pyarrow.timestamp("us", tz="UTC")),
        (PackedSeconds, pyarrow.list_(pyarrow.float64())),
        (JSON, pyarrow.string()),
        (Text, pyarrow.string()),
        (Boolean, pyarrow.bool_()),
        (Integer, pyarrow.int64()),
    )
    schema = pyarrow.schema(
        (column.name, next((arrow for kind, arrow in kinds if isinstance(column.type, kind)), pyarrow.float64()))
        for column in table.c
    )
    with parquet.ParquetWriter(path, schema) as writer:

        def write(rows: Sequence[tuple[Any, ...]]) -> None:
            columns = zip(*rows, strict=True) if rows else [()] * len(schema)
            arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))

        yield write


WRITERS = {".csv": _csv_file, ".parquet": _parquet_file}
