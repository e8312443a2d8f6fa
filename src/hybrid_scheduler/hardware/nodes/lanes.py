"""Lanes: where parts of tasks really run. What a pool of lanes promises to the node in front of it (`RealNode`).

A lane is one device's place for one part at a time: a worker process on this machine, an actor on another. Membership
and transport are the pool's; queues and decisions are not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from hybrid_scheduler.model.errors import HybridSchedulerError
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.view import NO_TIMES
from hybrid_scheduler.physics.device import ClusterSpec


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part runs, as its work is told inside the lane.

    Attributes:
        device: The device's name, such as `gpu_0`.
        kind: `cpu` or `gpu`.
        accelerator: What PyTorch calls it inside the lane: `cuda` or `mps`; None on a CPU.
    """

    device: str
    kind: str
    accelerator: str | None = None


@dataclass(frozen=True, slots=True)
class WorkResult:
    """What a piece of work gives back.

    Attributes:
        value: Its result; None where nobody wants one.
        transfer: Seconds that data took to the device and back; not a number where nobody measured.
        memory_mb: The most memory it held on an accelerator; not a number where nobody measured.
    """

    value: Any = None
    transfer: float = math.nan
    memory_mb: float = math.nan


class Work(Protocol):
    """What a task does. It is pickled on its way to a lane. Implementations inherit from it."""

    @property
    def divisible(self) -> bool:
        """Whether a share of it can run alone."""

    def runs_on(self, kind: str) -> bool:
        """Whether it has a form for this kind of device."""

    def prepare(self, place: Place, begin: float, share: float) -> None:
        """Have ready what is there before a task begins, such as its data in main memory. By default, nothing.

        A lane calls it with what it then gives to `run`, before the clock starts and before `Job.limit` counts. What it
        raises is as if `run` had raised it.
        """
        return

    def run(self, place: Place, begin: float, share: float) -> WorkResult:
        """Do the share of the work that begins at `begin` (0 to 1); return when it is done, waiting for the device.

        Runs in a lane. Whatever it raises ends the task as failed, but `MemoryError` and PyTorch's own error of that
        meaning, which say that the device's memory is too small.
        """


class WholeWork(Work):
    """Work that runs as a whole, in whatever lane it is sent to."""

    @property
    def divisible(self) -> bool:
        """Nobody knows how to divide it."""
        return False

    def runs_on(self, kind: str) -> bool:
        """Everywhere."""
        return True


@dataclass(frozen=True, slots=True)
class Job:
    """One part on its way to a lane.

    Attributes:
        number: Unique in the pool.
        work: What to do.
        begin: Where its share of the work begins, 0 to 1.
        share: How much of the work.
        limit: Seconds after which it counts as hung and its lane is replaced.
    """

    number: int
    work: Work
    begin: float = 0.0
    share: float = 1.0
    limit: float = math.inf


class LaneError(HybridSchedulerError):
    """A lane was lost, did not come up, or was ended while it ran a job."""


class Ending(Enum):
    """How a job ended."""

    DONE = auto()
    RAISED = auto()
    """The work raised an error; the lane is well."""
    TOO_LARGE = auto()
    """The device's memory was too small; the lane is well."""
    DIED = auto()
    """The lane was lost while it ran."""
    HUNG = auto()
    """It ran past its limit and its lane was ended."""
    CANCELLED = auto()
    """Its lane was ended because somebody asked (`Lanes.cancel`)."""


LANE_LOST = (Ending.DIED, Ending.HUNG, Ending.CANCELLED)
"""How a job ends whose lane is lost with it."""


@dataclass(frozen=True, slots=True)
class Report:
    """A job has ended.

    Attributes:
        number: Which.
        lane: Where.
        ending: How.
        start: When it began to run, by `Lanes.clock`.
        end: When it ended.
        result: What it gave back; of a job that is not `DONE`, nothing but what was measured.
        joules: Energy the device took meanwhile; not a number where the machine does not tell.
        error: Why it is not `DONE`: what was raised, with the lane's traceback as its cause, or a `LaneError`.
    """

    number: int
    lane: int
    ending: Ending
    start: float
    end: float
    result: WorkResult = WorkResult()
    joules: float = math.nan
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class LaneChange:
    """A lane has gone, or is there (again).

    Attributes:
        lane: Which.
        up: Whether it can take a job now.
        final: It is down and will not come back.
    """

    lane: int
    up: bool
    final: bool = False


Event = Report | LaneChange


class Lanes(ABC):
    """A pool of lanes, one for each row of `cluster`. Used by one thread at a time, but for `wake`.

    Lanes come up after the pool was made and say so (`LaneChange`), as they do when one was lost and is replaced. A
    lane gets one job at a time: none before it is up, and the next only after the last one's report. One whose job
    ended as `DIED`, `HUNG` or `CANCELLED` is down until it says that it is up.

    Attributes:
        cluster: The devices, in the order of the lanes; figures nobody measured are the defaults.
    """

    cluster: ClusterSpec

    @property
    def hardware(self) -> tuple[str, ...]:
        """What each lane's device is, so that lanes of the same word are expected to take the same time."""
        return tuple(f"{device.kind} of node {device.node}" for device in self.cluster.devices)

    @property
    def links(self) -> FloatArray:
        """Seconds a megabyte takes between devices (`ClusterView.links`); empty where nobody measured."""
        return NO_TIMES

    @abstractmethod
    def clock(self) -> float:
        """Seconds, of the clock that `Report` speaks of."""

    @abstractmethod
    def send(self, lane: int, job: Job) -> None:
        """Give a lane its next job; returns at once.

        A job that cannot be sent (its work cannot be pickled) ends as `RAISED`.
        """

    @abstractmethod
    def wait(self, seconds: float) -> list[Event]:
        """What has happened since the last call, after waiting for at most so many seconds if that is nothing."""

    @abstractmethod
    def cancel(self, lane: int) -> None:
        """End what runs on a lane, by replacing it; its job is reported as `CANCELLED`."""

    @abstractmethod
    def wake(self) -> None:
        """Have `wait` return at once, from any thread."""

    @abstractmethod
    def close(self) -> None:
        """End every lane, whatever runs there; nothing of them is left. May be called twice."""


class ForwardedLanes(Lanes):
    """The lanes of another pool; a subclass changes what passes between them and the node.

    Args:
        lanes: The pool. Closing this closes it.
        cluster: What is said of its devices, instead of what it says itself.
    """

    def __init__(self, lanes: Lanes, cluster: ClusterSpec | None = None) -> None:
        self._lanes = lanes
        self.cluster = lanes.cluster if cluster is None else cluster

    @property
    def hardware(self) -> tuple[str, ...]:
        """See `Lanes.hardware`."""
        return self._lanes.hardware

    @property
    def links(self) -> FloatArray:
        """See `Lanes.links`."""
        return self._lanes.links

    def clock(self) -> float:
        """See `Lanes.clock`."""
        return self._lanes.clock()

    def send(self, lane: int, job: Job) -> None:
        """See `Lanes.send`."""
        self._lanes.send(lane, job)

    def wait(self, seconds: float) -> list[Event]:
        """See `Lanes.wait`."""
        return self._lanes.wait(seconds)

    def cancel(self, lane: int) -> None:
        """See `Lanes.cancel`."""
        self._lanes.cancel(lane)

    def wake(self) -> None:
        """See `Lanes.wake`."""
        self._lanes.wake()

    def close(self) -> None:
        """See `Lanes.close`."""
        self._lanes.close()
