"""Export of tables longer than a chunk, and of one that fails half-way."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

import pytest
from pyarrow import parquet

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import StoreLimits, StoreUnavailableError, open_store
from hybrid_scheduler.testing.store.samples import begin, sample


@pytest.mark.parametrize("chunk", [4, 5, 7, 100])
def test_chunks_join(database_url: str, tmp_path: Path, chunk: int) -> None:
    async def write() -> list[int]:
        async with await open_store(database_url, limits=StoreLimits(export_rows=chunk)) as store:
            run = await begin(store)
            batch = sample(run, range(0, 40, 2))
            await store.write(batch)
            for ending in ("csv", "parquet"):
                assert await store.export("tasks", tmp_path / f"tasks.{ending}") == 20
            return [task.task_id for task in batch.tasks]

    ids = asyncio.run(write())
    with (tmp_path / "tasks.csv").open(newline="") as file:
        assert [int(row["task_id"]) for row in csv.DictReader(file)] == ids
    assert parquet.read_table(tmp_path / "tasks.parquet")["task_id"].to_pylist() == ids


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    file = tmp_path / "out" / f"tasks.{ending}"
    file.parent.mkdir()
    file.write_text("what was there before")

    async def write() -> None:
        async with await open_store(f"sqlite:///{tmp_path}/store.db", limits=StoreLimits(export_rows=5)) as store:
            run = await begin(store)
            await store.write(sample(run, range(20)))
            database = store._database
            reading, calls = database.reading, iter(range(10))

            def breaks():  # type: ignore[no-untyped-def]
                if next(calls) == 2:
                    raise StoreUnavailableError("gone")
                return reading()

            monkeypatch.setattr(database, "reading", breaks)
            with pytest.raises(StoreUnavailableError):
                await store.export("tasks", str(file))

    asyncio.run(write())
    assert file.read_text() == "what was there before"
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    async def write() -> None:
        async with await open_store(f"sqlite:///{tmp_path}/store.db", limits=StoreLimits(export_rows=5)) as store:
            (tmp_path / "tasks.csv").mkdir()
            with pytest.raises(InvalidInputError, match=r"tasks\.csv: the file cannot be written"):
                await store.export("tasks", tmp_path / "tasks.csv")

    asyncio.run(write())
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith("unfinished")]
