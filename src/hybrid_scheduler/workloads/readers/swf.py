"""Standard Workload Format: logs of the Parallel Workloads Archive (Feitelson, Tsafrir, Krakov, JPDC 74(10), 2014)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray, InvalidInputError
from hybrid_scheduler.workloads.csv_columns import first_bad
from hybrid_scheduler.workloads.cycles import find_cycle
from hybrid_scheduler.workloads.opening import opened
from hybrid_scheduler.workloads.readers.assumptions import dropped, trace_of_jobs
from hybrid_scheduler.workloads.readers.base import Reader
from hybrid_scheduler.workloads.recorded import Assumption, TraceFile

FIELDS = 18
JOB, SUBMIT, RUN, PROCS, USED_KB, WANTED_PROCS, WANTED_TIME, WANTED_KB, BEFORE = 0, 1, 3, 4, 6, 7, 8, 9, 16
"""Where the fields that are used stand in a line."""
BLOCK_BYTES = 1 << 22
COMMENT = b";"


class SwfReader(Reader):
    """One line per job, 18 numbers separated by blanks, -1 where unknown; lines that begin with `;` are comments.

    A job's processors are its width, its memory is what it used (else asked for) per processor times processors, and
    the job before it (field 17) its parent. The time its user asked for (field 9) stands beside the tasks.
    """

    title = "SWF, Parallel Workloads Archive"

    def recognises(self, head: bytes, name: str) -> bool:
        """A comment first or the name `.swf`, and a first job of numbers; how many, `read` checks."""
        lines = head.decode("utf-8", "replace").splitlines()
        jobs = [line for line in lines if line.strip() and not line.lstrip().startswith(";")]
        named = ".swf" in name.lower()
        if not jobs:
            return named
        try:
            fields = list(map(float, jobs[0].split()))
        except ValueError:
            return named
        return named or len(fields) == FIELDS or (len(fields) > FIELDS // 2 and lines[0].lstrip().startswith(";"))

    def read(self, path: Path, seed: int) -> TraceFile:
        """See `Reader.read`."""
        jobs, lines = _parsed(path)
        ran = jobs[:, RUN] > 0
        said = dropped(int((~ran).sum()), "jobs without a run time (field 4 is 0 or -1)")
        jobs, lines = jobs[ran], lines[ran]
        if not len(jobs):
            raise InvalidInputError(f"{path}: no job has a run time (field 4), so there is nothing to race")
        said.append(Assumption("processors_are_cpus", "a processor of the file is one CPU"))
        width = np.where(jobs[:, PROCS] > 0, jobs[:, PROCS], jobs[:, WANTED_PROCS])
        unknown = int((width <= 0).sum())
        if unknown:
            said.append(Assumption("width_one", f"{unknown} jobs do not say their processors: 1", tasks=unknown))
        width = np.maximum(width, 1.0)
        per_processor = np.where(jobs[:, USED_KB] > 0, jobs[:, USED_KB], jobs[:, WANTED_KB])
        return trace_of_jobs(
            path,
            jobs[:, RUN],
            seed,
            arrival=jobs[:, SUBMIT],
            task_id=_ids(path, jobs[:, JOB], lines),
            memory=np.where(per_processor > 0, per_processor * width * 1024 / 1e6, np.nan),
            width=width.astype(np.int64),
            requested_time=np.where(jobs[:, WANTED_TIME] > 0, jobs[:, WANTED_TIME], np.nan),
            dependencies=_parents(path, jobs, lines, said),
            kind=["job"] * len(jobs),
            assumed=said,
        )


def _parsed(path: Path) -> tuple[FloatArray, IntArray]:
    """The jobs, one row each, and the line of each."""
    pieces: list[FloatArray] = []
    numbers: list[IntArray] = []
    before = 0
    with opened(path) as raw:
        for block in _blocks(raw):
            lines = block.split(b"\n")
            jobs = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(COMMENT)]
            at = np.array(jobs, dtype=np.int64) + before + 1
            pieces.append(_numbers(path, [lines[i] for i in jobs], at))
            numbers.append(at)
            before += len(lines) - 1
    if not sum(map(len, pieces)):
        raise InvalidInputError(f"{path}: there is no job in the file; add at least one line of {FIELDS} numbers")
    return np.concatenate(pieces), np.concatenate(numbers)


def _blocks(raw: IO[bytes]) -> Iterator[bytes]:
    """Some megabytes at a time; every block ends with a line."""
    rest = b""
    while read := raw.read(BLOCK_BYTES):
        whole, end, rest = (rest + read).rpartition(b"\n")
        yield whole + end
    yield rest


def _numbers(path: Path, lines: list[bytes], at: IntArray) -> FloatArray:
    cells = [line.split() for line in lines]
    for i, line in enumerate(cells):
        if len(line) != FIELDS:
            raise InvalidInputError(
                f"{path}, line {at[i]}: the line has {len(line)} fields, but a job has {FIELDS}; write -1 for what is "
                "unknown"
            )
    try:
        values = np.array(cells, dtype=np.float64).reshape(-1, FIELDS)
    except ValueError:
        values = np.full((len(cells), FIELDS), np.nan)
    if np.isfinite(values).all():
        return values
    bad = first_bad(chain.from_iterable(cells), lambda cell: math.isfinite(float(cell)))
    i, field = divmod(bad, FIELDS)
    shown = cells[i][field].decode("utf-8", "replace")[:40]
    raise InvalidInputError(f"{path}, line {at[i]}, field {field + 1}: {shown!r} must be a number")


def _ids(path: Path, jobs: FloatArray, lines: IntArray) -> IntArray:
    ids = jobs.astype(np.int64)
    wrong = np.flatnonzero((jobs < 0) | (jobs != ids))
    if len(wrong):
        raise InvalidInputError(
            f"{path}, line {lines[wrong[0]]}, field 1: {jobs[wrong[0]]:g} must be the number of a job, at least 0"
        )
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(np.diff(ids[order]) == 0)
    if len(twice):
        first, again = order[twice[0]], order[twice[0] + 1]
        raise InvalidInputError(
            f"{path}, line {lines[again]}, field 1: job {ids[again]} stands in line {lines[first]} too; ids are unique"
        )
    return ids


def _parents(path: Path, jobs: FloatArray, lines: IntArray, said: list[Assumption]) -> list[tuple[int, ...]] | None:
    """The job before each one (field 17), where it is among them."""
    before, ids = jobs[:, BEFORE].astype(np.int64), jobs[:, JOB].astype(np.int64)
    named = before > 0
    if not named.any():
        return None
    there = named & np.isin(before, ids)
    missing = int((named & ~there).sum())
    if missing:
        text = f"{missing} jobs follow a job (field 17) that is not among the tasks: they wait for none"
        said.append(Assumption("parent_absent", text, tasks=missing))
    said.append(Assumption("think_time_ignored", "a job that follows another may start at once when that has ended"))
    parents: list[tuple[int, ...]] = [
        (parent,) if kept else () for parent, kept in zip(before.tolist(), there.tolist(), strict=True)
    ]
    loop = find_cycle(dict(zip(ids.tolist(), parents, strict=True)))
    if loop is not None:
        line = lines[ids.tolist().index(loop[0])]
        chain = " -> ".join(map(str, loop))
        raise InvalidInputError(f"{path}, line {line}, field 17: the jobs {chain} wait for each other; break the cycle")
    return parents
