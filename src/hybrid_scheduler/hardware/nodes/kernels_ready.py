"""What a lane does before a stream of kernels begins, so that no task pays for what comes first."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.kernel_work import KEPT_BYTES, KernelWarmUp, KernelWork
from hybrid_scheduler.hardware.nodes.lanes import Place, Work, WorkResult
from hybrid_scheduler.workloads.kernel_kinds import kernel_kind


@dataclass(frozen=True, slots=True)
class KernelsReady(Work):
    """Calls every kernel once, and makes the data of the tasks to come, as much as a lane keeps.

    Attributes:
        works: The tasks, in the order in which they arrive.
    """

    works: tuple[KernelWork, ...]

    @property
    def divisible(self) -> bool:
        """It is for one lane."""
        return False

    def runs_on(self, kind: str) -> bool:
        """Like the kernels."""
        return True

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Call the smallest of each kind, and make data; of what comes first last, so that it is kept longest."""
        smallest = {work.kind: work for work in sorted(self.works, key=lambda work: -work.size)}
        KernelWarmUp(tuple(smallest.values())).run(place, 0.0, 1.0)
        kept, room = [], float(KEPT_BYTES)
        for work in dict.fromkeys(self.works):
            room -= kernel_kind(work.kind).input_bytes(work.size)
            if room < 0.0:
                break
            kept.append(work)
        for work in reversed(kept):
            work.prepare(place, 0.0, 1.0)
        return WorkResult()
