"""What is read from the store: pages, newest first. Every function runs inside one `Database.reading` transaction."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from sqlalchemy import Row, Select, Table, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.model.task import as_dependencies
from hybrid_scheduler.store.removing import counted_tasks
from hybrid_scheduler.store.rows import (
    ComparedTask,
    Counts,
    ModelVersionRow,
    PartRow,
    ResultRow,
    RunRow,
    SubmittedTask,
    TaskRow,
    TrainingRow,
)
from hybrid_scheduler.store.runs import run_row
from hybrid_scheduler.store.tables import (
    EXPORTED,
    metadata,
    model_versions,
    runs,
    scheduler_results,
    submitted_tasks,
    tasks,
    training_data,
)

TASK_COLUMNS = len(TaskRow._fields)
PARTS = ResultRow._fields.index("parts")


async def compared_tasks(
    connection: AsyncConnection, limit: int, before: int | None, scheduler: str | None
) -> list[ComparedTask]:
    """Tasks with their results; with `scheduler` those it has a result of, and that one alone.

    One statement, so that a task and its results are of one moment.
    """
    results = scheduler_results.c
    columns = [tasks.c[name] for name in TaskRow._fields]
    if scheduler is None:
        page = newest(select(*columns), tasks, limit, before).subquery()
        query = select(*page.c, *result_columns()).join_from(page, scheduler_results, page.c.task_id == results.task_id)
        query = query.order_by(page.c.task_id.desc(), results.id)
    else:
        its_runs, others, last = await _raced_in(connection, scheduler)
        if not its_runs:
            return []
        query = select(*columns, *result_columns()).join_from(tasks, scheduler_results)
        query = query.where(results.scheduler_name == scheduler)
        if others:
            query = query.where(tasks.c.run_id.in_(its_runs))
        query = newest(query, tasks, limit, last + 1 if before is None else min(before, last + 1))
    rows = (await connection.execute(query)).all()
    return [compared_task(list(group)) for _, group in groupby(rows, key=lambda row: row[0])]


async def _raced_in(connection: AsyncConnection, scheduler: str) -> tuple[list[int], bool, int]:
    """The runs with tasks that a scheduler races in, whether there are others, and the highest id of their tasks.

    With these, looking for a scheduler that raced long ago, or never, does not go through the results of all others.
    """
    columns = (runs.c.id, runs.c.schedulers, runs.c.first_task_id, runs.c.last_task_id)
    every = (await connection.execute(select(*columns).where(runs.c.tasks > 0))).all()
    its = [run for run in every if scheduler in run.schedulers]
    last = max((run.first_task_id if run.last_task_id is None else run.last_task_id for run in its), default=0)
    return [run.id for run in its], len(its) < len(every), last


async def labels(connection: AsyncConnection, limit: int, before: int | None) -> list[TrainingRow]:
    """Labelled tasks."""
    rows = await connection.execute(newest(select(training_data), training_data, limit, before))
    return [TrainingRow._make(row) for row in rows]


async def run_list(connection: AsyncConnection, limit: int, before: int | None, kind: str | None) -> list[RunRow]:
    """Runs, of one kind or all."""
    query = newest(select(runs), runs, limit, before)
    if kind is not None:
        query = query.where(runs.c.kind == kind)
    return [run_row(row) for row in await connection.execute(query)]


async def one_run(connection: AsyncConnection, run_id: int) -> RunRow | None:
    """One run, if it is there."""
    row = (await connection.execute(select(runs).where(runs.c.id == run_id))).one_or_none()
    return None if row is None else run_row(row)


async def versions(
    connection: AsyncConnection, limit: int, scheduler: str | None, before: int | None
) -> list[ModelVersionRow]:
    """Saved states of learners, of one or all."""
    query = newest(select(model_versions), model_versions, limit, before)
    if scheduler is not None:
        query = query.where(model_versions.c.scheduler_name == scheduler)
    return [ModelVersionRow._make(row) for row in await connection.execute(query)]


async def submitted(connection: AsyncConnection) -> list[SubmittedTask]:
    """Accepted tasks without results, the oldest first: the order in which they are to be done."""
    rows = await connection.execute(select(submitted_tasks).order_by(submitted_tasks.c.task_id))
    return [SubmittedTask._make(row)._replace(dependencies=as_dependencies(row.dependencies)) for row in rows]


async def quick_counts(connection: AsyncConnection) -> Counts:
    """Counts from the small tables; runs count their own tasks, so the long ones are not touched."""
    (run_count, last_run), last_task = (
        (await connection.execute(select(func.count(), func.max(runs.c.id)).select_from(runs))).one(),
        (await connection.execute(select(func.max(tasks.c.task_id)))).scalar_one(),
    )
    task_count = await counted_tasks(connection)
    waiting, learned = [
        (await connection.execute(select(func.count()).select_from(table))).scalar_one()
        for table in (submitted_tasks, model_versions)
    ]
    return Counts(run_count, task_count, waiting, learned, last_run, last_task)


async def touch_every_table(connection: AsyncConnection) -> None:
    """Ask something small of every table, so that one that is missing or damaged is found."""
    keys = [next(iter(table.primary_key)) for table in metadata.sorted_tables]
    await connection.execute(select(*(select(func.max(key)).scalar_subquery() for key in keys)))


async def exact_counts(connection: AsyncConnection) -> dict[str, int]:
    """Rows of every table, counted one by one: seconds for a long history."""
    return {
        table.name: (await connection.execute(select(func.count()).select_from(table))).scalar_one()
        for table in EXPORTED
    }


def newest(query: Select[Any], table: Table, limit: int, before: int | None) -> Select[Any]:
    """A page of what is asked for: rows with keys below `before`, the newest first."""
    key = next(iter(table.primary_key))
    query = query.order_by(key.desc()).limit(limit)
    return query if before is None else query.where(key < before)


def result_columns() -> list[Any]:
    """The columns of a `ResultRow`, to be selected after those of the task."""
    return [scheduler_results.c[name] for name in ResultRow._fields]


def compared_task(rows: list[Row[Any]]) -> ComparedTask:
    """A task from its rows, one per result: its own columns, then those of the result."""
    task = TaskRow._make(rows[0][:TASK_COLUMNS])
    return ComparedTask(
        task._replace(dependencies=as_dependencies(task.dependencies)),
        tuple(_result(row[TASK_COLUMNS:]) for row in rows),
    )


def _result(values: tuple[Any, ...]) -> ResultRow:
    parts = (
        PartRow(part["device"], part["share"], part["start"], part["end"], part["expected"], part.get("lost", False))
        for part in values[PARTS]
    )
    return ResultRow._make((*values[:PARTS], tuple(parts), *values[PARTS + 1 :]))
