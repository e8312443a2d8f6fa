"""Matrices of expected times to compute: independent tasks on unlike machines (Braun et al., JPDC 61(6), 2001)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from hybrid_scheduler.model import FloatArray, InvalidInputError
from hybrid_scheduler.model.ranges import SECONDS
from hybrid_scheduler.workloads.csv_columns import first_bad
from hybrid_scheduler.workloads.opening import opened
from hybrid_scheduler.workloads.readers.assumptions import table_of_times
from hybrid_scheduler.workloads.readers.base import Reader
from hybrid_scheduler.workloads.recorded import TableFile

FIRST_LINE = re.compile(rb"\s*(\d{1,9})\s+(\d{1,9})\s+0\s*")


class EtcReader(Reader):
    """A first line `tasks machines 0`, then one time after the other: all machines of the first task, and so on."""

    title = "ETC matrix, times per task and machine"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its first line."""
        return FIRST_LINE.fullmatch(head.split(b"\n", 1)[0]) is not None

    def read(self, path: Path, seed: int) -> TableFile:
        """See `Reader.read`; nothing is drawn."""
        with opened(path) as raw:
            first, _, body = raw.read().partition(b"\n")
        sizes = FIRST_LINE.fullmatch(first)
        if sizes is None:
            shown = first[:40].decode("utf-8", "replace").strip()
            raise InvalidInputError(f"{path}, line 1: {shown!r} must be the tasks, the machines and 0, like '512 16 0'")
        tasks, machines = map(int, sizes.groups())
        if not (tasks and machines):
            raise InvalidInputError(f"{path}, line 1: {tasks} tasks on {machines} machines; both must be at least 1")
        cells = body.split()
        if len(cells) != tasks * machines:
            raise InvalidInputError(
                f"{path}: there are {len(cells)} times, but line 1 says {tasks} tasks on {machines} machines, that is "
                f"{tasks * machines}; correct the line or the times"
            )
        names = tuple(f"machine_{i}" for i in range(machines))
        return table_of_times(_times(path, cells, body).reshape(tasks, machines), names)


def _times(path: Path, cells: list[bytes], body: bytes) -> FloatArray:
    try:
        times = np.array(cells, dtype=np.float64)
    except ValueError:
        times = np.full(len(cells), np.nan)
    if SECONDS.first_outside(times) is None:
        return times
    bad = first_bad(cells, lambda cell: SECONDS.holds(float(cell)))
    lines = [number for number, line in enumerate(body.split(b"\n"), start=2) for _ in line.split()]
    shown = cells[bad][:40].decode("utf-8", "replace")
    raise InvalidInputError(f"{path}, line {lines[bad]}: {shown!r} must be {SECONDS}")
