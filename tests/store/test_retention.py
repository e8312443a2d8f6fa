"""The history within its limits: days, tasks, megabytes; hourly means and few rows of the rest for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from databases import NewDatabase, run_sql

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import Retention, Store, StoreLimits, disk, open_store
from hybrid_scheduler.store.limits import DEFAULT_LIMITS
from hybrid_scheduler.testing.store.samples import SCHEDULERS, begin, sample, stored_numbers

START = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def use(url: str, work: Callable[[Store, Clock], Awaitable[None]], limits: StoreLimits = DEFAULT_LIMITS) -> None:
    async def opened() -> None:
        clock = Clock()
        async with await open_store(url, clock=clock, limits=limits) as store:
            await work(store, clock)

    asyncio.run(opened())


async def prune_all(store: Store, limits: Retention) -> int:
    done = 0
    while await store.prune(limits):
        done += 1
    return done


def test_days(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store)
        for day in range(10):
            clock.now = START + timedelta(days=day)
            await store.write(sample(run, range(10 * day, 10 * day + 10)))
        await prune_all(store, Retention(days=3.5))
        assert await stored_numbers(store, run) == list(range(60, 100))
        hours = await store.hourly_means(scheduler=SCHEDULERS[0])
        first = START.replace(minute=0)
        assert [hour.hour for hour in hours] == [first + timedelta(days=day) for day in range(10)]
        assert [hour.tasks for hour in hours] == [10] * 10, "means outlive their tasks"
        clock.now = START + timedelta(days=100)
        await prune_all(store, Retention(days=3.5))
        assert (await store.counts()).tasks == 0

    use(database_url, work)


def test_a_clock_that_was_wrong_for_a_while_does_not_hold_pruning_up(new_sqlite: NewDatabase) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store)
        for day, number in ((400, 0), (1, 1), (2, 2)):
            clock.now = START + timedelta(days=day)
            await store.write(sample(run, [number]))
        clock.now = START + timedelta(days=10)
        await prune_all(store, Retention(days=5))
        assert await stored_numbers(store, run) == [0], "those behind the one of the future go"

    use(new_sqlite(), work)


def test_megabytes(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store, 100_000)
        limits, first = Retention(megabytes=4), 0
        largest = 0.0
        for first in range(0, 9000, 500):
            await store.write(sample(run, range(first, first + 500)))
            await prune_all(store, limits)
            largest = max(largest, await disk.size_in_use(store._database))
        assert largest <= 4e6
        there = await stored_numbers(store, run)
        assert there == list(range(there[0], 9000)), "the newest are there, without a gap"
        assert len(there) > 500, "not everything was pruned"
        if store.backend == "SQLite":
            assert await store.size() <= 4e6, "in all files, on the disk"
        else:
            # Its tables have grown by rows that are gone; they must not count.
            await prune_all(store, limits)
            assert await stored_numbers(store, run) == there

    use(database_url, work)


def test_a_lower_limit_makes_the_file_smaller(new_sqlite: NewDatabase) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store, 100_000)
        for first in range(0, 6000, 1000):
            await store.write(sample(run, range(first, first + 1000)))
        before = await store.size()
        await prune_all(store, Retention(tasks=600))
        assert await stored_numbers(store, run) == list(range(5400, 6000))
        assert await store.size() < before / 2

    use(new_sqlite(), work)


def test_what_postgresql_says_rows_take_is_about_what_they_take(postgres_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store, 100_000)
        assert await disk.size_in_use(store._database) == 0
        for first in range(0, 5000, 1000):
            await store.write(sample(run, range(first, first + 1000)))
        tables = "SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(ARRAY['tasks', 'scheduler_results', \
            'training_data']) t"
        ((size,),) = await asyncio.to_thread(run_sql, postgres_url, tables)
        assert await disk.size_in_use(store._database) == pytest.approx(float(size), rel=0.15)

    use(postgres_url, work)


def test_pages_of_a_run_whose_tasks_are_partly_gone(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        first, second = await begin(store), await begin(store)
        for run in (first, second):
            await store.write(sample(run, range(10)))
        await prune_all(store, Retention(tasks=13))
        assert await stored_numbers(store, first) == [7, 8, 9]
        for scheduler in SCHEDULERS:
            found = await store.comparative(100, scheduler=scheduler)
            assert len(found) == 13
            found = await store.comparative(100, before=second.first_task_id, scheduler=scheduler)
            assert [each.task.task_id - first.first_task_id for each in found] == [9, 8, 7]
        assert [run.tasks for run in await store.runs()] == [10, 3]

    use(database_url, work)


def test_results_of_one_scheduler_from_runs_it_was_in(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        old = await store.begin_run("live", seed=1, configuration={}, schedulers=["greedy", "mct"], reserve=20)
        await store.write(sample(old, range(3), ["greedy", "mct"]))
        new = await store.begin_run("live", seed=1, configuration={}, schedulers=["greedy"], reserve=20)
        await store.write(sample(new, range(5), ["greedy"]))
        # Accepted by the old run, stored by the new one under its old id.
        taken = sample(old, [7], ["greedy"])
        await store.write(taken._replace(tasks=[taken.tasks[0]._replace(run_id=new.id)]))
        found = await store.comparative(100, scheduler="mct")
        assert [each.task.task_id for each in found] == [2, 1, 0]
        found = await store.comparative(100, scheduler="greedy")
        assert [each.task.task_id for each in found] == [24, 23, 22, 21, 20, 7, 2, 1, 0]
        with pytest.raises(InvalidInputError, match="'mct' has a result in run 2 but does not race in it"):
            await store.write(sample(new, [9], ["greedy", "mct"]))
        assert (await store.counts()).tasks == 9

    use(database_url, work)


def test_runs_and_versions_are_bounded(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        kept = await begin(store, 10)
        await store.write(sample(kept, [0]))
        await store.end_run(kept.id, "finished")
        for _ in range(12):
            run = await begin(store, 0, "compare")
            await store.end_run(run.id, "finished", {"figures": 1})
        assert [each.id for each in await store.runs()] == [13, 12, 11, 10, 9, 1], "one with tasks stays"
        for number in range(8):
            for name in ("rl_agent", "hybrid_ml"):
                await store.add_model_version(name, rows=number, path=f"{number}")
        for name in ("rl_agent", "hybrid_ml"):
            assert [each.rows for each in await store.model_versions(100, name)] == [7, 6, 5, 4, 3]

    use(database_url, work, StoreLimits(runs=5, versions=5))


def test_a_long_reason_is_cut(database_url: str) -> None:
    async def work(store: Store, clock: Clock) -> None:
        run = await begin(store)
        batch = sample(run, [0])
        reason = "broken\0 by \ud800 " + "x" * 1000
        await store.write(batch._replace(results=[row._replace(reason=reason) for row in batch.results]))
        ((_, results),) = await store.comparative(1)
        assert {row.reason for row in results} == {("broken  by ? " + "x" * 1000)[:300]}

    use(database_url, work)


def test_many_submitted_at_once_are_quick(new_sqlite: NewDatabase) -> None:
    async def work(store: Store, clock: Clock) -> None:
        from time import perf_counter

        from hybrid_scheduler.store import SubmittedTask

        run = await begin(store, 10_000)
        seconds = []
        for first in range(0, 500, 50):
            ids = range(run.first_task_id + first, run.first_task_id + first + 50)
            tasks = [SubmittedTask(number, run.id, 1.0, 0.5, 1.0, (), START) for number in ids]
            began = perf_counter()
            await store.submit(tasks)
            seconds.append(perf_counter() - began)
        assert len(await store.submitted()) == 500
        assert min(seconds) < 0.05, "well under 10 ms on an idle machine; the least of ten, beside busy processes"

    use(new_sqlite(), work)
