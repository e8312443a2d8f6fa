"""Training throughputs on several kinds of GPU, as measured for Gavel (Narayanan et al., OSDI 2020)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, cast

import numpy as np

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.assumptions import dropped, table_of_times
from hybrid_scheduler.workloads.readers.base import Reader, has_columns
from hybrid_scheduler.workloads.readers.columns import parse_texts, read_columns
from hybrid_scheduler.workloads.recorded import Assumption, TableFile

TEXTS = ("file", "worker_type", "model", "batch_size")
RATES = Range(0, 1e9, "a number of steps per second, or 0 where none was measured")
WIDTHS = Range(1, 100_000, "a number of GPUs")
STEPS = 1000
SPREAD = "_unconsolidated"
"""Ends the worker type of GPUs on several machines."""


class GavelReader(Reader):
    """A task is 1000 training steps of a job type (model, batch size, GPUs); a device is a kind of GPU.

    Kinds of GPU become devices called `gpu_v100`. Throughputs of GPUs on several machines are left out.
    """

    title = "Gavel throughputs, as times per kind of GPU"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its columns."""
        return has_columns(head, (*TEXTS, "n_gpus", "steps_per_s"))

    def read(self, path: Path, seed: int) -> TableFile:
        """See `Reader.read`; nothing is drawn."""
        numbers = {"n_gpus": number_parser(WIDTHS), "steps_per_s": number_parser(RATES)}
        columns = cast(dict[str, Any], read_columns(path, {**dict.fromkeys(TEXTS, parse_texts), **numbers}).columns)
        rates: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
        spread = 0
        for source, worker, model, batch, gpus, rate in zip(
            *(columns[name] for name in (*TEXTS, "n_gpus", "steps_per_s")), strict=True
        ):
            spread += worker.endswith(SPREAD)
            if not worker.endswith(SPREAD):
                rates[source, model, batch, gpus][worker] = rate
        workers = sorted({worker for of in rates.values() for worker in of})
        measured = {job: of for job, of in rates.items() if all(of.get(worker, 0.0) > 0 for worker in workers)}
        if not measured:
            raise InvalidInputError(f"{path}: no job type was measured on {', '.join(workers) or 'any kind of GPU'}")
        return table_of_times(
            STEPS / np.array([[of[worker] for worker in workers] for of in measured.values()]),
            tuple(f"gpu_{worker}" for worker in workers),
            width=np.array([job[3] for job in measured], dtype=np.int64),
            kind=[job[1] for job in measured],
            assumed=[
                *dropped(spread, "throughputs of GPUs on several machines"),
                *dropped(
                    len(rates) - len(measured), f"job types that were not measured on all of {', '.join(workers)}"
                ),
                Assumption("thousand_steps", f"a task is {STEPS} training steps"),
            ],
        )
