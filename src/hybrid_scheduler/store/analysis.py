"""How it went over time and across runs. Every answer is bounded: sums are grouped by the database, curves thinned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Select, case, cast, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store import checks
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.connected import connected_tasks
from hybrid_scheduler.store.reading import newest
from hybrid_scheduler.store.removing import counted_tasks
from hybrid_scheduler.store.rows import (
    Collected,
    ConnectedTasks,
    HourRow,
    LearningRow,
    MarkRow,
    RetrainingRow,
    RunMeansRow,
    RunRow,
)
from hybrid_scheduler.store.sums import MINUTES_KEPT
from hybrid_scheduler.store.tables import (
    hourly_means,
    learning_figures,
    minute_means,
    model_versions,
    retrainings,
    run_means,
    runs,
    scheduler_results,
    training_data,
)

MINUTE, HOUR, DAY = 60, 3600, 86_400
STRETCHES = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY)
MOST_STRETCHES = 180
SUMS = HourRow._fields[2:]
MOST_POINTS = 10_000


def stretch_for(since: datetime, until: datetime, now: datetime) -> int:
    """Seconds of the shortest stretch that cuts a time into few enough; minutes only while they are kept."""
    length = max((until - since).total_seconds(), 0.0)
    fine = since >= now - MINUTES_KEPT + timedelta(seconds=HOUR)
    fitting = (each for each in STRETCHES if length <= MOST_STRETCHES * each and (fine or each >= HOUR))
    return next(fitting, DAY * -(-int(length) // (MOST_STRETCHES * DAY)))


class Analysis:
    """Reads what is kept of the past; `Store.analysis` gives one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def means(
        self, since: datetime, until: datetime, seconds: int, scheduler: str | None = None
    ) -> list[HourRow]:
        """What live tasks came to, by stretch of time and scheduler, in order; also of tasks that were pruned.

        Args:
            since: The first moment; the stretch it lies in is given whole.
            until: Stretches that begin before then.
            seconds: Length of a stretch: whole minutes, reaching back `MINUTES_KEPT`, or whole hours.
            scheduler: Only its means.
        """
        _check_stretch(since, until, seconds)
        table, key = (
            (hourly_means, hourly_means.c.hour) if seconds % HOUR == 0 else (minute_means, minute_means.c.minute)
        )
        start = _start_of(type_coerce(key, BigInteger), seconds)
        query = (
            select(start, table.c.scheduler_name, *(_total(table.c[name]) for name in SUMS))
            # Keys are whole seconds, and a moment is cut down to one when it is compared with them.
            .where(key >= _floor(since, seconds), key < _moment(math.ceil(until.timestamp())))
            .group_by(start, table.c.scheduler_name)
            .order_by(start, table.c.scheduler_name)
        )
        if scheduler is not None:
            query = query.where(table.c.scheduler_name == checks.check_text("scheduler", scheduler))
        async with self._database.reading() as connection:
            rows = await connection.execute(query)
            # PostgreSQL adds whole numbers up to decimals.
            return [HourRow(_moment(row[0]), row[1], *map(int, row[2:5]), *row[5:]) for row in rows]

    async def marks(self, since: datetime, until: datetime, seconds: int) -> list[MarkRow]:
        """Retrainings and saved versions by stretch of time and learner, in order; arguments as of `means`."""
        _check_stretch(since, until, seconds)
        found: dict[tuple[datetime, str], MarkRow] = {}
        async with self._database.reading() as connection:
            for moment, name, count, _ in await _per_stretch(connection, retrainings, since, until, seconds):
                found[moment, name] = MarkRow(moment, name, count, 0, None)
            for moment, name, count, last in await _per_stretch(connection, model_versions, since, until, seconds):
                mark = found.get((moment, name), MarkRow(moment, name, 0, 0, None))
                found[moment, name] = mark._replace(versions=count, version=last)
        return [found[key] for key in sorted(found)]

    async def first_hour(self) -> datetime | None:
        """The first hour that has means."""
        async with self._database.reading() as connection:
            hour: datetime | None = (await connection.execute(select(func.min(hourly_means.c.hour)))).scalar_one()
        return hour

    async def run_means(self, run_ids: Sequence[int]) -> list[RunMeansRow]:
        """What the tasks of runs came to, by run and scheduler; nothing of runs older than the table."""
        query = select(run_means).where(run_means.c.run_id.in_(run_ids)).order_by(*run_means.primary_key)
        async with self._database.reading() as connection:
            return [RunMeansRow._make(row) for row in await connection.execute(query)]

    async def connected(
        self, run: RunRow, scheduler: str, limit: int = 200, before: int | None = None
    ) -> ConnectedTasks:
        """Tasks of a run that depend on each other, as one scheduler placed them, with ids below `before`.

        The newest that have parents, and these parents, at most `limit` in all; looks through 10 000 tasks at most.
        Parents that belong to an earlier run, or are forgotten, are left out.
        """
        checks.check_page(limit, before)
        checks.check_text("scheduler", scheduler)
        async with self._database.reading() as connection:
            return await connected_tasks(connection, run, scheduler, limit, before)

    async def retrainings(
        self, limit: int = 100, before: int | None = None, scheduler: str | None = None, run_id: int | None = None
    ) -> list[RetrainingRow]:
        """Refreshes that changed a model, with ids below `before`, newest first."""
        checks.check_page(limit, before, scheduler)
        query = newest(select(retrainings), retrainings, limit, before)
        if scheduler is not None:
            query = query.where(retrainings.c.scheduler_name == scheduler)
        if run_id is not None:
            query = query.where(retrainings.c.run_id == checks.check_whole("run_id", run_id))
        async with self._database.reading() as connection:
            return [RetrainingRow._make(row) for row in await connection.execute(query)]

    async def learning(
        self,
        run_id: int | None = None,
        scheduler: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        points: int = 500,
    ) -> list[LearningRow]:
        """Figures of learners over time, oldest first: of one run or all, thinned evenly to about `points` per learner.

        The first and the last of every learner are always there.
        """
        checks.check_whole("points", points, 2, MOST_POINTS)
        wanted: Select[Any] = select(learning_figures.c.id)
        if run_id is not None:
            wanted = wanted.where(learning_figures.c.run_id == checks.check_whole("run_id", run_id))
        if scheduler is not None:
            wanted = wanted.where(learning_figures.c.scheduler_name == checks.check_text("scheduler", scheduler))
        if since is not None:
            wanted = wanted.where(learning_figures.c.created >= checks.check_moment("since", since))
        if until is not None:
            wanted = wanted.where(learning_figures.c.created < checks.check_moment("until", until))
        learner = learning_figures.c.scheduler_name
        number = func.row_number().over(partition_by=learner, order_by=learning_figures.c.id).label("number")
        count = func.count().over(partition_by=learner).label("count")
        # Numbered by their ids alone: the database would sort the documents with them.
        each = wanted.add_columns(number, count).subquery()
        step = case((each.c.count > points, each.c.count // points + 1), else_=1)
        kept = ((each.c.number - 1) % step == 0) | (each.c.number == each.c.count)
        ids = select(each.c.id).where(kept)
        query = select(learning_figures).where(learning_figures.c.id.in_(ids)).order_by(learning_figures.c.id)
        async with self._database.reading() as connection:
            return [LearningRow._make(row) for row in await connection.execute(query)]

    async def collected(self) -> Collected:
        """What all runs have brought; results and labels are counted one by one."""
        stored = select(run_means.c.run_id, func.max(run_means.c.tasks).label("tasks")).group_by(run_means.c.run_id)
        ever = stored.subquery()
        async with self._database.reading() as connection:
            results, labels, versions, changes = [
                (await connection.execute(select(func.count()).select_from(table))).scalar_one()
                for table in (scheduler_results, training_data, model_versions, retrainings)
            ]
            every_task = select(func.sum(func.coalesce(ever.c.tasks, runs.c.tasks)))
            total = await connection.execute(every_task.select_from(runs.outerjoin(ever, ever.c.run_id == runs.c.id)))
            row = (
                await connection.execute(select(func.count(), func.min(runs.c.started), func.max(runs.c.started)))
            ).one()
            hours = (
                await connection.execute(select(func.min(hourly_means.c.hour), func.max(hourly_means.c.hour)))
            ).one()
            tasks = await counted_tasks(connection)
            return Collected(
                row[0],
                tasks,
                results,
                labels,
                versions,
                changes,
                int(total.scalar_one() or 0),
                min((moment for moment in (row[1], hours[0]) if moment is not None), default=None),
                max((moment for moment in (row[2], hours[1]) if moment is not None), default=None),
            )


def _total(column: Any) -> Any:
    """What a column adds up to: null, unknown, where any of it is; SQL's own sum leaves those out."""
    return case((func.count(column) == func.count(), func.sum(column))) if column.nullable else func.sum(column)


async def _per_stretch(
    connection: AsyncConnection, table: Any, since: datetime, until: datetime, seconds: int
) -> list[tuple[datetime, str, int, int]]:
    """How many rows each learner has per stretch of time, and the last of their ids."""
    if connection.dialect.name == "postgresql":
        second = cast(func.floor(func.extract("epoch", table.c.created)), BigInteger)
    else:
        second = cast(func.strftime("%s", table.c.created), BigInteger)
    start = _start_of(second, seconds)
    query = (
        select(start, table.c.scheduler_name, func.count(), func.max(table.c.id))
        .where(table.c.created >= _floor(since, seconds), table.c.created < until)
        .group_by(start, table.c.scheduler_name)
    )
    return [(_moment(row[0]), *row[1:]) for row in await connection.execute(query)]


def _check_stretch(since: datetime, until: datetime, seconds: int) -> None:
    checks.check_moment("since", since)
    checks.check_moment("until", until)
    checks.check_whole("seconds", seconds, MINUTE)


def _start_of(second: Any, seconds: int) -> Any:
    return (second // seconds * seconds).label("start")


def _floor(moment: datetime, seconds: int) -> datetime:
    return _moment(int(moment.timestamp()) // seconds * seconds)


def _moment(second: Any) -> datetime:
    return datetime.fromtimestamp(int(second), UTC)
