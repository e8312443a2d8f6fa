"""Lanes whose work takes as long as the test says, by a clock that jumps from one event to the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, Job, LaneChange, Lanes, Place, Report, WorkResult
from hybrid_scheduler.physics.device import ClusterSpec


@dataclass(frozen=True)
class TimedWork:
    """Takes so long on every lane."""

    task_id: int
    fixed: Sequence[float]
    shared: Sequence[float]
    divisible: bool = True
    kinds: tuple[str, ...] = ("cpu", "gpu")

    def runs_on(self, kind: str) -> bool:
        return kind in self.kinds

    def prepare(self, place: Place, begin: float, share: float) -> None:
        raise NotImplementedError("it only tells how long it takes")

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        raise NotImplementedError("it only tells how long it takes")


class SimulatedLanes(Lanes):
    """Every job ends well, unless `ending` says otherwise.

    Args:
        cluster: The devices.
        penalty: Parts of splits are stretched by 1 plus this.
        ending: How the job of a task on a lane ends.
        restart: Seconds until a lane that was lost is back.
        tells_energy: Whether a job's joules are known.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        penalty: float = 0.0,
        ending: Callable[[int, int], Ending] = lambda task_id, lane: Ending.DONE,
        restart: float = 1.0,
        tells_energy: bool = True,
    ) -> None:
        self.cluster, self._tells_energy = cluster, tells_energy
        self._penalty, self._ending, self._restart = penalty, ending, restart
        self._now = 0.0
        self._running: dict[int, tuple[float, float, Job]] = {}
        self._changes: list[tuple[float, LaneChange]] = [
            (0.0, LaneChange(lane, up=True)) for lane in range(len(cluster.devices))
        ]
        self.jobs: list[tuple[int, Job]] = []

    def clock(self) -> float:
        return self._now

    def send(self, lane: int, job: Job) -> None:
        assert lane not in self._running, "a lane gets one job at a time"
        assert isinstance(job.work, TimedWork)
        self.jobs.append((lane, job))
        seconds = job.work.fixed[lane] + job.share * job.work.shared[lane]
        if job.share < 1.0:
            seconds *= 1.0 + self._penalty
        self._running[lane] = self._now, self._now + min(seconds, job.limit), job

    def change(self, moment: float, change: LaneChange) -> None:
        """Something happens to a lane."""
        self._changes.append((moment, change))

    def wait(self, seconds: float) -> list[Event]:
        ends = [end for _, end, _ in self._running.values()] + [moment for moment, _ in self._changes]
        self._now = min(max(self._now, min(ends, default=math.inf)), self._now + seconds)
        events: list[Event] = []
        for lane, (start, end, job) in sorted(self._running.items(), key=lambda item: (item[1][1], item[1][2].number)):
            if end <= self._now:
                del self._running[lane]
                events.append(self._report(lane, job, start, end))
        for moment, change in list(self._changes):
            if moment <= self._now:
                self._changes.remove((moment, change))
                if not change.up and change.lane in self._running:
                    start, _, job = self._running.pop(change.lane)
                    events.append(Report(job.number, change.lane, Ending.DIED, start, self._now))
                events.append(change)
        return events

    def _report(self, lane: int, job: Job, start: float, end: float) -> Report:
        assert isinstance(job.work, TimedWork)
        ending = Ending.HUNG if end - start >= job.limit else self._ending(job.work.task_id, lane)
        if ending in (Ending.DIED, Ending.HUNG, Ending.CANCELLED):
            self._changes += [(end, LaneChange(lane, up=False)), (end + self._restart, LaneChange(lane, up=True))]
        error = None if ending is Ending.DONE else ValueError(f"{ending.name} by request")
        joules = self.cluster.devices[lane].watts * (end - start) if self._tells_energy else math.nan
        return Report(job.number, lane, ending, start, end, WorkResult(job.work.task_id), joules, error)

    def cancel(self, lane: int) -> None:
        start, _, job = self._running.pop(lane)
        self._running[lane] = start, self._now, job

    def wake(self) -> None:
        """Nobody else is there."""

    def close(self) -> None:
        self._running.clear()
