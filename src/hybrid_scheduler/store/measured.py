"""How long tasks took on real hardware: one row per kind of task, hardware and size, for good until cleared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store import checks
from hybrid_scheduler.store.rows import MeasuredRow
from hybrid_scheduler.store.tables import measured_times

LARGEST = 2**31 - 1


def check_measured(rows: Sequence[MeasuredRow]) -> None:
    """Every field within its rule.

    Raises:
        InvalidInputError: The message names the value and the rule.
    """
    for row in rows:
        checks.check_text("kind", row.kind)
        checks.check_text("hardware", row.hardware)
        checks.check_whole(f"kind {row.kind!r}: step", row.step, -LARGEST, LARGEST)
        checks.check_whole(f"kind {row.kind!r}: measurements", row.measurements, 1, LARGEST)
        checks.check_number(f"kind {row.kind!r}: log_seconds", row.log_seconds)


async def read(connection: AsyncConnection, hardware: Collection[str]) -> list[MeasuredRow]:
    """All rows of these kinds of hardware, by their key."""
    query = select(measured_times).where(measured_times.c.hardware.in_(set(hardware)))
    return sorted(MeasuredRow._make(row) for row in await connection.execute(query))


async def keep(connection: AsyncConnection, rows: Sequence[MeasuredRow]) -> None:
    """Insert rows, or put them in the place of those with the same key."""
    if rows:
        await connection.execute(_keeping(connection.dialect.name), [row._asdict() for row in rows])


@cache
def _keeping(dialect: str) -> Any:
    insert = (postgresql if dialect == "postgresql" else sqlite).insert(measured_times)
    keys = [column.name for column in measured_times.primary_key]
    later = {name: insert.excluded[name] for name in ("measurements", "log_seconds")}
    return insert.on_conflict_do_update(index_elements=keys, set_=later)
