"""The schema: migrations and tables agree, old files open, other revisions are refused with the way out."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path

import golden_store
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from databases import run_sql

from hybrid_scheduler.store import StoreError, create_store, open_store, rows, schema, tables, upgrade_store
from hybrid_scheduler.store.address import read_address
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.testing.store.samples import begin, sample

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("store_v*.db"))
SECOND = '''
"""One column more."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.add_column("runs", sa.Column("remark", sa.Text()))
    {more}
'''


@pytest.fixture
def next_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The code of a later version, which has one more migration; gives the file of that migration."""
    folder = tmp_path / "100% later"
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "versions" / "second.py"
    file.write_text(SECOND.format(more=""))
    monkeypatch.setattr(schema, "MIGRATIONS", folder)
    return file


def test_migrations_make_the_tables(database_url: str) -> None:
    async def differences() -> list[object]:
        await create_store(database_url)
        database = Database(read_address(database_url))
        async with database.reading() as connection:
            found = await connection.run_sync(
                lambda sync: compare_metadata(
                    MigrationContext.configure(sync, opts={"compare_type": True}), tables.metadata
                )
            )
        await database.close()
        return found

    assert asyncio.run(differences()) == []


@pytest.mark.parametrize(
    ("table", "row"),
    [
        (tables.runs, rows.RunRow),
        (tables.tasks, rows.TaskRow),
        (tables.training_data, rows.TrainingRow),
        (tables.model_versions, rows.ModelVersionRow),
        (tables.submitted_tasks, rows.SubmittedTask),
    ],
)
def test_rows_are_the_columns(table: tables.Table, row: type[rows.TaskRow]) -> None:
    assert tuple(table.columns.keys()) == row._fields


def test_result_rows_are_the_columns_but_the_number() -> None:
    assert tuple(tables.scheduler_results.columns.keys()) == ("id", *rows.ResultRow._fields)


def test_there_is_a_golden_database_of_every_schema() -> None:
    assert len(GOLDEN) == len(schema._known())
    assert all(file.stat().st_size < 100_000 for file in GOLDEN)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda file: file.name)
def test_golden_databases_open(golden: Path, tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    shutil.copy(golden, file)
    url = f"sqlite+aiosqlite:///{file}"

    async def use() -> None:
        await upgrade_store(url)
        async with await open_store(url, create=False) as store:
            live, compare = await store.runs()
            assert (compare.name, compare.status, compare.tasks) == ("golden", "finished", golden_store.TASKS)
            assert (compare.configuration, compare.summary) == (golden_store.CONFIGURATION, golden_store.SUMMARY)
            assert compare.started == golden_store.MOMENT
            batch = golden_store.batch_of(compare)
            found = list(reversed(await store.comparative(100)))
            assert [each.task for each in found] == batch.tasks
            assert [row for each in found for row in each.results] == batch.results
            assert list(reversed(await store.training())) == batch.training
            assert await store.submitted() == [golden_store.submitted_to(live)]
            assert [(each.scheduler_name, each.r2, each.mae) for each in await store.model_versions()] == [
                ("hybrid_ml", 0.75, None)
            ]
            assert await store.interrupt_live_runs() == [live.id]
            run = await begin(store)
            assert run.first_task_id == live.first_task_id + golden_store.TASKS + 1
            assert await store.write(sample(run, range(3))) == 3
            assert await store.acquire_lease("us", 1)

    asyncio.run(use())


def test_an_older_schema_names_the_command(database_url: str, next_schema: Path) -> None:
    later = schema.MIGRATIONS
    schema.MIGRATIONS = Path(schema.__file__).parent / "migrations"
    assert asyncio.run(create_store(database_url))
    schema.MIGRATIONS = later
    for create in (True, False):
        with pytest.raises(StoreError, match=r"has schema 0001, but this version needs 0002; run 'hms db upgrade'"):
            asyncio.run(open_store(database_url, create=create))
    assert asyncio.run(upgrade_store(database_url)) == ("0001", "0002")
    assert asyncio.run(upgrade_store(database_url)) == ("0002", "0002")


def test_a_newer_schema_is_refused(database_url: str, next_schema: Path) -> None:
    asyncio.run(create_store(database_url))
    schema.MIGRATIONS = Path(schema.__file__).parent / "migrations"
    with pytest.raises(StoreError, match=r"has schema 0002, which this version does not know \(it needs 0001\)"):
        asyncio.run(open_store(database_url))
    with pytest.raises(StoreError, match="a newer version wrote it"):
        asyncio.run(upgrade_store(database_url))


def test_a_migration_that_fails_leaves_the_old_schema(database_url: str, next_schema: Path) -> None:
    next_schema.write_text(SECOND.format(more='op.execute("DELETE FROM nowhere")'))
    with pytest.raises(StoreError, match="nowhere"):
        asyncio.run(create_store(database_url))
    if database_url.startswith("sqlite"):
        with sqlite3.connect(database_url.removeprefix("sqlite+aiosqlite:///")) as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE name = 'runs'").fetchall()
        connection.close()
    else:
        found = run_sql(database_url, "SELECT 1 FROM pg_tables WHERE tablename = 'runs'")
    assert found == []


def test_upgrade_needs_a_store(database_url: str) -> None:
    with pytest.raises(StoreError, match="'hms db create' makes one"):
        asyncio.run(upgrade_store(database_url))
    with pytest.raises(StoreError, match="'hms db create' makes one"):
        asyncio.run(open_store(database_url, create=False))
