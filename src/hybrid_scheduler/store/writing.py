"""Tasks with their results go in, whole. Every function runs inside one `Database.writing` transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import asyncpg
from sqlalchemy import Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import sums
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.store.packing import pack_seconds
from hybrid_scheduler.store.rows import Batch, ResultRow, SubmittedTask, TaskRow, TrainingRow
from hybrid_scheduler.store.runs import note_tasks
from hybrid_scheduler.store.tables import model_versions, scheduler_results, submitted_tasks, tasks, training_data

LONGEST_REASON = 300
MOST_PARAMETERS = 10_000
"""Ids asked for in one statement; databases allow some 32 000."""


async def write_batch(connection: AsyncConnection, batch: Batch, now: datetime) -> int:
    """Store what of the batch is not there yet; gives the number of tasks that were not."""
    batch = await _without_stored(connection, batch)
    if not batch.tasks:
        return 0
    run_of = {task.task_id: task.run_id for task in batch.tasks}
    live = await _note_runs(connection, run_of, batch.results)
    # Sorted by task, so that what is read together lies together; batches may come sorted by scheduler.
    results = sorted(batch.results, key=itemgetter(0))
    moment = int(now.timestamp())
    await _insert(
        connection, tasks, (*TaskRow._fields, "stored"), ((*_task_values(task), moment) for task in batch.tasks)
    )
    await _insert(connection, scheduler_results, ResultRow._fields, map(_result_values, results))
    await _insert(connection, training_data, TrainingRow._fields, map(_label_values, batch.training))
    for run_id in sorted(set(run_of.values())):
        own = [row for row in results if run_of[row.task_id] == run_id]
        totals = await asyncio.to_thread(sums.summed, own, now)
        await sums.add_everywhere(connection, totals, run_id, now, live=run_id in live)
    waiting = await _among(connection, submitted_tasks, list(run_of))
    if waiting:
        await connection.execute(delete(submitted_tasks).where(submitted_tasks.c.task_id.in_(waiting)))
    return len(batch.tasks)


async def submit(connection: AsyncConnection, accepted: Sequence[SubmittedTask]) -> None:
    """Keep tasks until their results are written; submitted again, one belongs to the later run."""
    stored = await _among(connection, tasks, [task.task_id for task in accepted])
    fresh = {task.task_id: task for task in accepted if task.task_id not in stored}
    if not fresh:
        return
    for run_id in sorted({task.run_id for task in fresh.values()}):
        await note_tasks(connection, run_id, max(task.task_id for task in fresh.values() if task.run_id == run_id), 0)
    again = await _among(connection, submitted_tasks, list(fresh))
    if again:
        await connection.execute(delete(submitted_tasks).where(submitted_tasks.c.task_id.in_(again)))
    await connection.execute(insert(submitted_tasks), [task._asdict() for task in fresh.values()])


async def add_version(connection: AsyncConnection, facts: Mapping[str, Any], kept: int) -> int:
    """Add a model version and forget the oldest of the same scheduler beyond `kept`."""
    added = insert(model_versions).values(**facts).returning(model_versions.c.id)
    number = int((await connection.execute(added)).scalar_one())
    its_own = model_versions.c.scheduler_name == facts["scheduler_name"]
    beyond = select(model_versions.c.id).where(its_own).order_by(model_versions.c.id.desc()).offset(kept)
    await connection.execute(delete(model_versions).where(its_own, model_versions.c.id.in_(beyond.limit(10))))
    return number


async def missing(connection: AsyncConnection, accepted: Sequence[SubmittedTask]) -> list[int]:
    """Ids of tasks that were submitted and are nowhere to be found."""
    ids = [task.task_id for task in accepted]
    waiting = await _among(connection, submitted_tasks, ids)
    return sorted(
        set(ids) - set(waiting) - set(await _among(connection, tasks, ids) if len(waiting) < len(ids) else ())
    )


async def _note_runs(connection: AsyncConnection, run_of: Mapping[int, int], results: Sequence[ResultRow]) -> set[int]:
    """Have every run count its tasks; gives the live ones."""
    live = set()
    for run_id in sorted(set(run_of.values())):
        ids = [task_id for task_id, run in run_of.items() if run == run_id]
        kind, racers = await note_tasks(connection, run_id, max(ids), len(ids))
        if kind == "live":
            live.add(run_id)
        # A search for the results of one scheduler goes through the runs that name it.
        strangers = {row.scheduler_name for row in results if run_of[row.task_id] == run_id} - set(racers)
        if strangers:
            raise InvalidInputError(
                f"{min(strangers)!r} has a result in run {run_id} but does not race in it; name it when the run begins"
            )
    return live


async def _without_stored(connection: AsyncConnection, batch: Batch) -> Batch:
    """The batch less the tasks that are stored already: it is a second attempt after an answer that got lost."""
    stored = await _among(connection, tasks, [task.task_id for task in batch.tasks])
    if not stored:
        return batch
    for task in batch.tasks:
        if stored.get(task.task_id, task.run_id) != task.run_id:
            raise InvalidInputError(
                f"task {task.task_id} of run {task.run_id} is already stored by run {stored[task.task_id]}; "
                "ids are unique over all runs: use those reserved for the run"
            )
    return Batch(
        [task for task in batch.tasks if task.task_id not in stored],
        [result for result in batch.results if result.task_id not in stored],
        [label for label in batch.training if label.task_id not in stored],
    )


async def _among(connection: AsyncConnection, table: Table, ids: Sequence[int]) -> dict[int, int]:
    """Which of these tasks are in a table, and of which run."""
    stored: dict[int, int] = {}
    for start in range(0, len(ids), MOST_PARAMETERS):
        wanted = table.c.task_id.in_(ids[start : start + MOST_PARAMETERS])
        rows = await connection.execute(select(table.c.task_id, table.c.run_id).where(wanted))
        stored.update((row.task_id, row.run_id) for row in rows)
    return stored


async def _insert(
    connection: AsyncConnection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Many rows by the quickest way the driver has, past SQLAlchemy's handling of every single value."""
    values = await asyncio.to_thread(list, rows)  # making JSON of thousands of rows must not hold the loop up
    if not values:
        return
    if connection.dialect.name == "postgresql":
        driver: Any = (await connection.get_raw_connection()).driver_connection
        await _copy(driver, table.name, columns, values)
    else:
        marks = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})"
        await connection.exec_driver_sql(statement, values)


async def _copy(driver: Any, table: str, columns: Sequence[str], values: list[tuple[Any, ...]]) -> None:
    """PostgreSQL's COPY, which fails like any statement when its connection goes; by itself asyncpg 0.32 does not.

    Lost while it sends, it waits for ever until it may send more. Begun on a connection that the server is closing, it
    leaves that in the middle of an operation, and undoing the transaction fails with another error.
    """
    driver.add_termination_listener(_let_write)
    try:
        await driver.copy_records_to_table(table, records=values, columns=columns)
    except asyncpg.InternalClientError:
        driver.terminate()
        raise
    finally:
        driver.remove_termination_listener(_let_write)


def _let_write(driver: Any) -> None:
    driver._protocol.resume_writing()


def _task_values(task: TaskRow) -> tuple[Any, ...]:
    return (*task[:6], to_json(task.dependencies) if task.dependencies else "[]", *task[7:])


def _result_values(result: ResultRow) -> tuple[Any, ...]:
    parts = [
        {"device": p.device, "share": p.share, "start": p.start, "end": p.end, "expected": p.expected}
        for p in result.parts
    ]
    for document, part in zip(parts, result.parts, strict=True):
        if part.lost:
            document["lost"] = True
    queue = None if result.queue_seconds is None else pack_seconds(result.queue_seconds)
    reason = result.reason and _cut(result.reason)
    return (*result[:11], to_json(parts), reason, result.ready_time, queue, *result[15:])


def _cut(reason: str) -> str:
    """A text every database can hold: it may be the message of any exception."""
    return reason[:LONGEST_REASON].replace("\0", " ").encode(errors="replace").decode()


def _label_values(label: TrainingRow) -> tuple[Any, ...]:
    return (*label[:-1], to_json(label.times))
