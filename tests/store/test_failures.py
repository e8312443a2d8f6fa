"""What is wrong is said: damaged, a table is missing, locked, unreachable; for people and for programs."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from databases import run_sql

from hybrid_scheduler.store import Store, StoreError, StoreUnavailableError, SubmittedTask, open_store
from hybrid_scheduler.store.failures import named_failures
from hybrid_scheduler.testing.store.samples import begin, sample


def overwrite(file: Path, first: int, last: int) -> None:
    """Garbage over some of its pages."""
    with file.open("r+b") as handle:
        handle.seek(4096 * first)
        handle.write(random.Random(7).randbytes(4096 * (last - first)))


async def failure(call: Callable[[], Awaitable[Any]]) -> StoreUnavailableError:
    with pytest.raises(StoreUnavailableError) as caught:
        await call()
    return caught.value


def test_a_file_that_is_damaged_while_in_use(tmp_path: Path) -> None:
    file = tmp_path / "store.db"

    async def use() -> None:
        async with await open_store(f"sqlite:///{file}") as store, await open_store(f"sqlite:///{file}") as other:
            run = await begin(store)
            await store.write(sample(run, range(900)))
            await store.clear()
            await store.write(sample(run, range(900, 1000)))
            await other.ping()
            async with store._database.driver() as driver:
                await driver.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
            overwrite(file, 3, file.stat().st_size // 4096)
            error = await failure(lambda: other.comparative(1000))
            assert (error.kind, error.summary) == ("damaged", "the store is damaged")
            assert "restore a copy" in str(error)
            for call in (other.ping, lambda: other.write(sample(run, [1001])), lambda: begin(other)):
                assert (await failure(call)).kind == "damaged", "it is remembered: nothing more is written into it"

    asyncio.run(use())


def test_a_file_that_is_damaged_when_it_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "store.db"

    async def make() -> None:
        await (await open_store(f"sqlite:///{file}")).close()

    asyncio.run(make())
    overwrite(file, 0, file.stat().st_size // 4096)
    with pytest.raises(StoreError, match="is damaged: file is not a database; restore a copy") as caught:
        asyncio.run(make())
    assert caught.value.kind == "damaged"
    assert not isinstance(caught.value, StoreUnavailableError), "waiting will not mend it"


@pytest.mark.parametrize("table", ["tasks", "submitted_tasks", "hourly_means"])
def test_a_table_that_is_missing(database_url: str, table: str) -> None:
    async def use() -> None:
        async with await open_store(database_url) as store:
            run = await begin(store)
            await asyncio.to_thread(drop, database_url, table)
            for call in (store.ping, lambda: store.write(sample(run, [0]))):
                error = await failure(call)
                assert error.kind == "missing_table"
                assert error.summary == f"the store has no table '{table}'"
                assert f"has no table '{table}'; restore a copy" in str(error)
        with pytest.raises(StoreError, match=f"has no table '{table}'") as caught:
            await open_store(database_url)
        assert not isinstance(caught.value, StoreUnavailableError)

    asyncio.run(use())


def drop(url: str, table: str) -> None:
    if url.startswith("postgresql"):
        run_sql(url, f"DROP TABLE {table} CASCADE")
        return
    with closing(sqlite3.connect(url.partition(":///")[2])) as connection:
        connection.execute(f"DROP TABLE {table}")


def test_what_is_acknowledged_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that takes a task and has it not does not say that it has."""
    from hybrid_scheduler.store import writing

    async def nothing(*_: object) -> None:
        pass

    async def use(store: Store) -> None:
        async with store:
            run = await begin(store)
            task = SubmittedTask(run.first_task_id, run.id, 1.0, 0.5, 1.0, (), datetime.now(UTC))
            await store.submit([task])
            monkeypatch.setattr(writing, "submit", nothing)
            await store.submit([task])
            error = await failure(lambda: store.submit([task, task._replace(task_id=task.task_id + 1)]))
            assert error.kind == "damaged"
            assert f"lost task {task.task_id + 1}" in str(error)

    async def opened() -> None:
        await use(await open_store(f"sqlite:///{tmp_path}/store.db"))

    asyncio.run(opened())


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (asyncpg.DiskFullError("no space left on device"), "full"),
        (asyncpg.LockNotAvailableError("canceling statement due to lock timeout"), "locked"),
        (asyncpg.DataCorruptedError("invalid page in block 7"), "damaged"),
        (asyncpg.CannotConnectNowError("the database system is starting up"), "unreachable"),
        (asyncpg.InterfaceError("cannot perform operation: connection is closed"), "unreachable"),
        (asyncpg.InternalClientError("cannot switch to state 21; another operation (2) is in progress"), "unreachable"),
        (ConnectionRefusedError(111, "Connection refused"), "unreachable"),
        (OSError(28, "No space left on device"), "full"),
        (sqlite3.OperationalError("unable to open database file"), "unreachable"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_kinds(error: Exception, kind: str) -> None:
    with pytest.raises(StoreUnavailableError) as caught, named_failures("db.internal:5432/races"):
        raise error
    assert caught.value.kind == kind
    assert "db.internal" in str(caught.value)
    assert "db.internal" not in caught.value.summary, "this is for everybody"


def test_what_the_database_refuses_is_not_a_failure_of_the_database() -> None:
    for error in (asyncpg.NotNullViolationError("null value"), sqlite3.IntegrityError("NOT NULL constraint failed")):
        with pytest.raises(StoreError, match="refused") as caught, named_failures("x"):
            raise error
        assert not isinstance(caught.value, StoreUnavailableError)
        assert caught.value.kind == ""
