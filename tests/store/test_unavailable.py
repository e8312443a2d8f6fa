"""A database that goes away: the caller is told, nothing is half-done, and the same call works afterwards."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sqlite3
import time
from pathlib import Path

import asyncpg
import pytest

from hybrid_scheduler.store import Store, StoreLimits, StoreUnavailableError, connect, open_store
from hybrid_scheduler.testing.store.samples import begin, sample, stored_numbers

OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> {me}"


async def postgres(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url.replace("+asyncpg", ""))


async def cut_off(connection: asyncpg.Connection) -> None:
    """End every other connection to the database."""
    await connection.execute(OTHERS.format(me=connection.get_server_pid()))


def test_connections_that_died_idle_are_replaced(postgres_url: str) -> None:
    async def use() -> None:
        admin = await postgres(postgres_url)
        async with await open_store(postgres_url) as store:
            run = await begin(store)
            for number in range(3):
                await cut_off(admin)
                assert await store.write(sample(run, [number])) == 1
            await cut_off(admin)
            assert await stored_numbers(store, run) == [0, 1, 2]
        await admin.close()

    asyncio.run(use())


@pytest.mark.parametrize("tasks", [10, 25_000], ids=["few", "more than the connection holds"])
@pytest.mark.parametrize(
    ("table", "lock"),
    [
        ("id_counter", "EXCLUSIVE"),
        ("tasks", "EXCLUSIVE"),  # it may be read: the write gets as far as its COPY
        ("scheduler_results", "EXCLUSIVE"),
        ("submitted_tasks", "ACCESS EXCLUSIVE"),
    ],
)
def test_a_connection_that_dies_during_a_write(postgres_url: str, table: str, lock: str, tasks: int) -> None:
    """The write waits for a lock, so it is certain where it is when its connection is cut."""

    async def use() -> None:
        admin = await postgres(postgres_url)
        async with await open_store(postgres_url) as store:
            run = await begin(store, reserve=tasks)
            transaction = admin.transaction()
            await transaction.start()
            await admin.execute(f"LOCK TABLE {table} IN {lock} MODE")
            writing = asyncio.create_task(store.write(sample(run, range(tasks))))
            await until_somebody_waits(admin)
            await cut_off(admin)
            with pytest.raises(StoreUnavailableError, match="does not answer"):
                async with asyncio.timeout(30):
                    await writing
            await transaction.rollback()
            assert (await store.exact_counts())["tasks"] == 0
            assert await store.write(sample(run, range(tasks))) == tasks
            assert (await store.exact_counts())["tasks"] == tasks
        await admin.close()

    asyncio.run(use())


def test_a_write_on_a_connection_that_the_server_is_closing(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the driver behaves when the server has said that it ends the connection, and has not done so yet."""

    async def confused(self: asyncpg.Connection, *_: object, **__: object) -> str:
        raise asyncpg.InternalClientError("cannot switch to state 21; another operation (2) is in progress")

    async def use() -> None:
        async with await open_store(postgres_url) as store:
            run = await begin(store)
            with monkeypatch.context() as patch:
                patch.setattr(asyncpg.Connection, "copy_records_to_table", confused)
                with pytest.raises(StoreUnavailableError, match="does not answer"):
                    await store.write(sample(run, range(10)))
            assert await store.write(sample(run, range(10))) == 10

    asyncio.run(use())


async def until_somebody_waits(admin: asyncpg.Connection) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    for _ in range(500):
        if await admin.fetchval(waiting):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the write never waited for the lock")


def test_a_lock_that_is_never_released(postgres_url: str) -> None:
    async def use() -> None:
        admin = await postgres(postgres_url)
        async with await open_store(postgres_url, limits=StoreLimits(lock_seconds=1.0)) as store:
            await begin(store)
            async with admin.transaction():
                await admin.execute("SELECT * FROM id_counter FOR UPDATE")
                with pytest.raises(StoreUnavailableError, match="lock timeout") as caught:
                    await begin(store)
                assert caught.value.kind == "locked"
                assert await store.acquire_lease("the lease waits for no writer", 5)
            await begin(store)
        await admin.close()

    asyncio.run(use())


def test_no_connections_any_more(postgres_url: str) -> None:
    name = postgres_url.partition("@/")[2].partition("?")[0]

    async def use() -> None:
        admin = await postgres(postgres_url)
        other = await postgres(postgres_url.replace(name, "postgres"))
        async with await open_store(postgres_url) as store:
            await store.ping()
            await other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            await cut_off(admin)
            for call in (store.ping, store.counts, store.clear, store.runs):
                with pytest.raises(StoreUnavailableError):
                    await call()
            await other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            await store.ping()
        await admin.close()
        await other.close()

    asyncio.run(use())


def test_ping_does_not_wait_for_ever(postgres_url: str) -> None:
    """A server that takes connections and says nothing."""

    async def use() -> None:
        store = await open_store(postgres_url)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            address = store._database.address
            url = address.url.set(host="127.0.0.1", port=port, query={})
            mute = Store(connect.Database(address._replace(url=url, shown=f"127.0.0.1:{port}/x")))
            began = time.perf_counter()
            with pytest.raises(StoreUnavailableError, match=f"127.0.0.1:{port}/x does not answer"):
                await mute.ping()
            assert 1.5 < time.perf_counter() - began < 20
            await mute.close()
        await store.close()

    asyncio.run(use())


def test_a_locked_sqlite_file(tmp_path: Path) -> None:
    file = tmp_path / "store.db"

    async def use() -> None:
        async with await open_store(f"sqlite:///{file}", limits=StoreLimits(lock_seconds=0.2)) as store:
            run = await begin(store)
            other = sqlite3.connect(file, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailableError, match=r"store\.db is locked: database is locked") as caught:
                await store.write(sample(run, [0]))
            assert caught.value.kind == "locked"
            await store.ping()
            assert await stored_numbers(store, run) == []
            other.execute("ROLLBACK")
            other.close()
            assert await store.write(sample(run, [0])) == 1

    asyncio.run(use())


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_deleted(tmp_path: Path, replaced: bool) -> None:
    file = tmp_path / "store.db"

    async def use() -> None:
        async with await open_store(f"sqlite:///{file}") as store:
            run = await begin(store)
            copy = tmp_path / "copy.db"
            shutil.copy(file, copy)
            file.unlink()
            if replaced:
                copy.rename(file)
            for call in (store.ping, store.counts, lambda: store.write(sample(run, [0]))):
                with pytest.raises(StoreUnavailableError, match="was deleted or replaced"):
                    await call()

    asyncio.run(use())


def test_what_was_written_survives_a_kill(database_url: str) -> None:
    """A process writes and says so; it is killed at once, and another finds what it wrote."""
    import subprocess
    import sys

    code = (
        "import asyncio, sys\n"
        "from hybrid_scheduler.store import open_store\n"
        "from hybrid_scheduler.testing.store.samples import begin, sample\n"
        "async def main():\n"
        "    store = await open_store(sys.argv[1])\n"
        "    run = await begin(store)\n"
        "    for number in range(1000):\n"
        "        await store.write(sample(run, [number]))\n"
        "        print(number, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, database_url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [int(process.stdout.readline()) for _ in range(10)]
        process.kill()
        said += [int(line) for line in process.stdout if line.endswith("\n")]

    async def found() -> list[int]:
        async with await open_store(database_url, create=False) as store:
            (run,) = await store.runs()
            assert run.tasks in (len(said), len(said) + 1)
            assert await store.interrupt_live_runs() == [run.id]
            return await stored_numbers(store, run)

    assert asyncio.run(found())[: len(said)] == said


def test_nothing_is_left_open(tmp_path: Path) -> None:
    async def use() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        await asyncio.gather(*(store.counts() for _ in range(20)))
        await store.close()

    asyncio.run(use())
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["store.db"], "the log is folded into the file at the end"
