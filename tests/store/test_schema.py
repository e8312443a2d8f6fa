"""The schema: migrations and tables agree, old files open, other revisions are refused with the way out."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import golden_store
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from databases import run_sql

from hybrid_scheduler.store import Retention, StoreError, create_store, open_store, rows, schema, tables, upgrade_store
from hybrid_scheduler.store.address import read_address
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.testing.store.samples import begin, sample

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("store_v*.db"))
SECOND = '''
"""One column more."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


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
            found: list[object] = await connection.run_sync(
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
        (tables.training_data, rows.TrainingRow),
        (tables.model_versions, rows.ModelVersionRow),
        (tables.submitted_tasks, rows.SubmittedTask),
        (tables.hourly_means, rows.HourRow),
        (tables.run_means, rows.RunMeansRow),
        (tables.retrainings, rows.RetrainingRow),
        (tables.learning_figures, rows.LearningRow),
        (tables.measured_times, rows.MeasuredRow),
    ],
)
def test_rows_are_the_columns(table: sa.Table, row: type[rows.TaskRow]) -> None:
    assert tuple(table.columns.keys()) == row._fields


def test_rows_are_the_columns_but_what_the_store_adds() -> None:
    assert tuple(tables.scheduler_results.columns.keys()) == ("id", *rows.ResultRow._fields)
    assert tuple(tables.tasks.columns.keys()) == (*rows.TaskRow._fields, "stored")


def test_there_is_a_golden_database_of_every_schema() -> None:
    assert len(GOLDEN) == len(schema._known())
    assert all(file.stat().st_size < 110_000 for file in GOLDEN)


LATER = {
    "store_v1.db": ("reason", "duration_estimate", "kind", "ready_time", "queue_seconds", "decided_time", "overtaken"),
    "store_v2.db": ("duration_estimate", "kind", "ready_time", "queue_seconds", "decided_time", "overtaken"),
    "store_v3.db": ("decided_time", "overtaken"),
    "store_v4.db": ("decided_time", "overtaken"),
}
"""Columns that a schema does not have yet; nobody knows what would stand in them."""


def _known_then(golden: Path, row: Any) -> Any:
    return row._replace(**{name: None for name in LATER.get(golden.name, ()) if name in row._fields})


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
            assert [each.task for each in found] == [_known_then(golden, row) for row in batch.tasks]
            expected = [_known_then(golden, row) for row in batch.results]
            assert [row for each in found for row in each.results] == expected
            assert list(reversed(await store.training())) == batch.training
            assert await store.submitted() == [golden_store.submitted_to(live)]
            assert [(each.scheduler_name, each.r2, each.mae) for each in await store.model_versions()] == [
                ("hybrid_ml", 0.75, None)
            ]
            noted = golden.name not in ("store_v1.db", "store_v2.db", "store_v3.db")
            assert await store.analysis.retrainings() == ([golden_store.RETRAINING] if noted else [])
            assert await store.analysis.learning() == ([golden_store.LEARNING] if noted else [])
            kept = await store.measured_times([golden_store.MEASURED.hardware])
            assert kept == ([golden_store.MEASURED] if golden.name >= "store_v6.db" else [])
            assert await store.interrupt_live_runs() == [live.id]
            assert [task.crashes for task in await store.submitted()] == [1]
            run = await begin(store)
            assert run.first_task_id == live.first_task_id + golden_store.TASKS + 1
            assert await store.write(sample(run, range(3))) == 3
            assert await store.acquire_lease("us", 1)
            while await store.prune(Retention(tasks=2)):
                pass
            assert [each.task.task_id for each in await store.comparative(100)] == [
                run.first_task_id + 2,
                run.first_task_id + 1,
            ]

    asyncio.run(use())


def test_an_old_file_can_shrink_once_it_is_upgraded(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    shutil.copy(GOLDEN[0], file)
    url = f"sqlite+aiosqlite:///{file}"

    async def use() -> int:
        with pytest.raises(StoreError, match="run 'hms db upgrade'"):
            await open_store(url)
        assert await upgrade_store(url) == ("0001", "0006")
        async with await open_store(url) as store:
            run = await begin(store, 10_000)
            await store.write(sample(run, range(2000)))
            largest = await store.size()
            await store.clear()
            return largest

    largest = asyncio.run(use())
    assert file.stat().st_size < largest / 5
    assert not file.with_name("old.db-wal").exists()


def test_days_of_tasks_that_are_older_than_the_column(tmp_path: Path) -> None:
    """Nobody knows when they were stored; their run's end is the latest it can have been."""
    file = tmp_path / "old.db"
    shutil.copy(GOLDEN[0], file)
    url = f"sqlite+aiosqlite:///{file}"
    ended = datetime(2026, 3, 1, tzinfo=UTC)

    async def left(now: datetime) -> int:
        async with await open_store(url, clock=lambda: now) as store:
            while await store.prune(Retention(days=10)):
                pass
            return (await store.counts()).tasks

    asyncio.run(upgrade_store(url))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE runs SET ended = ? WHERE kind = 'compare'", (f"{ended:%Y-%m-%d %H:%M:%S}.000000",))
        connection.commit()
    assert asyncio.run(left(ended + timedelta(days=9))) == golden_store.TASKS
    assert asyncio.run(left(ended + timedelta(days=11))) == 0


def test_an_older_schema_names_the_command(database_url: str, next_schema: Path) -> None:
    later = schema.MIGRATIONS
    schema.MIGRATIONS = Path(schema.__file__).parent / "migrations"
    assert asyncio.run(create_store(database_url))
    schema.MIGRATIONS = later
    for create in (True, False):
        with pytest.raises(StoreError, match=r"has schema 0006, but this version needs 0007; run 'hms db upgrade'"):
            asyncio.run(open_store(database_url, create=create))
    assert asyncio.run(upgrade_store(database_url)) == ("0006", "0007")
    assert asyncio.run(upgrade_store(database_url)) == ("0007", "0007")


def test_a_newer_schema_is_refused(database_url: str, next_schema: Path) -> None:
    asyncio.run(create_store(database_url))
    schema.MIGRATIONS = Path(schema.__file__).parent / "migrations"
    with pytest.raises(StoreError, match=r"has schema 0007, which this version does not know \(it needs 0006\)"):
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
