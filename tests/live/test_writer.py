"""The engine's door to the store: in order, bounded, patient, and only as long as the lease is ours."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from databases import NewDatabase
from live_service import until

from hybrid_scheduler.live.clearing import Clearing
from hybrid_scheduler.live.writer import (
    ASK_SECONDS,
    DEFAULT_LIMITS,
    LEASE_SECONDS,
    LostLeaseError,
    Writer,
    WriterLimits,
)
from hybrid_scheduler.store import Batch, Retention, RunRow, Store, StoreLimits, StoreUnavailableError, open_store
from hybrid_scheduler.testing.store.samples import SCHEDULERS, begin, sample

Said = list[tuple[str, str]]
SMALL = StoreLimits(file_pages=700)


@contextmanager
def opened(
    url: str, owner: str = "me", limits: WriterLimits = DEFAULT_LIMITS, **history: float
) -> Iterator[tuple[Writer, Said]]:
    said: Said = []
    retention = Retention(**history)  # type: ignore[arg-type]
    writer = Writer(url, owner, lambda level, line: said.append((level, line)), retention, limits)
    writer.open()
    try:
        yield writer, said
    finally:
        writer.close()


def begun(writer: Writer) -> RunRow:
    until(lambda: writer.owned, "the lease")
    return writer.in_turn(lambda store: begin(store, reserve=10_000)).result(10)


def batch(run: RunRow, first: int, count: int) -> Batch:
    return sample(run, range(first, first + count))


def test_what_is_queued_is_stored_in_order(database_url: str) -> None:
    with opened(database_url) as (writer, said):
        run = begun(writer)
        for first in range(0, 3000, 100):
            writer.put(batch(run, first, 100))
        counts = writer.in_turn(lambda store: store.exact_counts()).result(20)
        assert counts["tasks"] == 3000
        assert writer.flush(1.0)
        assert (writer.waiting, writer.stored) == (0, 3000)
        assert said == []


def test_a_slow_store_makes_the_engine_wait(new_sqlite: NewDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = {"open": False}
    write = Store.write

    async def slowly(store: Store, rows: Batch) -> int:
        while not gate["open"]:
            await asyncio.sleep(0.01)
        return await write(store, rows)

    monkeypatch.setattr(Store, "write", slowly)
    with opened(new_sqlite(), limits=WriterLimits(waiting_tasks=500, slow_seconds=0.1)) as (writer, _):
        run = begun(writer)
        for first in range(0, 500, 50):
            assert not writer.full
            writer.put(batch(run, first, 50))
        assert writer.full
        assert not writer.flush(0.15)
        assert writer.slow
        assert writer.available, "slow is not away"
        gate["open"] = True
        assert writer.flush(10.0)
        assert not writer.full
        assert writer.stored == 500  # type: ignore[unreachable]


def test_a_store_that_is_away_is_asked_until_it_answers(
    new_sqlite: NewDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {"times": 4}
    write = Store.write

    async def failing(store: Store, rows: Batch) -> int:
        if left["times"]:
            left["times"] -= 1
            # The last of them has written: the answer got lost.
            if not left["times"]:
                await write(store, rows)
            raise StoreUnavailableError("away")
        return await write(store, rows)

    monkeypatch.setattr(Store, "write", failing)
    with opened(new_sqlite()) as (writer, said):
        run = begun(writer)
        writer.put(batch(run, 0, 10))
        impatient = writer.in_turn(_away, patient=False)
        assert writer.flush(10.0)
        assert isinstance(impatient.exception(5.0), StoreUnavailableError)
        assert writer.at_once(lambda store: store.exact_counts()).result(20.0)["tasks"] == 10
        assert not writer.failed
    assert [level for level, _ in said].count("warning") >= 1
    assert ("info", "the store answers again") in said


async def _away(store: Store) -> None:
    raise StoreUnavailableError("away")


def test_rows_the_store_refuses_are_said_and_end_it(new_sqlite: NewDatabase) -> None:
    with opened(new_sqlite()) as (writer, said):
        run = begun(writer)
        writer.put(Batch(batch(run, 0, 1).tasks, []))
        until(lambda: writer.failed, "its end")
        assert "no result" in writer.failed
        assert not writer.flush(0.1)
    assert said[0][0] == "error"


def test_old_tasks_are_pruned_between_batches(database_url: str) -> None:
    with opened(database_url, tasks=250) as (writer, said):
        run = begun(writer)
        for first in range(0, 2000, 100):
            writer.put(batch(run, first, 100))
        assert writer.flush(20.0)
        until(lambda: _counted(writer) == 250, "pruning")
        hours = writer.at_once(lambda store: store.hourly_means(scheduler=SCHEDULERS[0])).result(20.0)
        assert sum(hour.tasks for hour in hours) == 2000
        assert said == []


def test_a_full_disk_is_waited_for_and_cleared(new_sqlite: NewDatabase) -> None:
    with opened(new_sqlite(), limits=WriterLimits(renew_seconds=0.05, store=SMALL)) as (writer, said):
        run = begun(writer)
        number = 0
        while not writer.disk_full:
            writer.put(batch(run, number, 100))
            number += 100
            until(lambda: writer.waiting < 300 or writer.disk_full, "room in the queue")
        assert (writer.available, writer.problem) == (False, "the disk of the store is full")
        time.sleep(0.5)  # the lease is renewed meanwhile: that some questions are answered does not make it well
        assert writer.problem == "the disk of the store is full"
        clearing = Clearing(writer)
        clearing.begin()
        gone = clearing.ended.result(20.0)
        assert writer.flush(20.0)
        assert gone.tasks + _counted(writer) == number, "what was queued is stored"
        assert (writer.available, writer.problem) == (True, "")
    assert [level for level, _ in said] == ["warning", "info"]
    assert said[0][1].startswith("the disk of the store is full, the engine waits: ")


def test_a_full_disk_makes_room_by_itself_when_something_is_beyond_a_limit(new_sqlite: NewDatabase) -> None:
    # Only a full disk makes it look.
    with opened(new_sqlite(), limits=WriterLimits(look_tasks=10**9, store=SMALL), tasks=300) as (writer, _):
        run = begun(writer)
        for first in range(0, 6000, 100):
            writer.put(batch(run, first, 100))
        assert writer.flush(60.0)
        assert _counted(writer) >= 300
        assert writer.problem == ""


def test_a_locked_store_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with opened(f"sqlite:///{file}", limits=WriterLimits(store=StoreLimits(lock_seconds=0.2))) as (writer, _):
        run = begun(writer)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.put(batch(run, 0, 5))
            until(lambda: writer.problem == "the store is locked by another program", "the problem")
            other.execute("ROLLBACK")
        assert writer.flush(20.0)
        until(lambda: writer.problem == "", "the end of it")


def test_a_store_that_does_not_answer_is_a_problem_before_it_fails(new_sqlite: NewDatabase) -> None:
    with opened(new_sqlite(), limits=WriterLimits(silent_seconds=0.1)) as (writer, _):
        begun(writer)
        slow = writer.at_once(_slowly)
        until(lambda: "has not answered for" in writer.problem, "the problem")
        assert writer.available
        slow.result(20.0)
        until(lambda: writer.problem == "", "the end of it")


async def _slowly(store: Store) -> None:
    await asyncio.sleep(1.0)


def _counted(writer: Writer) -> int:
    return writer.at_once(lambda store: store.counts()).result(20.0).tasks


def test_who_loses_the_lease_writes_nothing_more(database_url: str) -> None:
    with opened(database_url) as (writer, _):
        run = begun(writer)

        async def take() -> None:
            async with await open_store(database_url) as store:
                await store.release_lease("me")
                assert await store.acquire_lease("somebody else", 60.0)

        asyncio.run(take())
        writer.put(batch(run, 0, 5))
        ending = writer.in_turn(lambda store: store.end_run(run.id, "finished"))
        until(lambda: writer.failed, "its end")
        assert "another process" in writer.failed
        assert not ending.done() or isinstance(ending.exception(), LostLeaseError)

        async def look() -> tuple[int, str | None]:
            async with await open_store(database_url) as store:
                found = await store.run(run.id)
                return (await store.exact_counts())["tasks"], found and found.status

        assert asyncio.run(look()) == (0, "running")


def test_the_lease_goes_to_one_and_then_to_the_next(database_url: str) -> None:
    with opened(database_url, "one") as (one, _):
        until(lambda: one.owned, "the lease")
        with opened(database_url, "two") as (two, _):
            until(lambda: two.asked, "an answer")
            time.sleep(2 * ASK_SECONDS)
            assert not two.owned
            one.close()
            began = time.monotonic()
            until(lambda: two.owned, "the lease")
            assert time.monotonic() - began < LEASE_SECONDS, "it was given back, not left to expire"
