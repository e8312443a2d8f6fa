"""Runs, their ids, and who runs the live engine."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial

from hybrid_scheduler.store import StoreError, SubmittedTask
from hybrid_scheduler.testing.store.samples import LEASE, OpenStore, begin, refused, sample


async def check_ids_grow(opened: OpenStore) -> None:
    """Ids in use are never given again: not after closing, nor after clearing; unused ones are, once."""
    async with await opened() as store:
        first = await begin(store, 100)
        await store.write(sample(first, range(10)))
        await store.clear()
        await store.end_run(first.id, "finished")
    async with await opened() as store:
        second = await begin(store, 100)
        assert second.id > first.id, f"run {second.id} follows run {first.id}"
        assert second.first_task_id == first.first_task_id + 10, "ids left over by the last run are not free again"
        third = await begin(store, 100)
        assert third.first_task_id == second.first_task_id + 100, "ids reserved by a run are given to another"
        await store.end_run(second.id, "failed")
        fourth = await begin(store, 5)
        assert fourth.first_task_id == third.first_task_id + 100, "ids below another run's are given again"
        await store.end_run(fourth.id, "finished")
        await store.end_run(fourth.id, "finished")
        await store.clear()
        fifth = await begin(store, 5)
        assert fifth.id > fourth.id, f"run {fifth.id} follows run {fourth.id}"
        assert fifth.first_task_id == fourth.first_task_id, "ids that were never used are not free again"


async def check_concurrent_reserve(opened: OpenStore) -> None:
    """Processes that begin runs at the same time get ids of their own."""
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(await opened()) for _ in range(3)]
        begun = await asyncio.gather(*(begin(stores[i % 3], 10) for i in range(30)))
        starts = sorted(run.first_task_id for run in begun)
        assert starts == list(range(starts[0], starts[0] + 300, 10)), f"ids overlap or have gaps: {starts}"


async def check_interrupted(opened: OpenStore) -> None:
    """Live runs whose process died are found; other kinds, and runs that ended, stay as they are."""
    async with await opened() as store:
        ended, compare, dead = await begin(store), await begin(store, kind="compare"), await begin(store, 10**9)
        await store.end_run(ended.id, "finished")
        await store.write(sample(dead, range(3)))
    async with await opened() as store:
        assert await store.interrupt_live_runs() == [dead.id], "the dead run was not found"
        assert await store.interrupt_live_runs() == [], "a run died twice"
        states = {run.id: run.status for run in await store.runs()}
        assert states == {ended.id: "finished", compare.id: "running", dead.id: "interrupted"}, f"{states}"
        again = await begin(store)
        assert again.first_task_id == dead.first_task_id + 3, "unused ids are not free again"
        waiting = SubmittedTask(again.first_task_id, again.id, 1.0, 0.5, 1.0, (), datetime.now(UTC))
        await store.submit([waiting])
        for crashes in (1, 2):
            await store.interrupt_live_runs()
            await store.interrupt_live_runs()
            assert [task.crashes for task in await store.submitted()] == [crashes], "crashes are miscounted"
            again = await begin(store)
        await store.end_run(again.id, "finished")
        await store.interrupt_live_runs()
        assert await store.submitted() == [waiting], "crashes are counted beyond a run that finished"


async def check_lease(opened: OpenStore) -> None:
    """One owner at a time; it passes on when released or expired, and the old owner is told."""
    async with await opened() as one, await opened() as two:
        asked = await asyncio.gather(*(store.acquire_lease(f"{i}", 30) for i, store in enumerate((one, two) * 5)))
        assert asked.count(True) == 1, f"{asked.count(True)} of 10 got the lease at once"
        owner = str(asked.index(True))
        assert await two.acquire_lease(owner, 30), "the owner cannot ask again"
        assert not await two.acquire_lease("b", 30), "the lease was taken from its owner"
        assert not await two.release_lease("b"), "somebody else released the lease"
        assert not await two.renew_lease("b", 30), "somebody else renewed the lease"
        assert await one.release_lease(owner)
        assert await two.acquire_lease("b", LEASE), "a released lease is not free"
        assert await two.renew_lease("b", LEASE), "the owner cannot renew"
        assert not await one.acquire_lease("c", 30), "the lease was taken before it expired"
        await asyncio.sleep(LEASE + 0.1)
        assert await one.acquire_lease("c", 30), "an expired lease is not free"
        assert not await two.renew_lease("b", 30), "the old owner is not told that it lost the lease"
        for seconds in (0.0, -1.0, float("nan"), 1e9):
            await refused(partial(one.acquire_lease, "c", seconds), f"a lease of {seconds} seconds")


async def check_closed(opened: OpenStore) -> None:
    """Closing twice is fine; two stores on one database do not close each other."""
    one, two = await opened(), await opened()
    await one.close()
    await one.close()
    try:
        await two.ping()
    except StoreError as error:
        raise AssertionError("closing one store has closed another") from error
    finally:
        await two.close()
