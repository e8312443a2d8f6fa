"""Clearing the history: on SQLite in short transactions, so that no other call waits long and the log stays small."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store.connect import LOG_PAGES, Database
from hybrid_scheduler.store.disk import PAGES_AT_ONCE, checkpoint, give_back, on_full_disk
from hybrid_scheduler.store.errors import FULL, StoreUnavailableError
from hybrid_scheduler.store.removing import Removed, counted_tasks, oldest_tasks, remove_tasks
from hybrid_scheduler.store.rows import Cleared
from hybrid_scheduler.store.tables import (
    hourly_means,
    learning_figures,
    measured_times,
    minute_means,
    retrainings,
    run_means,
    runs,
    scheduler_results,
    submitted_tasks,
    tasks,
    training_data,
)
from hybrid_scheduler.store.whole import whole

Progress = Callable[[Cleared, int], None]
"""Told what is gone so far, and how many tasks it will be."""
STEP_SECONDS = 0.04
FEWEST, MOST = 50, 2000
"""Tasks in one transaction: as many as take about the time above."""
NOTHING = Cleared(0, 0, 0, 0)
COUNTED = ("tasks", "scheduler_results", "training_data", "runs")
EVERYTHING = """
    BEGIN IMMEDIATE;
    DELETE FROM scheduler_results; DELETE FROM training_data; DELETE FROM tasks; DELETE FROM hourly_means;
    DELETE FROM minute_means; DELETE FROM run_means; DELETE FROM retrainings; DELETE FROM learning_figures;
    DELETE FROM measured_times;
    DELETE FROM submitted_tasks WHERE run_id IN (SELECT id FROM runs WHERE status <> 'running');
    DELETE FROM runs WHERE status <> 'running'; UPDATE runs SET tasks = 0;
    COMMIT;
"""


class _Mark(NamedTuple):
    """The moment of the command: what is stored later stays."""

    result: int
    run: int
    tasks: int


async def clear(database: Database, progress: Progress | None = None) -> Cleared:
    """Forget what is stored now. Ids go on, and so do running runs, with their submitted tasks; model versions stay.

    Stopped half-way it has forgotten the oldest part.
    """
    told = progress or (lambda gone, total: None)
    if database.address.file is None:
        return await _truncate(database, told)
    gone = NOTHING

    def note(so_far: Cleared, total: int) -> None:
        nonlocal gone
        gone = so_far
        told(so_far, total)

    try:
        return await _clear_in_steps(database, note)
    except StoreUnavailableError as error:
        if error.kind != FULL:
            raise
        database.give_up_reserve(error)
    rest = await _clear_at_once(database, told)
    return Cleared._make(map(sum, zip(gone, rest, strict=True)))


async def _clear_in_steps(database: Database, told: Progress) -> Cleared:
    mark = await on_full_disk(database, lambda: _begin(database))
    gone, step = Removed(0, 0, 0), FEWEST
    told(NOTHING, mark.tasks)
    while True:
        began = time.perf_counter()
        try:
            removed, last = await on_full_disk(database, partial(_remove, database, mark, step))
        except StoreUnavailableError as error:
            if error.kind != FULL or step == FEWEST:
                raise
            step = FEWEST  # a short one may fit
            continue
        gone = Removed._make(map(sum, zip(gone, removed, strict=True)))
        told(Cleared(*gone, 0), mark.tasks)
        if last:
            break
        quick = time.perf_counter() - began < STEP_SECONDS
        step = min(2 * step, MOST) if quick else max(step // 2, FEWEST)
        await asyncio.sleep(0)
    ended = await on_full_disk(database, lambda: _forget_runs(database, mark))
    while await on_full_disk(database, lambda: give_back(database, everything=True)):
        await asyncio.sleep(0)
    await checkpoint(database)
    return Cleared(*gone, ended)


@whole
async def _begin(database: Database) -> _Mark:
    async with database.writing(frees=True) as connection:
        last = select(func.coalesce(func.max(scheduler_results.c.id), 0))
        last_run = select(func.coalesce(func.max(runs.c.id), 0))
        mark = _Mark(
            (await connection.execute(last)).scalar_one(),
            (await connection.execute(last_run)).scalar_one(),
            await counted_tasks(connection),
        )
        await _forget_small(connection)
        return mark


@whole
async def _remove(database: Database, mark: _Mark, most: int) -> tuple[Removed, bool]:
    """One step, and whether it was the last.

    That is asked in the same transaction: SQLite numbers the rows of an empty table from the beginning again, so what
    is stored afterwards would look older than the mark.
    """
    async with database.writing(frees=True) as connection:
        removed = await remove_tasks(connection, await oldest_tasks(connection, most, mark.result))
        return removed, not await oldest_tasks(connection, 1, mark.result)


@whole
async def _forget_runs(database: Database, mark: _Mark) -> int:
    async with database.writing(frees=True) as connection:
        return await _forget_ended(connection, mark.run)


async def _forget_small(connection: AsyncConnection) -> None:
    """What was submitted to runs that are over, the sums, what learners did, and what was measured."""
    over = select(runs.c.id).where(runs.c.status != "running")
    await connection.execute(delete(submitted_tasks).where(submitted_tasks.c.run_id.in_(over)))
    for table in (hourly_means, minute_means, run_means, retrainings, learning_figures, measured_times):
        await connection.execute(delete(table))


async def _forget_ended(connection: AsyncConnection, last_run: int) -> int:
    """Runs that are over and have nothing left."""
    empty = (runs.c.status != "running") & (runs.c.id <= last_run)
    for table in (tasks, submitted_tasks):
        empty &= runs.c.id.not_in(select(table.c.run_id))
    return (await connection.execute(delete(runs).where(empty))).rowcount


@whole
async def _clear_at_once(database: Database, told: Progress) -> Cleared:
    """The last resort on a full disk, whose log does not fit into the file any more.

    Whole tables cost the log next to nothing (unless every row is checked for others that refer to it), on such a disk
    nothing new is stored meanwhile, and when the tables are empty the log has no need to grow the file. Until then it
    must not try: that would take the room kept for this.
    """
    async with database.driver() as driver:
        await driver.executescript("PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = OFF")
        try:
            counted = [(await driver.execute_fetchall(f"SELECT count(*) FROM {table}"))[0][0] for table in COUNTED]
            told(NOTHING, counted[0])
            await driver.executescript(EVERYTHING)
            ((left,),) = await driver.execute_fetchall("SELECT count(*) FROM runs")
            free = -1
            while free != (free := (await driver.execute_fetchall("PRAGMA freelist_count"))[0][0]):
                await driver.executescript(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})")
            await driver.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            await driver.executescript(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}; PRAGMA foreign_keys = ON")
    tasks_gone, results, labels, there = counted
    return Cleared(tasks_gone, results, labels, there - left)


@whole
async def _truncate(database: Database, told: Progress) -> Cleared:
    """PostgreSQL drops whole tables at once, whatever is in them."""
    async with database.writing(frees=True) as connection:
        counted, results, labels = [
            (await connection.execute(select(func.count()).select_from(table))).scalar_one()
            for table in (tasks, scheduler_results, training_data)
        ]
        told(NOTHING, counted)
        await connection.execute(text("TRUNCATE scheduler_results, tasks, training_data"))
        await _forget_small(connection)
        await connection.execute(update(runs).values(tasks=0))
        last_run = (await connection.execute(select(func.coalesce(func.max(runs.c.id), 0)))).scalar_one()
        ended = await _forget_ended(connection, last_run)
    return Cleared(counted, results, labels, ended)
