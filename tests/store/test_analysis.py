"""How it went over time and across runs, held against plain SQL on the stored rows; what learners did stays bounded."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from databases import NewDatabase, run_sql

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import LearningRow, Retention, RetrainingRow, Store, learning, open_store
from hybrid_scheduler.store.analysis import DAY, HOUR, MINUTE, stretch_for
from hybrid_scheduler.testing.store.samples import SCHEDULERS, begin, sample

START = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
SQL = """
    SELECT (t.stored / {seconds}) * {seconds} AS start, r.scheduler_name, count(*),
        sum(CASE WHEN r.failed THEN 1 ELSE 0 END),
        sum(CASE WHEN NOT r.failed AND r.response_time <= (
            SELECT min(o.response_time) FROM scheduler_results o WHERE o.task_id = r.task_id AND NOT o.failed
        ) THEN 1 ELSE 0 END),
        avg(CASE WHEN r.failed THEN NULL ELSE r.response_time END),
        avg(CASE WHEN r.failed THEN NULL ELSE r.energy_consumption END),
        avg(CASE WHEN r.failed THEN NULL ELSE r.execution_cost END)
    FROM scheduler_results r JOIN tasks t ON t.task_id = r.task_id {where}
    GROUP BY 1, 2 ORDER BY 1, 2
"""


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def use(url: str, work: Callable[[Store, Clock], Awaitable[None]]) -> None:
    async def opened() -> None:
        clock = Clock()
        async with await open_store(url, clock=clock) as store:
            await work(store, clock)

    asyncio.run(opened())


def asked(url: str, query: str) -> list[tuple[Any, ...]]:
    """The answer of the database itself."""
    if url.startswith("postgresql"):
        return run_sql(url, query)
    with closing(sqlite3.connect(url.split("///")[1])) as connection:
        return connection.execute(query).fetchall()


def change(number: int, *, name: str = "hybrid_ml", run: int = 1, created: datetime = START) -> RetrainingRow:
    return RetrainingRow(0, run, name, created, 10 * number, "interval", 800 + number, 8, 5, 0.12, 0.09, None)


def figures(number: int, *, name: str = "rl_agent", run: int = 1, created: datetime = START) -> LearningRow:
    return LearningRow(0, run, name, created, number, {"loss": 1.0 / (number + 1), "epsilon": None})


async def scattered(store: Store, clock: Clock) -> list[int]:
    """Three live runs and a comparison over three days, no two results alike; gives the ids of the runs."""
    chance, ids = random.Random(5), []
    for kind, minutes in (("live", 0), ("live", 55), ("compare", 60), ("live", 2900)):
        run = await begin(store, kind=kind)
        ids.append(run.id)
        for number in range(0, 30, 3):
            clock.now = START + timedelta(minutes=minutes + number, seconds=number)
            batch = sample(run, range(number, number + 3))
            results = [
                row._replace(
                    response_time=chance.random(), energy_consumption=chance.random(), execution_cost=chance.random()
                )
                for row in batch.results
            ]
            await store.write(batch._replace(results=results))
    return ids


@pytest.mark.parametrize("seconds", [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY])
def test_means_over_time_equal_sql_on_the_rows(database_url: str, seconds: int) -> None:
    async def work(store: Store, clock: Clock) -> None:
        await scattered(store, clock)
        since = clock.now - timedelta(days=2, seconds=-seconds) if seconds < HOUR else START
        found = await store.analysis.means(since, clock.now + timedelta(minutes=1), seconds)
        oldest = int(since.timestamp()) // seconds * seconds
        where = f"JOIN runs ON runs.id = t.run_id WHERE runs.kind = 'live' AND t.stored >= {oldest}"
        expected = await asyncio.to_thread(asked, database_url, SQL.format(seconds=seconds, where=where))
        assert len(found) == len(expected) > 2
        for row, (start, name, tasks, failed, wins, response, energy, cost) in zip(found, expected, strict=True):
            assert (row.hour.timestamp(), row.scheduler_name) == (start, name)
            assert (row.tasks, row.failed, row.wins) == (tasks, failed, wins)
            good = row.tasks - row.failed
            assert row.sum_energy is not None
            shown = [total / good for total in (row.sum_response, row.sum_energy, row.sum_cost)]
            assert shown == pytest.approx([response, energy, cost], rel=1e-12)
        only = await store.analysis.means(since, clock.now + timedelta(minutes=1), seconds, SCHEDULERS[0])
        assert [row[:5] for row in only] == [row[:5] for row in found if row.scheduler_name == SCHEDULERS[0]]

    use(database_url, work)


@pytest.mark.parametrize("seconds", [MINUTE, HOUR])
def test_a_stretch_that_began_just_now_is_among_the_means(database_url: str, seconds: int) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store)
        clock.now = START.replace(minute=0, second=0, microsecond=0)
        await store.write(sample(run, [0]))
        for later, found in ((0.4, 1), (1.0, 1), (0.0, 0)):
            until = clock.now + timedelta(seconds=later)
            rows = await store.analysis.means(until - timedelta(hours=1), until, seconds, SCHEDULERS[0])
            assert len(rows) == found, later

    use(database_url, work)


def test_means_of_runs_equal_sql_on_the_rows_and_outlive_them(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        ids = await scattered(store, clock)
        query = "SELECT t.run_id, r.scheduler_name, count(*), sum(CASE WHEN r.failed THEN 0 ELSE r.response_time END) \
            FROM scheduler_results r JOIN tasks t ON t.task_id = r.task_id GROUP BY 1, 2 ORDER BY 1, 2"
        expected = await asyncio.to_thread(asked, database_url, query)
        while await store.prune(Retention(tasks=1)):
            pass
        found = await store.analysis.run_means(ids)
        assert [(row.run_id, row.scheduler_name, row.tasks) for row in found] == [tuple(row[:3]) for row in expected]
        assert [row.sum_response for row in found] == pytest.approx([row[3] for row in expected], rel=1e-12)
        assert {row.tasks for row in found} == {30}

    use(database_url, work)


def test_minutes_are_kept_for_two_days(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store)
        for day in range(5):
            clock.now = START + timedelta(days=day)
            await store.write(sample(run, [day]))
        minutes = await store.analysis.means(START, clock.now + timedelta(hours=1), MINUTE, SCHEDULERS[0])
        assert [row.hour for row in minutes] == [START + timedelta(days=day) for day in (2, 3, 4)]
        assert len(await store.analysis.means(START, clock.now + timedelta(hours=1), HOUR, SCHEDULERS[0])) == 5

    use(database_url, work)


@pytest.mark.parametrize(
    ("length", "ago", "seconds"),
    [
        (timedelta(hours=1), timedelta(hours=1), MINUTE),
        (timedelta(days=1), timedelta(days=1), 15 * MINUTE),
        (timedelta(hours=1), timedelta(days=9), HOUR),
        (timedelta(days=7), timedelta(days=7), HOUR),
        (timedelta(days=31), timedelta(days=31), 6 * HOUR),
        (timedelta(days=100), timedelta(days=100), DAY),
        (timedelta(days=1000), timedelta(days=1000), 7 * DAY),
    ],
)
def test_stretches_are_few_and_no_finer_than_what_is_kept(length: timedelta, ago: timedelta, seconds: int) -> None:
    now = START + timedelta(days=5000)
    assert stretch_for(now - ago, now - ago + length, now) == seconds
    decade = stretch_for(now - timedelta(days=3650), now, now)
    assert decade % DAY == 0
    assert 3650 * DAY / decade <= 180


def test_marks_count_retrainings_and_versions(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        later = START + timedelta(hours=2, minutes=1)
        await store.note_learning([change(1), change(2), change(3, created=later), change(4, name="other")])
        for created in (START, START, later):
            await store.add_model_version("hybrid_ml", rows=1, path="x", created=created)
        marks = await store.analysis.marks(START, later + timedelta(hours=1), HOUR)
        assert [(m.start.hour, m.scheduler_name, m.retrainings, m.versions, m.version) for m in marks] == [
            (12, "hybrid_ml", 2, 2, 2),
            (12, "other", 1, 0, None),
            (14, "hybrid_ml", 1, 1, 3),
        ]
        assert await store.analysis.marks(START + timedelta(hours=1), later + timedelta(seconds=1), HOUR) == marks[2:]

    use(database_url, work)


def test_retrainings_page_by_page(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        await store.note_learning([change(n, name="ab"[n % 2], run=n // 5) for n in range(10)])
        rows = await store.analysis.retrainings(4)
        assert [row.tasks for row in rows] == [90, 80, 70, 60]
        assert rows[0] == change(9, name="b", run=1)._replace(id=rows[0].id)
        assert [row.tasks for row in await store.analysis.retrainings(9, rows[-1].id)] == [50, 40, 30, 20, 10, 0]
        assert [row.tasks for row in await store.analysis.retrainings(9, None, "a", 1)] == [80, 60]

    use(database_url, work)


def test_learning_curves_are_thinned_evenly_with_both_ends(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        for number in range(0, 1000, 100):
            await store.note_learning(figures=[figures(n) for n in range(number, number + 100)])
        await store.note_learning(figures=[figures(n, name="few", run=2) for n in range(3)])
        rows = await store.analysis.learning(points=50)
        own = [row.tasks for row in rows if row.scheduler_name == "rl_agent"]
        assert (own[0], own[-1]) == (0, 999)
        assert 40 <= len(own) <= 52
        assert len({b - a for a, b in pairwise(own[:-1])}) == 1, "evenly but for the last"
        assert [row.tasks for row in await store.analysis.learning(2)] == [0, 1, 2]
        assert rows[0].figures == {"loss": 1.0, "epsilon": None}
        assert await store.analysis.learning(1, "few") == []
        assert await store.analysis.learning(since=START + timedelta(seconds=1)) == []
        assert len(await store.analysis.learning(2, until=START + timedelta(seconds=1))) == 3

    use(database_url, work)


def test_what_learners_did_stays_bounded(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "KEPT", dict.fromkeys(learning.KEPT, (20, 5.0)))

    async def left(store: Store, limits: Retention) -> tuple[int, int]:
        while await store.prune(limits):
            pass
        return len(await store.analysis.retrainings()), len(await store.analysis.learning())

    async def work(store: Store, clock: Clock) -> None:
        for day in range(30):
            moment = START + timedelta(days=day)
            await store.note_learning([change(day, created=moment)], [figures(day, created=moment)])
        clock.now = START + timedelta(days=30)
        assert await left(store, Retention()) == (20, 20)
        assert await left(store, Retention(days=15.5)) == (15, 15)
        assert await left(store, Retention(megabytes=2)) == (10, 10)
        assert (await store.analysis.retrainings())[0].tasks == 290, "the newest stay"

    use(database_url, work)


def test_collected_counts_what_is_there_and_what_was(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        assert tuple(await store.analysis.collected()) == (0, 0, 0, 0, 0, 0, 0, None, None)
        run = await store.begin_run("live", seed=1, configuration={}, schedulers=SCHEDULERS, reserve=100, started=START)
        await store.write(sample(run, range(40)))
        clock.now = START + timedelta(days=2)
        await store.write(sample(run, range(40, 50)))
        await store.note_learning([change(1)])
        while await store.prune(Retention(tasks=15)):
            pass
        collected = await store.analysis.collected()
        assert collected[:7] == (1, 15, 15 * len(SCHEDULERS), 15, 0, 1, 50)
        assert (collected.first, collected.last) == (START.replace(minute=0), clock.now.replace(minute=0))

    use(database_url, work)


def test_clearing_forgets_all_of_it(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store)
        await store.write(sample(run, range(5)))
        await store.note_learning([change(1)], [figures(1)])
        await store.clear()
        counts = await store.exact_counts()
        assert {counts[name] for name in ("minute_means", "run_means", "retrainings", "learning_figures")} == {0}

    use(database_url, work)


def test_bad_rows_are_refused(new_sqlite: NewDatabase) -> None:
    async def work(store: Store, clock: Clock) -> None:
        for bad in (
            [change(1)._replace(error_after=float("nan"))],
            [change(1)._replace(replaced=-1)],
            [change(1)._replace(created=datetime(2026, 1, 1))],
        ):
            with pytest.raises(InvalidInputError, match="must be"):
                await store.note_learning(bad)
        many = {f"figure {n}": 1.0 for n in range(65)}
        with pytest.raises(InvalidInputError, match="65 figures, but at most 64"):
            await store.note_learning(figures=[figures(1)._replace(figures=many)])

    use(new_sqlite(), work)
