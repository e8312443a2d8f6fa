"""The pods of Alibaba's GPU cluster, 2023 (Weng et al., USENIX ATC 2023, Fragmentation Gradient Descent)."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np

from hybrid_scheduler.model import FloatArray, InvalidInputError
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.workloads.csv_columns import number_parser
from hybrid_scheduler.workloads.readers.assumptions import dropped, trace_of_jobs
from hybrid_scheduler.workloads.readers.base import Reader, has_columns
from hybrid_scheduler.workloads.readers.columns import parse_numbers_or_nothing, read_columns
from hybrid_scheduler.workloads.recorded import Assumption, TraceFile

NUMBERS = ("num_gpu", "gpu_milli")
MOMENTS = ("creation_time", "scheduled_time", "deletion_time")
COUNTS = Range(0, 100_000)
WINDOW = 1e7
"""Seconds into the trace from which pods were recorded as they came; those before are the few that still ran then."""


class AlibabaPodsReader(Reader):
    """One row per pod: how many GPUs and what share of one it asked for, and when it was created, begun and deleted.

    A pod with a GPU ran on GPUs (its width), one without on a CPU, from `scheduled_time` to `deletion_time`.
    """

    title = "Alibaba GPU cluster 2023, pods"

    def recognises(self, head: bytes, name: str) -> bool:
        """By its columns."""
        return has_columns(head, (*NUMBERS, *MOMENTS))

    def read(self, path: Path, seed: int) -> TraceFile:
        """See `Reader.read`."""
        counts = dict.fromkeys(NUMBERS, number_parser(COUNTS))
        file = read_columns(path, {**counts, **dict.fromkeys(MOMENTS, parse_numbers_or_nothing)})
        gpus, share, created, begun, deleted = (cast(FloatArray, file.columns[name]) for name in (*NUMBERS, *MOMENTS))
        inside = created >= WINDOW if (created >= WINDOW).any() else created >= 0
        started = ~np.isnan(begun) & ~np.isnan(deleted)
        ran = started & (deleted > begun)
        kept = inside & ran
        if not kept.any():
            raise InvalidInputError(f"{path}: no pod has a creation_time and ran, so there is nothing to race")
        on_gpu = gpus[kept] > 0
        return trace_of_jobs(
            path,
            (deleted - begun)[kept],
            seed,
            on_gpu=on_gpu,
            arrival=created[kept],
            width=np.maximum(gpus[kept], 1).astype(np.int64),
            kind=np.where(on_gpu, "gpu_pod", "cpu_pod").tolist(),
            assumed=[
                *dropped(int((~inside).sum()), f"pods created before second {WINDOW:.0f} of the trace"),
                *dropped(int((inside & ~started).sum()), "pods that were never scheduled"),
                *dropped(int((inside & started & ~ran).sum()), "pods that were deleted as they were scheduled"),
                Assumption("host_memory_ignored", "memory_mib is memory of the host, which moves to no GPU"),
                Assumption("cores_ignored", "a pod without a GPU runs on one CPU, however many cores it asked for"),
                *_whole_gpus(int((on_gpu & (share[kept] < 1000)).sum())),
            ],
        )


def _whole_gpus(count: int) -> list[Assumption]:
    text = f"{count} pods asked for a part of a GPU; each has a whole one"
    return [Assumption("whole_gpu", text, tasks=count)] if count else []
