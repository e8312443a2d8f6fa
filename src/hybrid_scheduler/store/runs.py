"""Runs begin and end, and each has a range of task ids. All of it inside one `Database.writing` transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, case, delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store.checks import LARGEST
from hybrid_scheduler.store.rows import RunRow
from hybrid_scheduler.store.tables import id_counter, runs, scheduler_results, submitted_tasks, tasks, training_data


def run_row(row: Row[Any]) -> RunRow:
    """A row of the table as one of ours."""
    found = RunRow._make(row)
    return found._replace(schedulers=tuple(found.schedulers))


async def begin(connection: AsyncConnection, facts: Mapping[str, Any], reserve: int) -> RunRow:
    """Add a run and give it the next `reserve` ids."""
    first = (await connection.execute(select(id_counter.c.next_task_id))).scalar_one()
    if first + reserve > LARGEST:
        raise InvalidInputError(
            f"{reserve} task ids are to be reserved, but only {LARGEST - first} are left below 2^63; reserve fewer"
        )
    await connection.execute(update(id_counter).values(next_task_id=first + reserve))
    fresh = {"first_task_id": first, "reserved": reserve, "tasks": 0, "status": "running"}
    added = await connection.execute(insert(runs).values(**facts, **fresh).returning(*runs.c))
    return run_row(added.one())


async def end(connection: AsyncConnection, run_id: int, status: str, summary: Mapping[str, Any] | None) -> None:
    """End a run that is running; one that has ended already stays as it is."""
    found = (await connection.execute(select(*runs.c).where(runs.c.id == run_id))).one_or_none()
    if found is None:
        raise InvalidInputError(f"there is no run {run_id}; begin one first")
    if found.status == "running":
        await _close(connection, run_row(found), status, {"summary": summary})


async def interrupt_live(connection: AsyncConnection) -> list[int]:
    """End the live runs that nobody ended, the latest first, so that each can give its unused ids back."""
    stale = select(*runs.c).where(runs.c.kind == "live", runs.c.status == "running").order_by(runs.c.id.desc())
    found = [run_row(row) for row in await connection.execute(stale)]
    for run in found:
        await _close(connection, run, "interrupted", {})
    return [run.id for run in found]


async def _close(connection: AsyncConnection, run: RunRow, status: str, more: Mapping[str, Any]) -> None:
    first, used_up_to = run.first_task_id, run.first_task_id + run.reserved
    following = (await connection.execute(select(id_counter.c.next_task_id))).scalar_one()
    reserved = run.reserved
    if following == used_up_to:  # nobody reserved after it
        following = first if run.last_task_id is None else run.last_task_id + 1
        reserved = following - first
        await connection.execute(update(id_counter).values(next_task_id=following))
    facts = {"status": status, "ended": datetime.now(UTC), "reserved": reserved, **more}
    await connection.execute(update(runs).where(runs.c.id == run.id).values(**facts))


async def note_tasks(connection: AsyncConnection, run_id: int, highest: int, stored: int) -> None:
    """Remember that a run uses ids up to `highest` and has stored so many more tasks."""
    # A task that an earlier run had accepted keeps its id, which is below this run's range.
    own = case((highest < runs.c.first_task_id, runs.c.last_task_id), else_=highest)
    last = case((runs.c.last_task_id >= highest, runs.c.last_task_id), else_=own)
    inside = (runs.c.id == run_id) & (highest < runs.c.first_task_id + runs.c.reserved)
    done = await connection.execute(update(runs).where(inside).values(last_task_id=last, tasks=runs.c.tasks + stored))
    if done.rowcount == 1:
        return
    found = (await connection.execute(select(*runs.c).where(runs.c.id == run_id))).one_or_none()
    if found is None:
        raise InvalidInputError(f"task {highest} belongs to run {run_id}, which does not exist; begin it first")
    end_of_range = found.first_task_id + found.reserved
    raise InvalidInputError(
        f"task {highest} is beyond the ids of run {run_id}, which end before {end_of_range}; reserve more"
    )


async def clear(connection: AsyncConnection) -> None:
    """Forget the history; ids go on, running runs and their submitted tasks stay, and so do model versions."""
    over = select(runs.c.id).where(runs.c.status != "running").scalar_subquery()
    if connection.dialect.name == "postgresql":
        await connection.execute(text("TRUNCATE scheduler_results, tasks, training_data"))
    else:
        for table in (scheduler_results, tasks, training_data):
            await connection.execute(delete(table))
    await connection.execute(delete(submitted_tasks).where(submitted_tasks.c.run_id.in_(over)))
    await connection.execute(delete(runs).where(runs.c.status != "running"))
    await connection.execute(update(runs).values(tasks=0))
