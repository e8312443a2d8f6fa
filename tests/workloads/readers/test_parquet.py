"""Parquet files have the columns of the CSV format and its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sample_files import put, write_parquet

from hybrid_scheduler.model import InvalidInputError, Task
from hybrid_scheduler.workloads.readers.parquet import ParquetReader

COLUMNS: dict[str, Any] = {
    "task_id": [7, 3, 9],
    "size": [500.0, 1000.0, 250.5],
    "compute_intensity": [0.5, 0.25, 1.0],
    "memory_required": [20, 10, 0],
    "arrival_time": [1.5, 0.5, 1.5],
    "duration_estimate": [0.25, 2.0, 0.125],
    "dependencies": [[], [7, 9], []],
    "kind": ["matmul", "sort", "matmul"],
}


@pytest.mark.parametrize("dependencies", [COLUMNS["dependencies"], ["[]", "[7, 9]", ""]], ids=["lists", "text"])
def test_every_column_is_read(tmp_path: Path, dependencies: object) -> None:
    path = write_parquet(tmp_path / "t.parquet", **{**COLUMNS, "dependencies": dependencies})
    file = ParquetReader().read(path, 1)
    assert file.derived == ()
    assert list(file.tasks) == [
        Task(3, 1000.0, 0.25, 10.0, 0.5, 2.0, (7, 9), "sort"),
        Task(7, 500.0, 0.5, 20.0, 1.5, 0.25, (), "matmul"),
        Task(9, 250.5, 1.0, 0.0, 1.5, 0.125, (), "matmul"),
    ]


def test_absent_columns_are_derived(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", task_size=[1000], compute_intensity=[0.5], memory_required=[1])
    file = ParquetReader().read(path, 1)
    assert file.derived == ("task_id", "arrival_time", "duration_estimate", "dependencies", "kind")
    assert list(file.tasks) == [Task(0, 1000.0, 0.5, 1.0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": [1.0, -1.0, 1.0]}, r"t\.parquet, row 2, column size: -1 must be a number from 1e-06"),
        ({"size": [1.0, None, 1.0]}, r"row 2, column size: the value is missing"),
        ({"size": ["a", "b", "c"]}, r"column size: the column is of type string, but every value must be a number"),
        ({"task_id": [1, 2, -3]}, r"row 3, column task_id: -3 must be an integer"),
        ({"task_id": [1, 1, 2], "dependencies": [[], [], []]}, r"t\.parquet: task id 1 occurs twice"),
        ({"dependencies": [[], [8], []]}, r"t\.parquet: task 3 depends on task 8, which does not exist"),
        ({"dependencies": [[3], [7], []]}, r"t\.parquet: dependency cycle: "),
        ({"dependencies": ["[]", "[7,]", ""]}, r"row 2, column dependencies: '\[7,\]' must be a JSON list"),
        ({"kind": ["a", "", "b"]}, r"column kind: '' must be a kind"),
    ],
)
def test_errors_name_row_and_column(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_parquet(tmp_path / "t.parquet", **{**COLUMNS, **change})
    with pytest.raises(InvalidInputError, match=message):
        ParquetReader().read(path, 1)


def test_broken_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"t\.parquet: not readable as Parquet"):
        ParquetReader().read(put(tmp_path, "t.parquet", b"PAR1 and then nothing"), 1)
    with pytest.raises(InvalidInputError, match="no such file"):
        ParquetReader().read(tmp_path / "absent.parquet", 1)
    with pytest.raises(InvalidInputError, match="the required column 'memory_required' is missing"):
        ParquetReader().read(write_parquet(tmp_path / "t.parquet", size=[1], compute_intensity=[1]), 1)
    path = write_parquet(tmp_path / "t.parquet", size=[], compute_intensity=[], memory_required=[])
    with pytest.raises(InvalidInputError, match="there are columns but no task"):
        ParquetReader().read(path, 1)


def test_data_is_read_from_text(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", **{**COLUMNS, "dependencies": ["", "[7, [9, 12.5]]", ""]})
    tasks = ParquetReader().read(path, 0).tasks
    assert tasks[tasks.position_of(3)].dependencies_with_data == ((7, 0.0), (9, 12.5))
    path = write_parquet(tmp_path / "t.parquet", **{**COLUMNS, "dependencies": ["", "[7, [9, -1]]", ""]})
    with pytest.raises(InvalidInputError, match=r"row 2, column dependencies: .* holds '-1' MB from task 9, but that"):
        ParquetReader().read(path, 0)
