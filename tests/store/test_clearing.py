"""Clearing a long history: in short steps that others get between, with the room given back."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from databases import NewDatabase

from hybrid_scheduler.store import Cleared, open_store
from hybrid_scheduler.testing.store.samples import begin, sample, stored_numbers


def test_files_shrink_and_the_log_stays_small(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    log = tmp_path / "store.db-wal"

    async def use() -> None:
        async with await open_store(f"sqlite:///{file}") as store:
            run = await begin(store, 100_000)
            for first in range(0, 8000, 1000):
                await store.write(sample(run, range(first, first + 1000)))
            before, largest = file.stat().st_size, 0

            def told(gone: Cleared, total: int) -> None:
                nonlocal largest
                largest = max(largest, log.stat().st_size)
                steps.append(gone.tasks)
                assert total == 8000

            steps: list[int] = []
            assert (await store.clear(told)).tasks == 8000
            assert steps == sorted(set(steps)), "progress only grows"
            assert len(steps) > 3, "in steps"
            assert largest < before / 2, "the log of a single transaction would be as large as what it clears"
            assert file.stat().st_size < 200_000
            assert log.stat().st_size == 0

    asyncio.run(use())


def test_others_get_their_turn_between_two_steps(new_sqlite: NewDatabase) -> None:
    async def use() -> None:
        async with await open_store(new_sqlite()) as store:
            run = await begin(store, 100_000)
            for first in range(0, 6000, 1000):
                await store.write(sample(run, range(first, first + 1000)))
            cleared, order = asyncio.Event(), []

            async def write() -> None:
                number = 6000
                while not cleared.is_set():
                    await store.write(sample(run, [number]))
                    order.append(number)
                    number += 1

            def told(gone: Cleared, _: int) -> None:
                order.append(-gone.tasks)

            writing = asyncio.create_task(write())
            began = time.perf_counter()
            await store.clear(told)
            cleared.set()
            await writing
            assert time.perf_counter() - began < 30
            between = order[order.index(0) : order.index(-6000)]
            assert sum(number > 0 for number in between) >= 3, f"nobody got between the steps: {order}"
            written = [number for number in order if number > 0]
            after = written.index(next(number for number in order[order.index(0) :] if number > 0))
            left = await stored_numbers(store, run)
            assert set(written[after + 1 :]) <= set(left), "what was stored meanwhile stays"
            assert min(left) >= 6000
            assert (await store.counts()).tasks == len(left)

    asyncio.run(use())
