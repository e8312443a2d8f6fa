"""Tasks of one run that depend on each other, the newest first. Runs inside one `Database.reading` transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Text, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.task import split_dependencies
from hybrid_scheduler.store.reading import compared_task, result_columns
from hybrid_scheduler.store.rows import ConnectedTasks, RunRow, TaskRow
from hybrid_scheduler.store.tables import scheduler_results, tasks

WINDOW = 10_000
"""Ids looked through at once: nothing but reading them tells which tasks have parents."""


async def connected_tasks(
    connection: AsyncConnection, run: RunRow, scheduler: str, limit: int, before: int | None
) -> ConnectedTasks:
    """The newest tasks that have parents, together with these parents, at most `limit` in all (`ConnectedTasks`)."""
    end = run.tasks_before(before)
    begin = max(run.first_task_id, end - WINDOW)
    here = (tasks.c.run_id == run.id, tasks.c.task_id >= begin, tasks.c.task_id < end)
    searched = (await connection.execute(select(func.count()).select_from(tasks).where(*here))).scalar_one()
    children = (
        select(tasks.c.task_id, tasks.c.dependencies)
        .where(*here, cast(tasks.c.dependencies, Text) != "[]")
        .order_by(tasks.c.task_id.desc())
        .limit(limit + 1)
    )
    found = (await connection.execute(children)).all()
    chosen, last = _fitting([tuple(row) for row in found], limit)
    following = last if last is not None else begin
    wanted = (
        select(*(tasks.c[name] for name in TaskRow._fields), *result_columns())
        .join_from(tasks, scheduler_results)
        .where(tasks.c.task_id.in_(chosen), tasks.c.run_id == run.id)
        .where(scheduler_results.c.scheduler_name == scheduler)
        .order_by(tasks.c.task_id)
    )
    rows = (await connection.execute(wanted)).all() if chosen else []
    return ConnectedTasks(
        tuple(compared_task([row]) for row in rows), searched, following if following > run.first_task_id else None
    )


def _fitting(children: Sequence[tuple[int, list[Any]]], limit: int) -> tuple[set[int], int | None]:
    """As many children with all their parents as fit, and the last of these children where others did not fit.

    The first is taken in any case, with as many parents as fit.
    """
    chosen: set[int] = set()
    last: int | None = None
    for child, dependencies in children:
        parents, _ = split_dependencies(dependencies)
        together = chosen | {child, *parents}
        if len(together) > limit:
            if last is not None:
                return chosen, last
            together = {child, *sorted(parents, reverse=True)[: limit - 1]}
        chosen, last = together, child
    return chosen, None
