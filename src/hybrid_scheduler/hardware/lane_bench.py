"""Timing works on lanes, as a node sees them: from the moment a job is sent until its report is there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.lanes import Ending, Job, LaneChange, LaneError, Lanes, Report, Work
from hybrid_scheduler.model.errors import InvalidInputError

UP_SECONDS = 300.0
"""How long lanes may take to come up: they load PyTorch and start their devices."""
JOB_SECONDS = 600.0
"""A job that takes longer counts as hung."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is timed: a kernel of some size, or a share of it.

    Attributes:
        kind: Which kernel.
        size: Its size.
        begin: Where the share begins, 0 to 1.
        share: How much of it.
    """

    kind: str
    size: int
    begin: float = 0.0
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One job that ended well.

    Attributes:
        kernel: What it did.
        lane: Where.
        occupied: Seconds from sending it to having its report: for so long the lane takes no other job.
        run: Seconds of these in which it ran.
        transfer: Seconds of these in which data moved; 0 where nobody measured.
    """

    kernel: Kernel
    lane: int
    occupied: float
    run: float
    transfer: float


WorkOf = Callable[[str, int, int], Work]
"""The work of a kernel: kind, size and the seed of its data."""


class LaneBench:
    """Runs kernels on lanes.

    Args:
        lanes: The lanes; nobody else uses them meanwhile.
        work_of: Makes the work of a kernel.
        seed: Of the data. A lane keeps it for the next job of the same kernel, as it does with a task's.
    """

    def __init__(self, lanes: Lanes, work_of: WorkOf, seed: int = 0) -> None:
        self._lanes, self._work_of = lanes, work_of
        self._seed = seed
        self._number = 0

    def wait_until_up(self) -> None:
        """Wait for every lane.

        Raises:
            LaneError: One did not come up.
        """
        down, until = set(range(len(self._lanes.cluster.devices))), self._lanes.clock() + UP_SECONDS
        while down and self._lanes.clock() < until:
            for event in self._lanes.wait(until - self._lanes.clock()):
                if isinstance(event, LaneChange) and event.up:
                    down.discard(event.lane)
                elif isinstance(event, LaneChange) and event.final:
                    raise LaneError(f"{self._name(event.lane)} does not come up, so it cannot be calibrated")
        if down:
            raise LaneError(f"{self._name(min(down))} was not up after {UP_SECONDS:g} s, so it cannot be calibrated")

    def runs(self, lane: int, kind: str) -> bool:
        """Whether a kernel has a form for a lane's device."""
        return self._work_of(kind, 1, 0).runs_on(self._lanes.cluster.devices[lane].kind)

    def divisible(self, kind: str) -> bool:
        """Whether a kernel can be split."""
        return self._work_of(kind, 1, 0).divisible

    def samples(self, todo: Mapping[int, Iterator[Kernel]]) -> Iterator[Sample]:
        """Keep lanes busy, each with its kernels one after the other, all lanes at the same time.

        A lane's next kernel is asked for when the last one's sample has been taken.

        Raises:
            LaneError: A lane was lost.
            InvalidInputError: A job raised an error, or was too large for its device.
        """
        sent: dict[int, tuple[Kernel, int, float]] = {}
        for lane, kernels in todo.items():
            self._send(lane, kernels, sent)
        while sent:
            for event in self._lanes.wait(JOB_SECONDS):
                if isinstance(event, Report):
                    now = self._lanes.clock()
                    kernel, number, since = sent.pop(event.lane)
                    if event.number != number or event.ending is not Ending.DONE:
                        raise self._failed(kernel, event) from event.error
                    moved = 0.0 if math.isnan(event.result.transfer) else event.result.transfer
                    yield Sample(kernel, event.lane, now - since, event.end - event.start, moved)
                    self._send(event.lane, todo[event.lane], sent)
                elif not event.up and event.lane in todo:
                    raise LaneError(f"{self._name(event.lane)} was lost while it was calibrated; try again")

    def _send(self, lane: int, kernels: Iterator[Kernel], sent: dict[int, tuple[Kernel, int, float]]) -> None:
        kernel = next(kernels, None)
        if kernel is None:
            return
        self._number += 1
        work = self._work_of(kernel.kind, kernel.size, self._seed)
        sent[lane] = kernel, self._number, self._lanes.clock()
        self._lanes.send(lane, Job(self._number, work, kernel.begin, kernel.share, JOB_SECONDS))

    def _failed(self, kernel: Kernel, report: Report) -> Exception:
        what = f"{kernel.kind} of size {kernel.size} on {self._name(report.lane)}"
        if report.ending is Ending.TOO_LARGE:
            return InvalidInputError(f"{what} needs more memory than there is; give smaller sizes")
        return LaneError(f"{what} ended as {report.ending.name}: {report.error}")

    def _name(self, lane: int) -> str:
        return self._lanes.cluster.devices[lane].name
