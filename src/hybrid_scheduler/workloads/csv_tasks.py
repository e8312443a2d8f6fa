"""From parsed columns to tasks, with the checks that need more than one cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray, InvalidInputError, TaskBatch
from hybrid_scheduler.model.task import Dependency, split_dependencies
from hybrid_scheduler.workloads.csv_cells import CsvFile
from hybrid_scheduler.workloads.cycles import find_cycle

COLUMNS = (
    "task_id",
    "size",
    "compute_intensity",
    "memory_required",
    "arrival_time",
    "duration_estimate",
    "dependencies",
    "kind",
)
"""The columns of a trace, in the order they are written."""


def task_column_names(header: tuple[str, ...]) -> dict[str, str]:
    """Which column of the file (value) is which task column (key); `task_size` is another name of `size`.

    A file may have both, as a table by `WorkloadGenerator.to_dataframe` does; `build_tasks` checks that they agree.
    """
    names = {name: name for name in COLUMNS if name in header}
    if "task_size" in header:
        names["task_size" if "size" in header else "size"] = "task_size"
    return names


def build_tasks(file: CsvFile, names: dict[str, str], filled: dict[str, FloatArray]) -> TaskBatch:
    """Check ids and parents, and pack the tasks.

    Args:
        file: The file read.
        names: From `task_column_names`.
        filled: Columns that take the place of absent ones.
    """
    columns: dict[str, Any] = {**filled, **{name: file.columns[column] for name, column in names.items()}}
    refuse_two_sizes(file, columns["size"], columns.pop("task_size", columns["size"]))
    ids: IntArray = columns.setdefault("task_id", np.arange(len(file), dtype=np.int64))
    _refuse_twins(file, ids)
    dependencies: list[tuple[Dependency, ...]] | None = columns.get("dependencies")
    if dependencies is not None:
        _refuse_strangers(file, ids, dependencies)
    try:
        return TaskBatch.from_columns(**columns)
    except InvalidInputError as error:
        raise _cycle_error(file, ids, dependencies or [], error) from error


def row_of_each(ids: IntArray, tasks: TaskBatch) -> IntArray:
    """For every task of the batch, its row in the file."""
    by_id = np.argsort(ids)
    rows: IntArray = by_id[np.searchsorted(ids[by_id], tasks.task_id)]
    return rows


def refuse_two_sizes(file: CsvFile, size: FloatArray, task_size: FloatArray, first: int = 0) -> None:
    """Refuse columns `size` and `task_size` that differ; they begin with this row of the file."""
    for row in np.flatnonzero(size != task_size)[:1]:
        problem = f"{task_size[row]:g} is not the size {size[row]:g}; the columns mean the same, delete one"
        raise file.error(first + int(row), "task_size", problem)


def _refuse_twins(file: CsvFile, ids: IntArray) -> None:
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(np.diff(ids[order]) == 0)
    if len(again):
        # The first row, in the order of the file, that repeats an id.
        k = again[np.argmin(order[again + 1])]
        first = file.line(int(order[k]))
        raise file.error(int(order[k + 1]), "task_id", f"{ids[order[k]]} is the id of line {first} too; ids are unique")


def _refuse_strangers(file: CsvFile, ids: IntArray, dependencies: list[tuple[Dependency, ...]]) -> None:
    known: set[int] | None = None
    for row, parents in enumerate(dependencies):
        if not parents:
            continue
        known = known or set(ids.tolist())
        for parent in split_dependencies(parents)[0]:
            if parent not in known:
                problem = f"parent {parent} is not the id of any task; add the task or remove the dependency"
                raise file.error(row, "dependencies", problem)


def _cycle_error(
    file: CsvFile, ids: IntArray, dependencies: list[tuple[Dependency, ...]], error: InvalidInputError
) -> InvalidInputError:
    """The error about a cycle, with a line in it: that of its first task in the file."""
    parents = [split_dependencies(named)[0] for named in dependencies]
    loop = find_cycle(dict(zip(ids.tolist(), parents, strict=False)))
    if loop is not None:
        row = min(int(np.flatnonzero(ids == task)[0]) for task in loop)
        return file.error(
            row, "dependencies", f"the tasks {' -> '.join(map(str, loop))} wait for each other; break the cycle"
        )
    return InvalidInputError(f"{file.path}: {error}")
