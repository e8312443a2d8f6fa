"""A full disk: nothing is half-done, the caller is told, and clearing and pruning make room again.

SQLite's own limit of pages stands for the disk here; `benchmarks/attacks/store.py` has a small file system.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from databases import NewDatabase

from hybrid_scheduler.store import Cleared, Retention, Store, StoreLimits, StoreUnavailableError, clearing, open_store
from hybrid_scheduler.store.reserve import LEAST, LEFT_FREE, MOST, Reserve
from hybrid_scheduler.testing.store.samples import begin, sample, stored_numbers

PAGES = 700


class Disk(NamedTuple):
    """As `shutil.disk_usage` tells it."""

    total: int
    used: int
    free: int


SMALL = StoreLimits(file_pages=PAGES)


async def fill(store: Store) -> tuple[int, int]:
    """Write until the disk is full; gives the run and how many tasks are stored."""
    run, count = await begin(store, 100_000), 0

    async def write_for_ever() -> None:
        nonlocal count
        while True:
            await store.write(sample(run, range(count, count + 200)))
            count += 200

    with pytest.raises(StoreUnavailableError, match="is full") as caught:
        await write_for_ever()
    assert (caught.value.kind, caught.value.summary) == ("full", "the disk of the store is full")
    assert await stored_numbers(store, run) == list(range(count)), "the batch that did not fit left nothing"
    return run.id, count


def test_clearing_makes_room(new_sqlite: NewDatabase) -> None:
    url = new_sqlite()

    async def use() -> None:
        async with await open_store(url, limits=SMALL) as store:
            run_id, count = await fill(store)
            assert await store.clear() == Cleared(count, 2 * count, count, 0)
            run = await store.run(run_id)
            assert run is not None
            assert await store.write(sample(run, range(count, count + 400))) == 400

    asyncio.run(use())


def test_pruning_makes_room(new_sqlite: NewDatabase) -> None:
    url = new_sqlite()

    async def use() -> None:
        async with await open_store(url, limits=SMALL) as store:
            run_id, count = await fill(store)
            while await store.prune(Retention(tasks=300)):
                pass
            run = await store.run(run_id)
            assert run is not None
            assert await store.write(sample(run, range(count, count + 200))) == 200
            assert (await store.counts()).tasks == 500

    asyncio.run(use())


def test_clearing_at_once_forgets_the_same(new_sqlite: NewDatabase) -> None:
    """The last resort, when not even one step fits."""

    async def use() -> None:
        async with await open_store(new_sqlite()) as store:
            over, running = await begin(store), await begin(store)
            for run in (over, running):
                await store.write(sample(run, range(300)))
            await store.end_run(over.id, "finished")
            told: list[int] = []
            gone = await clearing._clear_at_once(store._database, lambda _, total: told.append(total))
            assert (gone, told) == (Cleared(600, 1200, 600, 1), [600])
            assert [run.id for run in await store.runs()] == [running.id]
            assert set((await store.exact_counts()).values()) == {0, 1}
            assert await store.write(sample(running, range(300, 310))) == 10
            with pytest.raises(Exception, match="FOREIGN KEY"):
                async with store._database.writing() as connection:
                    await connection.exec_driver_sql("DELETE FROM tasks")

    asyncio.run(use())


def test_no_reserve_no_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(10**12, 0, 10**11)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk)

    async def use() -> None:
        nonlocal disk
        async with await open_store(f"sqlite:///{tmp_path}/store.db") as store:
            run = await begin(store)
            reserve = tmp_path / "store.db-reserve"
            assert reserve.stat().st_size == LEAST
            await store.write(sample(run, range(5)))
            disk = disk._replace(free=LEFT_FREE - 1)
            with pytest.raises(StoreUnavailableError, match=r"8\.4 MB are left, 8\.4 MB are needed") as caught:
                await store.write(sample(run, range(5, 10)))
            assert caught.value.kind == "full"
            assert await store.acquire_lease("the owner stays the owner", 5.0)
            assert await store.prune(Retention(tasks=3)) == 2
            assert reserve.exists(), "there was no need for it"
            reserve.unlink()
            disk = disk._replace(free=LEFT_FREE + LEAST)
            with pytest.raises(StoreUnavailableError, match="is full"):
                await store.write(sample(run, range(5, 10)))
            disk = disk._replace(free=LEFT_FREE + 2 * LEAST)
            assert await store.write(sample(run, range(5, 10))) == 5
            assert reserve.stat().st_size == LEAST, "made again as soon as there is room"

    asyncio.run(use())


def test_the_reserve_is_given_up_when_room_must_be_made(tmp_path: Path) -> None:
    async def use() -> None:
        async with await open_store(f"sqlite:///{tmp_path}/store.db") as store:
            run = await begin(store)
            await store.write(sample(run, range(5)))
            full = [StoreUnavailableError("the disk is full", "full")]
            remove = clearing._remove

            async def refused_once(*arguments: object) -> object:
                if full:
                    raise full.pop()
                return await remove(*arguments)  # type: ignore[arg-type]

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(clearing, "_remove", refused_once)
                assert (await store.clear()).tasks == 5
            assert not (tmp_path / "store.db-reserve").exists()

    asyncio.run(use())


def test_the_reserve_grows_with_the_store(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    for size, reserved in ((0, LEAST), (100 << 20, 2 << 20), (1 << 40, MOST)):
        with store.open("wb") as file:
            file.truncate(size)  # takes no room
        reserve = Reserve(store)
        reserve.hold()
        assert reserve.size() == pytest.approx(reserved, rel=0.05)
    assert reserve.release(LEAST)
    assert reserve.size() == MOST - LEAST
    assert reserve.release()
    assert not reserve.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store.db"]
