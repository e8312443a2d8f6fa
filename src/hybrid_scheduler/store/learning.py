"""What learners did: refreshes that changed a model, and their own figures over time. Bounded, the oldest go first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import checks
from hybrid_scheduler.store.rows import LearningRow, RetrainingRow
from hybrid_scheduler.store.tables import learning_figures, retrainings

KEPT: Mapping[Table, tuple[int, float]] = {retrainings: (20_000, 20.0), learning_figures: (50_000, 50.0)}
"""Rows kept at most, and at most per megabyte that the store may take: together below two hundredths of it."""
FORGOTTEN_AT_ONCE = 500
MOST_FIGURES = 64


def check_learning(changes: Sequence[RetrainingRow], figures: Sequence[LearningRow]) -> None:
    """Every field within its rule.

    Raises:
        InvalidInputError: The message names the value and the rule.
    """
    every: list[RetrainingRow | LearningRow] = [*changes, *figures]
    for row in every:
        checks.check_text("scheduler_name", row.scheduler_name)
        checks.check_moment("created", row.created)
        checks.check_whole("run_id", row.run_id)
        checks.check_whole("tasks", row.tasks)
    for change in changes:
        checks.check_text("reason", change.reason)
        for name in ("rows", "trees", "replaced"):
            checks.check_whole(name, getattr(change, name))
        for name in ("error_before", "error_after"):
            if getattr(change, name) is not None:
                checks.check_number(name, getattr(change, name))
    for each in figures:
        checks.check_document("figures", each.figures)
        if len(each.figures) > MOST_FIGURES:
            raise InvalidInputError(
                f"{each.scheduler_name} has {len(each.figures)} figures, but at most {MOST_FIGURES} are kept; "
                "leave some out"
            )


async def add(connection: AsyncConnection, changes: Sequence[RetrainingRow], figures: Sequence[LearningRow]) -> None:
    """Store rows; their ids are given here."""
    for table, rows in ((retrainings, changes), (learning_figures, figures)):
        if rows:
            await connection.execute(insert(table), [_without_id(row) for row in rows])


def _without_id(row: RetrainingRow | LearningRow) -> dict[str, Any]:
    values = row._asdict()
    del values["id"]
    return values


async def beyond(connection: AsyncConnection, days: float, megabytes: float, now: datetime) -> dict[Table, list[int]]:
    """Ids of some of the oldest rows that are too old or too many."""
    found = {}
    for table, (most, per_megabyte) in KEPT.items():
        kept = min(most, int(per_megabyte * megabytes)) if megabytes else most
        newest = (await connection.execute(select(func.coalesce(func.max(table.c.id), 0)))).scalar_one()
        due = table.c.id <= newest - kept
        if days:
            due |= table.c.created < now - timedelta(days=days)
        oldest = select(table.c.id, due.label("due")).order_by(table.c.id).limit(FORGOTTEN_AT_ONCE)
        found[table] = [row.id for row in await connection.execute(oldest) if row.due]
    return found


async def forget(connection: AsyncConnection, rows: Mapping[Table, Sequence[int]]) -> int:
    """Forget rows; gives how many."""
    gone = 0
    for table, ids in rows.items():
        if ids:
            gone += (await connection.execute(delete(table).where(table.c.id.in_(ids)))).rowcount
    return gone
