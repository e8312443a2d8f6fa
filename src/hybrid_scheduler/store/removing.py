"""Tasks go with their results and labels, the oldest first. Every function runs inside one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store.tables import runs, scheduler_results, tasks, training_data

RESULTS_PER_TASK = 8
"""About so many rows hold one task more; where there are more schedulers, fewer tasks are found at once."""


class Removed(NamedTuple):
    """How many rows of what went."""

    tasks: int
    results: int
    training: int


async def oldest_tasks(connection: AsyncConnection, most: int, upto: int | None = None) -> list[int]:
    """Ids of the tasks that were stored first, whichever run they belong to.

    Args:
        connection: Where.
        most: At most so many.
        upto: Only those with a result up to this number.
    """
    number, task_id = scheduler_results.c.id, scheduler_results.c.task_id
    query = select(number, task_id).order_by(number).limit(RESULTS_PER_TASK * most)
    if upto is not None:
        query = query.where(number <= upto)
    first = query.subquery().c
    by_age = select(first.task_id).group_by(first.task_id).order_by(func.min(first.id)).limit(most)
    return list((await connection.execute(by_age)).scalars())


async def stored_before(connection: AsyncConnection, ids: Sequence[int], moment: datetime) -> list[int]:
    """Which of these tasks were stored before a moment; where that is not known, the end of their run counts."""
    columns = (tasks.c.task_id, tasks.c.stored, runs.c.ended)
    rows = await connection.execute(select(*columns).join_from(tasks, runs).where(tasks.c.task_id.in_(ids)))
    dated = ((row.task_id, row.stored or row.ended) for row in rows)
    return [task_id for task_id, stored in dated if stored is not None and stored < moment]


async def remove_tasks(connection: AsyncConnection, ids: Sequence[int]) -> Removed:
    """Forget tasks; those that are not there any more are left out."""
    counted = select(tasks.c.run_id, func.count()).where(tasks.c.task_id.in_(ids)).group_by(tasks.c.run_id)
    for run_id, count in (await connection.execute(counted)).all():
        await connection.execute(update(runs).where(runs.c.id == run_id).values(tasks=runs.c.tasks - count))
    results, labels, gone = [
        (await connection.execute(delete(table).where(table.c.task_id.in_(ids)))).rowcount
        for table in (scheduler_results, training_data, tasks)
    ]
    return Removed(gone, results, labels)


async def counted_tasks(connection: AsyncConnection) -> int:
    """All tasks; runs count their own, so the long tables are not touched."""
    return int((await connection.execute(select(func.coalesce(func.sum(runs.c.tasks), 0)))).scalar_one())
