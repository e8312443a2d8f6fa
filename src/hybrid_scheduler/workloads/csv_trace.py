"""Traces: workloads as CSV files, one row per task."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.workloads.csv_cells import Parser, read_cells
from hybrid_scheduler.workloads.csv_columns import task_parsers
from hybrid_scheduler.workloads.csv_tasks import COLUMNS, build_tasks, task_column_names
from hybrid_scheduler.workloads.recorded import TraceFile

REQUIRED = ("size", "compute_intensity", "memory_required")


def read_csv(path: str | Path) -> TraceFile:
    """Read a trace.

    `size` (or `task_size`), `compute_intensity` and `memory_required` are required. Derived when absent: `task_id`
    (0, 1, 2, ...), `arrival_time` (all 0), `duration_estimate` (by formula), `dependencies` (none), `kind`
    (`synthetic`). `width` is optional: one device each without it. Other columns are left alone: traces carry extras.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    names: dict[str, str] = {}

    def choose(header: tuple[str, ...]) -> Mapping[str, Parser]:
        names.update(trace_column_names(path, header))
        return trace_parsers(names)

    file = read_cells(path, choose)
    return TraceFile(build_tasks(file, names, {}), absent_columns(names))


def trace_column_names(path: str | Path, header: tuple[str, ...]) -> dict[str, str]:
    """Which column of a trace (value) is which task column (key).

    Raises:
        InvalidInputError: A required column is missing.
    """
    names = task_column_names(header)
    for required in REQUIRED:
        if required not in names:
            raise missing_column(path, required, [name for name in header if name not in names.values()], header)
    return names


def trace_parsers(names: Mapping[str, str]) -> dict[str, Parser]:
    """The parser of each column of the file, given the names from `trace_column_names`."""
    parsers = task_parsers(names, time_given="duration_estimate" in names)
    return {column: parsers[name] for name, column in names.items()}


def absent_columns(names: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of a trace that a file does not have, in the order of the format."""
    return tuple(name for name in COLUMNS if name not in names)


def missing_column(path: object, required: str, unused: Sequence[str], header: tuple[str, ...]) -> InvalidInputError:
    """The error about a column that a file must have; offers one of the unused columns if it has a similar name."""
    by_lower = {name.lower(): name for name in unused}
    near = difflib.get_close_matches(required, by_lower, n=1, cutoff=0.5)
    if near:
        fix = f"; is {by_lower[near[0]]!r} meant?"
    elif len(header) == 1:
        fix = "; are the cells separated by commas?"
    else:
        fix = "; add it, or name the file's format if it is another one"
    columns = ", ".join(repr(name) for name in header[:12]) + (", ..." if len(header) > 12 else "")
    return InvalidInputError(f"{path}, line 1: the required column {required!r} is missing; found: {columns}{fix}")


def task_columns(tasks: TaskBatch) -> dict[str, list[Any]]:
    """The tasks as plain lists, one for each column of a trace.

    `dependencies` are lists of ids or, where data comes from there, of pairs of an id and megabytes.
    """
    parents = tasks.task_id[tasks.parents].tolist()
    if len(tasks.parent_mb):
        said = not tasks.parent_mb.any()  # 0 MB are not worth a word, unless there is nothing else to say
        pairs = zip(parents, tasks.parent_mb.tolist(), strict=True)
        parents = [[parent, megabytes] if megabytes or said else parent for parent, megabytes in pairs]
    columns = {name: getattr(tasks, name).tolist() for name in COLUMNS[:6]}
    columns["dependencies"] = [parents[a:b] for a, b in pairwise(tasks.parent_start.tolist())]
    columns["kind"] = [tasks.kinds[i] for i in tasks.kind_index.tolist()]
    if len(tasks.width):
        columns["width"] = tasks.width.tolist()
    return columns


def write_csv(path: str | Path, tasks: TaskBatch, only: Sequence[str] = ()) -> None:
    """Write a trace, compressed if the name ends in `.gz`; `read_csv` gives back the same tasks, bit for bit.

    With `only`, these columns alone, in this order: enough where a reader knows the rest (`kernels`).

    Folders on the way are made when absent.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    path = Path(path)
    columns = task_columns(tasks)
    columns["dependencies"] = [json.dumps(parents) if parents else "[]" for parents in columns["dependencies"]]
    columns = {name: columns[name] for name in only or columns}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            writer = csv.writer(_text(path, stack), lineterminator="\n")
            writer.writerow(columns)
            # csv writes a float as repr does: the shortest text that reads back as the same number.
            writer.writerows(zip(*columns.values(), strict=True))
    except OSError as error:
        raise InvalidInputError(f"{path}: the file cannot be written: {error.strerror or error}") from error


def _text(path: Path, stack: ExitStack) -> IO[str]:
    if path.suffix != ".gz":
        return stack.enter_context(path.open("w", encoding="utf-8", newline=""))
    raw = stack.enter_context(path.open("wb"))
    # No name and no time in the header: the same tasks give the same file. Random digits hardly shrink further at a
    # higher level, which takes several times as long.
    packed = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, compresslevel=1, mtime=0))
    return stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8", newline=""))
