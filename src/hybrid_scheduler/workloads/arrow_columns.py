"""Task columns of Arrow's record batches: large CSV files and Parquet files, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray
from hybrid_scheduler.model.task import (
    ID_RULE,
    TASK_RANGES,
    Dependency,
    cpu_base_durations,
    size_rule,
    split_dependencies,
)
from hybrid_scheduler.workloads.chunks import NO_DATA, NO_IDS, TaskChunk
from hybrid_scheduler.workloads.csv_cells import BadCellError
from hybrid_scheduler.workloads.csv_columns import IDS, parse_dependencies
from hybrid_scheduler.workloads.csv_tasks import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

FIGURES = ("size", "compute_intensity", "memory_required", "duration_estimate")
SOME_PARENTS = r"^\s*\[\s*[0-9]{1,16}\s*(,\s*[0-9]{1,16}\s*)*\]\s*$"

Edges = tuple[IntArray, IntArray, FloatArray]
NO_EDGES: Edges = (NO_IDS, NO_IDS, NO_DATA)


class BadRowError(Exception):
    """A row of a batch breaks a rule: which one, the column and the rule; becomes an error that names the file."""

    def __init__(self, row: int, column: str, problem: str) -> None:
        super().__init__(problem)
        self.row, self.column = row, column


def arrow_chunk(batch: pa.RecordBatch, names: Mapping[str, str], first: int) -> TaskChunk:
    """The tasks of a batch.

    Args:
        batch: It has the columns of `names`.
        names: Which column of the batch (value) is which task column (key).
        first: How many rows of the file come before.

    Raises:
        BadRowError: A value is missing, of the wrong type or out of its range.
    """
    columns = {name: batch.column(column) for name, column in names.items()}
    time_given = "duration_estimate" in columns
    figures = {name: _numbers(columns[name], name, time_given=time_given) for name in FIGURES if name in columns}
    if not time_given:
        figures["duration_estimate"] = cpu_base_durations(figures["size"], figures["compute_intensity"])
    if "task_size" in columns:
        _refuse_two_sizes(figures["size"], _numbers(columns["task_size"], "size", time_given=time_given))
    ids = _ids(columns["task_id"]) if "task_id" in columns else None
    child, parent, megabytes = _edges(columns["dependencies"]) if "dependencies" in columns else NO_EDGES
    return TaskChunk(
        figures,
        _numbers(columns["arrival_time"], "arrival_time", time_given=True) if "arrival_time" in columns else None,
        ids,
        _kinds(columns["kind"]) if "kind" in columns else {},
        first + child if ids is None else ids[child],
        parent,
        tuple(name for name in COLUMNS if name not in names),
        megabytes=megabytes,
    )


def _cast(column: Any, kind: Any, name: str, rule: str) -> Any:
    import pyarrow as pa

    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise BadRowError(row, name, f"the value is missing; it must be {rule}")
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadRowError(0, name, f"the column is of type {column.type}, but every value must be {rule}") from error


def _numbers(column: Any, name: str, *, time_given: bool) -> FloatArray:
    import pyarrow as pa

    legal, hint = size_rule(time_given=time_given) if name == "size" else (TASK_RANGES[name], "")
    values: FloatArray = _cast(column, pa.float64(), name, str(legal)).to_numpy(zero_copy_only=False)
    row = legal.first_outside(values)
    if row is not None:
        raise BadRowError(row, name, f"{values[row]:g} must be {legal}{hint}")
    return values


def _ids(column: Any) -> IntArray:
    import pyarrow as pa

    values: IntArray = _cast(column, pa.int64(), "task_id", ID_RULE).to_numpy(zero_copy_only=False)
    row = IDS.first_outside(values)
    if row is not None:
        raise BadRowError(row, "task_id", f"{values[row]} must be {ID_RULE}")
    return values


def _refuse_two_sizes(size: FloatArray, other: FloatArray) -> None:
    for row in np.flatnonzero(size != other)[:1]:
        problem = f"{other[row]:g} is not the size {size[row]:g}; the columns mean the same, delete one"
        raise BadRowError(int(row), "task_size", problem)


def _kinds(column: Any) -> dict[str, int]:
    import pyarrow as pa

    counts: dict[str, int] = {}
    for entry in _cast(column, pa.string(), "kind", "a kind").value_counts().to_pylist():
        kind = entry["values"].strip()
        counts[kind] = counts.get(kind, 0) + entry["counts"]
    if "" in counts:
        raise BadRowError(0, "kind", "'' must be a kind, like 'matmul' or 'synthetic'")
    return counts


def edges_of(dependencies: Sequence[Sequence[Dependency]]) -> Edges:
    """The rows that have parents, once for each, the ids of those parents, and the megabytes, if any are said."""
    rows = np.repeat(np.arange(len(dependencies)), [len(parents) for parents in dependencies])
    parents, megabytes = split_dependencies([parent for named in dependencies for parent in named])
    return rows, np.array(parents, dtype=np.int64), np.array(megabytes)


def _edges(column: Any) -> Edges:
    """As `edges_of`, of a column of lists of ids or of their text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lists, rows = column, None
    else:
        cells = _cast(column, pa.string(), "dependencies", "a list of task ids")
        some = pc.invert(pc.is_in(cells, value_set=pa.array(["[]", ""])))
        if not pc.any(some).as_py():
            return NO_EDGES
        rows = np.flatnonzero(some.to_numpy(zero_copy_only=False))
        cells = cells.take(pa.array(rows))
        if not pc.all(pc.match_substring_regex(cells, SOME_PARENTS)).as_py():
            try:
                at, parents, megabytes = edges_of(list(parse_dependencies(cells.to_pylist())))
            except BadCellError as error:
                raise BadRowError(int(rows[error.index]), "dependencies", str(error)) from error
            return rows[at], parents, megabytes
        lists = pc.split_pattern(pc.utf8_trim(cells, " \t[]"), ",")
    row_of = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    parents = pc.list_flatten(lists)
    if pa.types.is_string(parents.type):
        parents = pc.utf8_trim_whitespace(parents)
    return (row_of if rows is None else rows[row_of]).astype(np.int64), _ids(parents), NO_DATA
