"""The job table of Microsoft's Philly GPU cluster (Jeon et al., USENIX ATC 2019)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np

from hybrid_scheduler.model import FloatArray, InvalidInputError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.assumptions import dropped, trace_of_jobs
from hybrid_scheduler.workloads.readers.base import Reader, has_columns
from hybrid_scheduler.workloads.readers.columns import parse_moments, parse_numbers_or_nothing, read_columns
from hybrid_scheduler.workloads.recorded import TraceFile

REQUIRED = ("timestamp", "duration", "num_gpus")
WIDTHS = Range(1, 100_000, "a number of GPUs")


class PhillyReader(Reader):
    """One row per job: when it was submitted, how long it ran, on how many GPUs; in any order.

    Every job ran on GPUs: they are its width. Rows that are alike are jobs of their own.
    """

    title = "Microsoft Philly job table"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its columns."""
        return has_columns(head, REQUIRED)

    def read(self, path: Path, seed: int) -> TraceFile:
        """See `Reader.read`."""
        parsers = dict(zip(REQUIRED, (parse_moments, parse_numbers_or_nothing, number_parser(WIDTHS)), strict=True))
        file = read_columns(path, parsers)
        submitted, seconds, gpus = (cast(FloatArray, file.columns[name]) for name in REQUIRED)
        ran = seconds > 0
        if not ran.any():
            raise InvalidInputError(f"{path}, column duration: no job ran, so there is nothing to race")
        return trace_of_jobs(
            path,
            seconds[ran],
            seed,
            on_gpu=np.ones(int(ran.sum()), dtype=np.bool_),
            arrival=submitted[ran],
            width=gpus[ran].astype(np.int64),
            kind=["job"] * int(ran.sum()),
            assumed=dropped(int((~ran).sum()), "jobs without a duration"),
        )
