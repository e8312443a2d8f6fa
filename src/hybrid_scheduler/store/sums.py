"""Sums per scheduler and hour, minute or run, which outlive the rows they were made of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import le
from typing import Any

from sqlalchemy import Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store.rows import HourRow, ResultRow
from hybrid_scheduler.store.tables import hourly_means, minute_means, run_means

MINUTES_KEPT = timedelta(days=2)
SUMMED = ("response_time", "wait_time", "actual_time", "energy_consumption", "execution_cost")
"""Columns of results, in the order of the sums."""


def summed(results: Sequence[ResultRow], moment: datetime) -> list[HourRow]:
    """Results of whole tasks that are stored at a moment, as one row per scheduler."""
    hour = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    best: dict[int, float] = {}
    by_name: defaultdict[str, list[ResultRow]] = defaultdict(list)
    for row in results:
        by_name[row.scheduler_name].append(row)
        if not row.failed and row.response_time < best.get(row.task_id, math.inf):
            best[row.task_id] = row.response_time
    hours = []
    for name, rows in by_name.items():
        good = [row for row in rows if not row.failed]
        # Column by column: a batch of the live engine has thousands of rows.
        column = dict(zip(ResultRow._fields, zip(*good, strict=True), strict=True)) if good else {}
        wins = sum(map(le, column.get("response_time", ()), map(best.__getitem__, column.get("task_id", ()))))
        sums = (_sum(column.get(figure, ())) for figure in SUMMED)
        hours.append(HourRow._make((hour, name, len(rows), len(rows) - len(good), wins, *sums)))
    return hours


def _sum(values: Sequence[float | None]) -> float | None:
    """What values add up to: unknown where any is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


async def add(connection: AsyncConnection, rows: Sequence[tuple[Any, ...]], table: Table = hourly_means) -> None:
    """Add to what a table of sums holds already; its columns are those of the rows, whatever the first is called."""
    if not rows:
        return
    names = table.columns.keys()
    await connection.execute(
        _adding(connection.dialect.name, table), [dict(zip(names, row, strict=True)) for row in rows]
    )


async def add_everywhere(
    connection: AsyncConnection, rows: Sequence[HourRow], run_id: int, moment: datetime, *, live: bool
) -> None:
    """Add sums of results that are stored at a moment to their run and, of a live one, to its hour and minute."""
    await add(connection, [(run_id, *row[1:]) for row in rows], run_means)
    if live:
        await add(connection, rows)
        minute = moment.replace(second=0, microsecond=0)
        await add(connection, [(minute, *row[1:]) for row in rows], minute_means)
        await connection.execute(delete(minute_means).where(minute_means.c.minute < moment - MINUTES_KEPT))


@cache
def _adding(dialect: str, table: Table) -> Any:
    insert = (postgresql if dialect == "postgresql" else sqlite).insert(table)
    keys, names = [column.name for column in table.primary_key], [column.name for column in table.c]
    more = {name: table.c[name] + insert.excluded[name] for name in names if name not in keys}
    return insert.on_conflict_do_update(index_elements=keys, set_=more)


async def read(
    connection: AsyncConnection, since: datetime | None, until: datetime | None, scheduler: str | None
) -> list[HourRow]:
    """Hours that begin within a stretch of time, in order."""
    query = select(hourly_means).order_by(*hourly_means.primary_key)
    if since is not None:
        query = query.where(hourly_means.c.hour >= since)
    if until is not None:
        query = query.where(hourly_means.c.hour < until)
    if scheduler is not None:
        query = query.where(hourly_means.c.scheduler_name == scheduler)
    return [HourRow._make(row) for row in await connection.execute(query)]
