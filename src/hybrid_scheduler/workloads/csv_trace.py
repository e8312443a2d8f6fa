"""Traces: workloads as CSV files, one row per task."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.workloads.csv_cells import Parser, read_cells
from hybrid_scheduler.workloads.csv_columns import task_parsers
from hybrid_scheduler.workloads.csv_tasks import COLUMNS, build_tasks, task_column_names

REQUIRED = ("size", "compute_intensity", "memory_required")


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace that was read.

    Attributes:
        tasks: Its tasks.
        derived: The columns the file does not have, in the order of the format; they were derived.
    """

    tasks: TaskBatch
    derived: tuple[str, ...]


def read_csv(path: str | Path) -> TraceFile:
    """Read a trace.

    `size` (or `task_size`), `compute_intensity` and `memory_required` are required. Derived when absent: `task_id`
    (0, 1, 2, ...), `arrival_time` (all 0), `duration_estimate` (by formula), `dependencies` (none), `kind`
    (`synthetic`). Other columns are left alone: traces carry extras.

    Raises:
        InvalidInputError: Names file, line, column and the rule that is broken.
    """
    names: dict[str, str] = {}

    def choose(header: tuple[str, ...]) -> Mapping[str, Parser]:
        names.update(task_column_names(header))
        for required in REQUIRED:
            if required not in names:
                raise _missing(path, required, [name for name in header if name not in names.values()], header)
        parsers = task_parsers(names, time_given="duration_estimate" in names)
        return {column: parsers[name] for name, column in names.items()}

    file = read_cells(path, choose)
    return TraceFile(build_tasks(file, names, {}), tuple(name for name in COLUMNS if name not in names))


def _missing(path: object, required: str, unused: list[str], header: tuple[str, ...]) -> InvalidInputError:
    by_lower = {name.lower(): name for name in unused}
    near = difflib.get_close_matches(required, by_lower, n=1, cutoff=0.5)
    if near:
        fix = f"; is {by_lower[near[0]]!r} meant?"
    elif len(header) == 1:
        fix = "; are the cells separated by commas?"
    else:
        fix = "; add it"
    columns = ", ".join(repr(name) for name in header[:12]) + (", ..." if len(header) > 12 else "")
    return InvalidInputError(f"{path}, line 1: the required column {required!r} is missing; found: {columns}{fix}")


def task_columns(tasks: TaskBatch) -> dict[str, list[Any]]:
    """The tasks as plain lists, one for each column of a trace; `dependencies` are lists of ids."""
    parents = tasks.task_id[tasks.parents].tolist()
    columns = {name: getattr(tasks, name).tolist() for name in COLUMNS[:6]}
    columns["dependencies"] = [parents[a:b] for a, b in pairwise(tasks.parent_start.tolist())]
    columns["kind"] = [tasks.kinds[i] for i in tasks.kind_index.tolist()]
    return columns


def write_csv(path: str | Path, tasks: TaskBatch) -> None:
    """Write a trace, compressed if the name ends in `.gz`; `read_csv` gives back the same tasks, bit for bit.

    Folders on the way are made when absent.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    path = Path(path)
    columns = task_columns(tasks)
    columns["dependencies"] = [json.dumps(parents) if parents else "[]" for parents in columns["dependencies"]]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            writer = csv.writer(_text(path, stack), lineterminator="\n")
            writer.writerow(COLUMNS)
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
