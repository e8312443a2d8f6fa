"""Tasks with their results go in, whole. Every function runs inside one `Database.writing` transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.store.rows import Batch, ResultRow, SubmittedTask, TaskRow, TrainingRow
from hybrid_scheduler.store.runs import note_tasks
from hybrid_scheduler.store.tables import scheduler_results, submitted_tasks, tasks, training_data

MOST_PARAMETERS = 10_000
"""Ids asked for in one statement; databases allow some 32 000."""


async def write_batch(connection: AsyncConnection, batch: Batch) -> int:
    """Store what of the batch is not there yet; gives the number of tasks that were not."""
    batch = await _without_stored(connection, batch)
    if not batch.tasks:
        return 0
    for run_id in sorted({task.run_id for task in batch.tasks}):
        ids = [task.task_id for task in batch.tasks if task.run_id == run_id]
        await note_tasks(connection, run_id, max(ids), len(ids))
    await _insert(connection, tasks, TaskRow._fields, map(_task_values, batch.tasks))
    await _insert(connection, scheduler_results, ResultRow._fields, map(_result_values, batch.results))
    await _insert(connection, training_data, TrainingRow._fields, map(_label_values, batch.training))
    waiting = await _among(connection, submitted_tasks, [task.task_id for task in batch.tasks])
    if waiting:
        await connection.execute(delete(submitted_tasks).where(submitted_tasks.c.task_id.in_(waiting)))
    return len(batch.tasks)


async def submit(connection: AsyncConnection, task: SubmittedTask) -> None:
    """Keep a task until its results are written; submitted again it belongs to the later run."""
    if await _among(connection, tasks, [task.task_id]):
        return
    await note_tasks(connection, task.run_id, task.task_id, 0)
    await connection.execute(delete(submitted_tasks).where(submitted_tasks.c.task_id == task.task_id))
    await connection.execute(insert(submitted_tasks).values(**task._asdict()))


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
    found: dict[int, int] = {}
    for start in range(0, len(ids), MOST_PARAMETERS):
        wanted = table.c.task_id.in_(ids[start : start + MOST_PARAMETERS])
        rows = await connection.execute(select(table.c.task_id, table.c.run_id).where(wanted))
        found.update((row.task_id, row.run_id) for row in rows)
    return found


async def _insert(
    connection: AsyncConnection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Many rows by the quickest way the driver has, past SQLAlchemy's handling of every single value."""
    values = await asyncio.to_thread(list, rows)  # making JSON of thousands of rows must not hold the loop up
    if not values:
        return
    if connection.dialect.name == "postgresql":
        driver: Any = (await connection.get_raw_connection()).driver_connection
        await driver.copy_records_to_table(table.name, records=values, columns=columns)
    else:
        marks = ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})"
        await connection.exec_driver_sql(statement, values)


def _task_values(task: TaskRow) -> tuple[Any, ...]:
    return (*task[:-1], to_json(task.dependencies) if task.dependencies else "[]")


def _result_values(result: ResultRow) -> tuple[Any, ...]:
    parts = [
        {"device": p.device, "share": p.share, "start": p.start, "end": p.end, "expected": p.expected, "lost": p.lost}
        for p in result.parts
    ]
    return (*result[:-1], to_json(parts))


def _label_values(label: TrainingRow) -> tuple[Any, ...]:
    return (*label[:-1], to_json(label.times))
