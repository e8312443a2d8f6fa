"""Opening a store: what is made, what is refused, and what the messages say."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from databases import run_sql

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import Store, StoreError, StoreUnavailableError, create_store, open_store
from hybrid_scheduler.testing.store.samples import begin

PASSWORD = "hunter2-%&"


def open_and_close(url: str, *, create: bool = True) -> str:
    """Gives the kind of database it was."""

    async def use() -> str:
        async with await open_store(url, create=create) as store:
            await store.ping()
            return store.backend

    return asyncio.run(use())


def test_folders_and_file_are_made(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/new folder/50%/ä?#.db"
    with pytest.raises(StoreError, match="there is no store in"):
        open_and_close(url, create=False)
    assert list(tmp_path.iterdir()) == []
    url = f"sqlite+aiosqlite:///{tmp_path}/new folder/50%25/ä%3F%23.db"
    assert asyncio.run(create_store(url))
    assert not asyncio.run(create_store(url))
    open_and_close(url, create=False)


def test_nobody_else_may_look_inside(tmp_path: Path) -> None:
    folder = tmp_path / "new"

    async def modes() -> dict[str, str]:
        async with await open_store(f"sqlite+aiosqlite:///{folder}/store.db") as store:
            await begin(store)
            return {path.name: f"{path.stat().st_mode & 0o777:o}" for path in (folder, *folder.iterdir())}

    assert asyncio.run(modes()) == {
        "new": "700",
        "store.db": "600",
        "store.db-wal": "600",
        "store.db-shm": "600",
        "store.db-reserve": "600",
    }


def test_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_and_close("sqlite:///data/store.db")
    assert (tmp_path / "data" / "store.db").is_file()


def test_an_address_without_its_driver_will_do(postgres_url: str) -> None:
    assert open_and_close(postgres_url.replace("postgresql+asyncpg", "postgres")) == "PostgreSQL"
    assert open_and_close(postgres_url.replace("+asyncpg", ""), create=False) == "PostgreSQL"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "is not a URL"),
        (f"no url {PASSWORD}", "is not a URL"),
        (f"postgresql://user:{PASSWORD}@host:port/x", "is not a URL"),
        ("mysql://u:hunter2@host/x", r"mysql://u:\*\*\*@host/x is of an unknown kind"),
        ("sqlite://", "must be a file"),
        ("sqlite+aiosqlite:///:memory:", "must be a file"),
        ("sqlite+aiosqlite:///x.db?mode=ro", "must be a file and nothing else"),
        ("postgresql://u:hunter2@host", "names no database"),
    ],
)
def test_bad_addresses(url: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says) as caught:
        open_and_close(url)
    assert "hunter2" not in str(caught.value)


def test_nobody_listens() -> None:
    with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:1/races does not answer") as caught:
        open_and_close("postgresql+asyncpg://user:hunter2@127.0.0.1:1/races")
    assert "hunter2" not in str(caught.value)


def test_a_server_that_does_not_know_us(postgres_folder: Path, postgres_url: str) -> None:
    for url, says in (
        (f"postgresql+asyncpg://postgres@/nowhere?host={postgres_folder}", '"nowhere" does not exist'),
        (f"postgresql+asyncpg://nobody:hunter2@/postgres?host={postgres_folder}", '"nobody" does not exist'),
    ):
        with pytest.raises(StoreUnavailableError, match=says) as caught:
            open_and_close(url)
        assert "hunter2" not in str(caught.value)
        assert str(postgres_folder) in str(caught.value)


def test_not_a_database(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("Dear diary, " * 1000)
    with pytest.raises(StoreError, match=r"notes\.db is damaged: file is not a database"):
        open_and_close(f"sqlite+aiosqlite:///{file}")
    assert file.read_text().startswith("Dear diary")
    with pytest.raises(StoreError, match=str(tmp_path)):
        open_and_close(f"sqlite+aiosqlite:///{tmp_path}")
    with pytest.raises(StoreError, match=r"notes\.db/store\.db cannot be made: (Not a directory|File exists)"):
        open_and_close(f"sqlite+aiosqlite:///{file}/store.db")


def test_someone_elses_database_is_left_alone(postgres_url: str) -> None:
    run_sql(postgres_url, "CREATE TABLE theirs (id int)", "INSERT INTO theirs VALUES (1)")
    open_and_close(postgres_url)
    assert len(run_sql(postgres_url, "SELECT * FROM theirs")) == 1


def test_processes_that_make_it_at_the_same_time(database_url: str) -> None:
    """Each opens the store, which nobody has made yet, and begins a run: all succeed, with ids of their own."""
    code = (
        "import asyncio, sys, time\n"
        "from hybrid_scheduler.store import open_store\n"
        "async def main():\n"
        "    async with await open_store(sys.argv[1]) as store:\n"
        "        run = await store.begin_run('live', seed=1, configuration={}, schedulers=[], reserve=10)\n"
        "        print(run.first_task_id)\n"
        "time.sleep(max(0.0, float(sys.argv[2]) - time.time()))\n"
        "asyncio.run(main())\n"
    )
    start = str(time.time() + 2.0)
    command = [sys.executable, "-c", code, database_url, start]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    found = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sorted(map(int, found)) == [0, 10, 20, 30]


def test_what_a_store_says_about_itself(tmp_path: Path, postgres_url: str) -> None:
    async def facts(store: Store) -> tuple[str, str, str | None, bool]:
        async with store:
            return store.backend, store.address, await store.revision(), await store.size() > 10_000

    async def both() -> None:
        file = tmp_path / "x.db"
        assert await facts(await open_store(f"sqlite:///{file}")) == ("SQLite", str(file), "0006", True)
        backend, address, *rest = await facts(await open_store(postgres_url))
        assert (backend, rest) == ("PostgreSQL", ["0006", True])
        assert address.endswith(postgres_url.partition("@/")[2].partition("?")[0])

    asyncio.run(both())
