"""What a lane does before a stream of kernels begins, so that no task pays for what comes first."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Final

from hybrid_scheduler.hardware.nodes.kernel_work import STORE, KernelWarmUp, KernelWork
from hybrid_scheduler.hardware.nodes.lanes import Place, WholeWork, WorkResult
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind

DATA_SECONDS: Final = 180.0


@dataclass(frozen=True, slots=True)
class KernelsReady(WholeWork):
    """Calls every kernel of every size once, and makes the data of the tasks to come, as much as a lane keeps.

    A library has several programs for one kernel, chooses by the size, and on an accelerator loads each when it is
    first called; allocators ask the system for memory when a result is larger than any before. Both take longer than
    many tasks. After `WARM_UP_SECONDS` the largest are left out, and after `DATA_SECONDS` the data of the latest.

    Attributes:
        works: The tasks, in the order in which they arrive.
    """

    works: tuple[KernelWork, ...]

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Call each, then make data, and go over it once more: what comes first is kept longest."""
        KernelWarmUp.of(self.works).run(place, 0.0, 1.0)
        kept: list[KernelWork] = []
        room, end = STORE.capacity(), monotonic() + DATA_SECONDS
        for work in dict.fromkeys(self.works):
            room -= kernel_kind(work.kind).input_bytes(work.size)
            if room < 0.0 or monotonic() > end:
                break
            work.prepare(place, 0.0, 1.0)
            kept.append(work)
        for work in reversed(kept):
            work.prepare(place, 0.0, 1.0)
        return WorkResult()
