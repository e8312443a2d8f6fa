"""Runs begin and end, and each has a range of task ids. All of it inside one `Database.writing` transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, case, delete, exists, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store.checks import LARGEST
from hybrid_scheduler.store.rows import RunRow
from hybrid_scheduler.store.tables import id_counter, run_means, runs, submitted_tasks, tasks

DROPPED_AT_ONCE = 2


def run_row(row: Row[Any]) -> RunRow:
    """A row of the table as one of ours."""
    run = RunRow._make(row)
    return run._replace(schedulers=tuple(run.schedulers))


async def begin(connection: AsyncConnection, facts: Mapping[str, Any], reserve: int, most: int) -> RunRow:
    """Add a run and give it the next `reserve` ids; beyond `most` runs, old ones without tasks are forgotten."""
    first = (await connection.execute(select(id_counter.c.next_task_id))).scalar_one()
    if first + reserve > LARGEST:
        raise InvalidInputError(
            f"{reserve} task ids are to be reserved, but only {LARGEST - first} are left below 2^63; reserve fewer"
        )
    await connection.execute(update(id_counter).values(next_task_id=first + reserve))
    fresh = {"first_task_id": first, "reserved": reserve, "tasks": 0, "status": "running"}
    begun = run_row((await connection.execute(insert(runs).values(**facts, **fresh).returning(*runs.c))).one())
    await _drop_oldest(connection, most)
    return begun


async def _drop_oldest(connection: AsyncConnection, most: int) -> None:
    """Forget the oldest runs that are over and have no tasks left, when there are very many.

    A few at a time: the database looks through all tasks for each, to be sure that none belongs to it.
    """
    beyond = select(runs.c.id).order_by(runs.c.id.desc()).offset(most).limit(1)
    last = (await connection.execute(beyond)).scalar_one_or_none()
    if last is None:
        return
    empty = (runs.c.id <= last) & (runs.c.status != "running") & (runs.c.tasks == 0)
    for table in (submitted_tasks, tasks):
        empty &= ~exists().where(table.c.run_id == runs.c.id)
    oldest = select(runs.c.id).where(empty).order_by(runs.c.id).limit(DROPPED_AT_ONCE)
    ids = list((await connection.execute(oldest)).scalars())
    for table, key in ((runs, runs.c.id), (run_means, run_means.c.run_id)):
        await connection.execute(delete(table).where(key.in_(ids)))


async def end(connection: AsyncConnection, run_id: int, status: str, summary: Mapping[str, Any] | None) -> None:
    """End a run that is running; one that has ended already stays as it is."""
    row = (await connection.execute(select(*runs.c).where(runs.c.id == run_id))).one_or_none()
    if row is None:
        raise InvalidInputError(f"there is no run {run_id}; begin one first")
    if row.status == "running":
        await _close(connection, run_row(row), status, {"summary": summary})


async def interrupt_live(connection: AsyncConnection) -> list[int]:
    """End the live runs whose process died, the latest first, so that each can give its unused ids back.

    Whatever was submitted and is still waiting has seen one crash more; after a run that finished it starts from none.
    """
    stale = select(*runs.c).where(runs.c.kind == "live", runs.c.status == "running").order_by(runs.c.id.desc())
    interrupted = [run_row(row) for row in await connection.execute(stale)]
    for run in interrupted:
        await _close(connection, run, "interrupted", {})
    last = select(runs.c.status).where(runs.c.kind == "live").order_by(runs.c.id.desc()).limit(1)
    if interrupted:
        await connection.execute(update(submitted_tasks).values(crashes=submitted_tasks.c.crashes + 1))
    elif (await connection.execute(last)).scalar_one_or_none() == "finished":
        await connection.execute(update(submitted_tasks).values(crashes=0))
    return [run.id for run in interrupted]


async def _close(connection: AsyncConnection, run: RunRow, status: str, more: Mapping[str, Any]) -> None:
    first, used_up_to = run.first_task_id, run.first_task_id + run.reserved
    following = (await connection.execute(select(id_counter.c.next_task_id))).scalar_one()
    reserved = run.reserved
    if following == used_up_to:  # no run reserved ids after it
        following = first if run.last_task_id is None else run.last_task_id + 1
        reserved = following - first
        await connection.execute(update(id_counter).values(next_task_id=following))
    facts = {"status": status, "ended": datetime.now(UTC), "reserved": reserved, **more}
    await connection.execute(update(runs).where(runs.c.id == run.id).values(**facts))


async def note_tasks(connection: AsyncConnection, run_id: int, highest: int, stored: int) -> tuple[str, list[str]]:
    """Note that a run uses ids up to `highest` and has stored so many more tasks; returns its kind and schedulers."""
    # A task that an earlier run had accepted keeps its id, which is below this run's range.
    own = case((highest < runs.c.first_task_id, runs.c.last_task_id), else_=highest)
    last = case((runs.c.last_task_id >= highest, runs.c.last_task_id), else_=own)
    inside = (runs.c.id == run_id) & (highest < runs.c.first_task_id + runs.c.reserved)
    change = update(runs).where(inside).values(last_task_id=last, tasks=runs.c.tasks + stored)
    noted = (await connection.execute(change.returning(runs.c.kind, runs.c.schedulers))).one_or_none()
    if noted is not None:
        return noted.kind, noted.schedulers
    row = (await connection.execute(select(*runs.c).where(runs.c.id == run_id))).one_or_none()
    if row is None:
        raise InvalidInputError(f"task {highest} belongs to run {run_id}, which does not exist; begin it first")
    end_of_range = row.first_task_id + row.reserved
    raise InvalidInputError(
        f"task {highest} is beyond the ids of run {run_id}, which end before {end_of_range}; reserve more"
    )
