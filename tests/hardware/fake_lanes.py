"""Lanes with known times, a clock that jumps, neighbours that slow each other down and meters that tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.lanes import (
    Ending,
    Event,
    Job,
    LaneChange,
    LaneError,
    Lanes,
    Place,
    Report,
    Work,
    WorkResult,
)
from hybrid_scheduler.hardware.nodes.power import Meter
from hybrid_scheduler.physics.device import ClusterSpec


@dataclass(frozen=True)
class FakeWork(Work):
    """A kernel by name alone."""

    kind: str
    size: int
    seed: int

    @property
    def divisible(self) -> bool:
        return self.kind != "loop"

    def runs_on(self, kind: str) -> bool:
        return True

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        raise NotImplementedError("it only tells how long it takes")


class FakeLanes(Lanes):
    """Jobs take `compute` and `transfer` of kind, size and device; sending one takes `overhead` more.

    Args:
        cluster: The devices.
        compute: Seconds of a whole kernel on a device.
        transfer: Seconds of its data's way.
        overhead: Seconds of every job beside its run.
        fixed: Seconds of every run, whatever the job's share.
        slowdown: How much longer a job takes that starts while another lane is busy.
        fate: How the n-th job ends.
        watts: Of a busy device; not a number where nobody tells.
        idle_watts: Of an idle one.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        compute: Callable[[str, int, str], float],
        transfer: Callable[[str, int, str], float] = lambda kind, size, device: 0.0,
        *,
        overhead: float = 0.0,
        fixed: float = 0.0,
        slowdown: float = 0.0,
        fate: Callable[[int], Ending] = lambda number: Ending.DONE,
        watts: float = math.nan,
        idle_watts: float = math.nan,
    ) -> None:
        self.cluster = cluster
        self._compute, self._transfer = compute, transfer
        self._overhead, self._fixed, self._slowdown, self._fate = overhead, fixed, slowdown, fate
        self._watts, self._idle_watts = watts, idle_watts
        self._busy = [0.0] * len(cluster.devices)
        self._now = 0.0
        self._running: dict[int, tuple[float, Report]] = {}
        self._changes: list[Event] = [LaneChange(lane, up=True) for lane in range(len(cluster.devices))]
        self.jobs: list[tuple[int, Job]] = []

    def clock(self) -> float:
        return self._now

    def send(self, lane: int, job: Job) -> None:
        assert lane not in self._running, "a lane gets one job at a time"
        work = job.work
        assert isinstance(work, FakeWork)
        stretch = 1.0 + (self._slowdown if self._running else 0.0)
        device = self.cluster.devices[lane].name
        moved = job.share * self._transfer(work.kind, work.size, device) * stretch
        run = (self._fixed + job.share * self._compute(work.kind, work.size, device)) * stretch + moved
        start = self._now + self._overhead * stretch
        ending = self._fate(len(self.jobs))
        error = None if ending is Ending.DONE else LaneError("by request")
        report = Report(
            job.number, lane, ending, start, start + run, WorkResult(transfer=moved), self._watts * run, error
        )
        self.jobs.append((lane, job))
        self._busy[lane] += run
        self._running[lane] = start + run, report

    def joules(self, lane: int) -> float:
        """What a lane's device has taken so far."""
        return self._now * self._idle_watts + self._busy[lane] * (self._watts - self._idle_watts)

    def wait(self, seconds: float) -> list[Event]:
        if self._changes:
            changes, self._changes = self._changes, []
            return changes
        if not self._running:
            self._now += seconds
            return []
        lane = min(self._running, key=lambda lane: self._running[lane][0])
        end, report = self._running.pop(lane)
        self._now = max(self._now, end)
        return [report]

    def cancel(self, lane: int) -> None:
        raise NotImplementedError

    def wake(self) -> None:
        """Nobody else is there."""

    def close(self) -> None:
        self._running.clear()


@dataclass(frozen=True)
class FakeMeter(Meter):
    """The energy of one lane's device."""

    lanes: FakeLanes
    lane: int

    def read(self) -> tuple[float, ...]:
        return (self.lanes.joules(self.lane),)
