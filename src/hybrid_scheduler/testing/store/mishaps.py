"""Bad input, second attempts, cancelled calls, and others at work at the same time."""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import partial

from hybrid_scheduler.store import Batch, SubmittedTask
from hybrid_scheduler.testing.store.samples import BEYOND, SCHEDULERS, OpenStore, begin, refused, sample, stored_numbers


async def check_atomic(opened: OpenStore) -> None:
    """A batch with one bad row leaves nothing behind, whoever finds the row bad."""
    async with await opened() as store:
        run = await begin(store)
        good = sample(run, range(5))
        last, result = good.tasks[-1], good.results[-1]
        bad: dict[str, Batch] = {
            "a task of a run that does not exist": good._replace(tasks=[*good.tasks[:-1], last._replace(run_id=10**6)]),
            "a size that is no number": good._replace(tasks=[*good.tasks[:-1], last._replace(size="big")]),  # type: ignore[arg-type]
            "an infinite time": good._replace(results=[*good.results[:-1], result._replace(actual_time=float("inf"))]),
            "a result without its task": good._replace(results=[*good.results, result._replace(task_id=10**6)]),
            "a result that occurs twice": good._replace(results=[*good.results, result]),
            "a task without results": good._replace(results=good.results[: -len(SCHEDULERS)]),
            "a task that occurs twice": good._replace(tasks=[*good.tasks, last]),
            "an id outside the run's": good._replace(
                tasks=[*good.tasks, last._replace(task_id=run.first_task_id + 1000)],
                results=[*good.results, result._replace(task_id=run.first_task_id + 1000)],
            ),
        }
        for what, batch in bad.items():
            await refused(partial(store.write, batch), what)
            assert await stored_numbers(store, run) == [], f"{what}: the rest of the batch is stored"
            assert await store.training() == [], f"{what}: labels of the batch are stored"
            stored = await store.run(run.id)
            assert stored is not None, f"{what}: the run is gone"
            assert (stored.tasks, stored.last_task_id) == (0, None), f"{what}: the run counts it"
        assert await store.write(good) == 5, "the good batch is not stored after the bad ones"


async def check_cancelled(opened: OpenStore) -> None:
    """A write that is cancelled half-way leaves all or nothing, and the store works on."""
    async with await opened() as store:
        run = await begin(store, 10_000)
        size = 400
        for attempt, delay in enumerate((0.0, 0.001, 0.005, 0.01, 0.02, 0.04)):
            numbers = range(attempt * size, (attempt + 1) * size)
            task = asyncio.create_task(store.write(sample(run, numbers)))
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.wait([task])
            there = set(await stored_numbers(store, run)) & set(numbers)
            assert len(there) in (0, size), f"cancelled after {delay} s, {len(there)} of {size} tasks are stored"
            await store.write(sample(run, numbers))
        assert await stored_numbers(store, run) == list(range(6 * size)), "tasks are missing after cancelled writes"


async def check_retry(opened: OpenStore) -> None:
    """A batch may be written again, whole or mixed with new tasks: nothing is stored twice."""
    async with await opened() as store:
        run, other = await begin(store), await begin(store)
        await store.write(sample(run, range(4)))
        assert await store.write(sample(run, range(4))) == 0, "a second attempt stores tasks again"
        assert await store.write(sample(run, range(2, 7))) == 3, "a mixed batch does not store just what is new"
        assert await stored_numbers(store, run) == list(range(7))
        assert len(await store.training()) == 7, "labels are missing or doubled"
        taken = sample(run, [0])
        foreign = taken._replace(tasks=[taken.tasks[0]._replace(run_id=other.id)])
        await refused(lambda: store.write(foreign), "another run's task of the same id")
        await store.end_run(run.id, "finished")
        await store.end_run(run.id, "failed", {"late": 1})
        ended = await store.run(run.id)
        assert ended is not None, "the run is gone"
        assert (ended.status, ended.summary) == ("finished", None), f"a run ended twice: {ended}"
        await refused(lambda: store.end_run(10**6, "finished"), "the end of a run that does not exist")


async def check_concurrent_writes(opened: OpenStore) -> None:
    """Two processes write, a third reads: it sees whole tasks only, and nothing is lost."""
    async with await opened() as one, await opened() as two, await opened() as reader:
        runs = [await begin(one), await begin(two)]
        pairs = [(one, runs[0]), (two, runs[1])] * 20
        writing = asyncio.gather(*(store.write(sample(run, [index // 2])) for index, (store, run) in enumerate(pairs)))
        while not writing.done():
            for run in runs:
                await stored_numbers(reader, run)
        await writing
        for run in runs:
            assert await stored_numbers(reader, run) == list(range(20)), "tasks are missing"


async def check_huge_ids(opened: OpenStore) -> None:
    """Ids up to 2^63 - 1; beyond that the caller is told."""
    async with await opened() as store:
        run = await begin(store, BEYOND - 1000)
        number = BEYOND - 1001
        await store.write(sample(run, [number]))
        assert await stored_numbers(store, run) == [number], "a huge id is not read as it was written"
        await refused(lambda: begin(store, 10_000), "a reservation beyond 2^63 - 1")
        huge = sample(run, [BEYOND])
        for what, call in {
            "task id 2^63": lambda: store.write(huge),
            "task id -1": lambda: store.write(sample(run, [-1 - run.first_task_id])),
            "run id 2^63": lambda: store.run(BEYOND),
            "page before 2^63": lambda: store.comparative(1, before=BEYOND),
            "seed 2^63": lambda: store.begin_run("live", seed=BEYOND, configuration={}, schedulers=()),
            "limit 0": lambda: store.comparative(0),
            "limit 10^9": lambda: store.training(10**9),
            "limit true": lambda: store.runs(True),
        }.items():
            await refused(call, what)


async def check_bad_texts(opened: OpenStore) -> None:
    """Texts and words that no database should see."""
    async with await opened() as store:
        run = await begin(store)
        for what, call in {
            "an unknown kind": lambda: begin(store, kind="dream"),
            "an unknown status": lambda: store.end_run(run.id, "done"),
            "a NUL in a name": lambda: store.write(sample(run, [0], ["a\0b"])),
            "half a character in a name": lambda: store.write(sample(run, [0], ["\ud800"])),
            "an empty name": lambda: store.write(sample(run, [0], [""])),
            "a configuration that is not JSON": lambda: store.begin_run(
                "live", seed=1, configuration={"a": object()}, schedulers=()
            ),
            "a time without zone": lambda: store.submit(
                [SubmittedTask(run.first_task_id, run.id, 1.0, 0.5, 1.0, (), datetime(2024, 1, 1))]
            ),
        }.items():
            await refused(call, what)
        assert len(await store.runs()) == 1, "a refused run was stored"
