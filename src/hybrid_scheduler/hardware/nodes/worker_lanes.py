"""Lanes that have a worker each, a process or an actor, which is replaced when it is lost: what such pools share."""

from __future__ import annotations

import math
import pickle
import weakref
from abc import abstractmethod
from enum import Enum, auto
from time import monotonic
from typing import Any, ClassVar, Generic, TypeVar

from hybrid_scheduler.hardware.nodes.lanes import (
    Ending,
    Event,
    Job,
    LaneChange,
    LaneError,
    Lanes,
    Report,
    Work,
    WorkResult,
)
from hybrid_scheduler.hardware.nodes.pickling import RemoteTraceback, dumps
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.hardware.nodes.worker import DONE, TOO_LARGE

START_LIMIT = 300.0
"""Seconds after which a worker that has not come up, or a job that is not prepared, counts as hung."""
FRUITLESS_STARTS = 3
"""After so many workers in a row that ended before they were given a job, a lane stays down."""
LONGEST_PAUSE = 1.0
"""Seconds the system is asked to wait at once: a signal that comes just before would be heard of only after them."""


class LaneState(Enum):
    """How a lane is."""

    STARTING = auto()
    UP = auto()
    ENDING = auto()
    """Its worker was killed and is not gone yet."""
    LOST = auto()


class WorkerLane:
    """One lane, its worker's state, and its job.

    Attributes:
        number: Which lane.
        slot: Its share of its machine.
        state: How it is.
        job: What it runs; None when nothing.
        since: When the worker was started, the job was sent, or it began once it was prepared.
        deadline: When what it does counts as hung.
        jobs: How many jobs this worker was given.
        fruitless: How many workers in a row ended before they were given any.
    """

    def __init__(self, number: int, slot: Slot) -> None:
        self.number, self.slot = number, slot
        self.state = LaneState.LOST
        self.job: Job | None = None
        self.since, self.deadline = math.nan, math.inf
        self.jobs = self.fruitless = 0

    def note_start(self) -> None:
        """A worker is being started."""
        self.state, self.jobs = LaneState.STARTING, 0
        self.since = monotonic()
        self.deadline = self.since + START_LIMIT

    def note_begun(self, now: float) -> None:
        """The job, if it has not ended meanwhile, is prepared and begins."""
        if self.job is not None:
            self.since, self.deadline = now, now + self.job.limit


Lane = TypeVar("Lane", bound=WorkerLane)


class WorkerLanes(Lanes, Generic[Lane]):
    """A pool that keeps account of its lanes and of what is to be told; a subclass starts, hears and kills the workers.

    Attributes:
        slots: The lanes, each with its share of its machine.
    """

    slots: tuple[Slot, ...]
    _worker: ClassVar[str]
    """What a worker is: `process` or `actor`."""
    _closing: weakref.finalize[Any, Any]

    def __init__(self) -> None:
        self._lanes: list[Lane] = []
        self._events: list[Event] = []
        self._is_woken = False

    @property
    def hardware(self) -> tuple[str, ...]:
        """Processor and threads of a CPU's lane, the product of a GPU's."""
        return tuple(slot.hardware or slot.device.kind for slot in self.slots)

    def clock(self) -> float:
        """`time.monotonic` of this machine, which all its processes share; times of other machines are converted."""
        return monotonic()

    def send(self, lane: int, job: Job) -> None:
        """Give a lane its next job.

        Raises:
            LaneError: The lane is not up, or has a job.
        """
        it = self._lanes[lane]
        if it.state is not LaneState.UP or it.job is not None:
            raise LaneError(f"{it.slot.device.name} cannot take job {job.number}: it is not up, or has a job")
        prepares = type(job.work).prepare is not Work.prepare
        now = monotonic()
        try:
            message = dumps((job.work, job.begin, job.share, prepares))
        except Exception as error:  # noqa: BLE001 (the classes of a work may raise anything; it is reported)
            self._events.append(Report(job.number, lane, Ending.RAISED, now, now, error=error))
            return
        it.job, it.since = job, now
        it.deadline = now + (START_LIMIT if prepares else job.limit)
        it.jobs += 1
        self._pass_on(it, message, prepares)

    def wait(self, seconds: float) -> list[Event]:
        """What has happened since the last call, after waiting for at most so many seconds if that is nothing.

        Raises:
            LaneError: The lanes were closed.
        """
        if not self._closing.alive:
            raise LaneError("these lanes were closed; nothing will happen on them")
        until = monotonic() + seconds
        while not self._events and not self._is_woken:
            now = monotonic()
            due = min((lane.deadline for lane in self._lanes), default=math.inf)
            if due <= now:
                self._end_overdue(now)
            elif not self._listen(max(0.0, min(until - now, due - now, LONGEST_PAUSE))) and monotonic() >= until:
                break
        self._is_woken = False
        events, self._events = self._events, []
        return events

    def cancel(self, lane: int) -> None:
        """End what runs on a lane, by replacing its worker; nothing happens when its job has ended already."""
        it = self._lanes[lane]
        if it.job is not None:
            self._catch_up(it)
        if it.job is not None:
            said = f"job {it.job.number} on {it.slot.device.name} was cancelled"
            self._end(it, Ending.CANCELLED, said)

    def close(self) -> None:
        """Kill every worker, wait until it is gone, and let go of what they are reached by."""
        self._closing()

    # --- what a subclass does -----------------------------------------------------------------------------------------

    @abstractmethod
    def _start(self, lane: Lane) -> None:
        """Start a lane's worker."""

    @abstractmethod
    def _pass_on(self, lane: Lane, message: bytes, prepares: bool) -> None:
        """Send a worker its job, which it may prepare first."""

    @abstractmethod
    def _listen(self, seconds: float) -> bool:
        """Act on what workers say, and on `wake`, waiting for so long if that is nothing; whether there was any."""

    @abstractmethod
    def _catch_up(self, lane: Lane) -> None:
        """Act on what a lane's worker has said by now."""

    @abstractmethod
    def _kill(self, lane: Lane) -> None:
        """Kill a lane's worker, and replace it when it is gone."""

    # --- what it does for it ------------------------------------------------------------------------------------------

    def _start_all(self) -> None:
        """Start every worker, or close."""
        try:
            for lane in self._lanes:
                self._start(lane)
        except BaseException:
            self.close()
            raise

    # --- what it tells of its workers ---------------------------------------------------------------------------------

    def _come_up(self, lane: Lane) -> None:
        """A worker can take its first job."""
        lane.state, lane.deadline = LaneState.UP, math.inf
        self._events.append(LaneChange(lane.number, up=True))

    def _finish(self, lane: Lane, report: Report) -> None:
        """A job has ended; its worker is still there."""
        self._events.append(report)
        lane.job, lane.deadline = None, math.inf

    def _go_down(self, lane: Lane, ending: Ending, said: str) -> None:
        """A worker is gone, or is about to be: report the job that it cannot report any more, and that it is down."""
        if lane.job is not None:
            report = Report(lane.job.number, lane.number, ending, lane.since, monotonic(), error=LaneError(said))
            self._finish(lane, report)
        if lane.state is LaneState.UP:
            self._events.append(LaneChange(lane.number, up=False))
        lane.state, lane.deadline = LaneState.ENDING, math.inf

    def _stay_down(self, lane: Lane) -> None:
        """A lane gets no worker any more."""
        lane.state = LaneState.LOST
        self._events.append(LaneChange(lane.number, up=False, final=True))

    def _end(self, lane: Lane, ending: Ending, said: str) -> None:
        self._go_down(lane, ending, said)
        self._kill(lane)

    def _end_overdue(self, now: float) -> None:
        for lane in self._lanes:
            if lane.deadline <= now:
                what = f"its {self._worker}" if lane.job is None else f"job {lane.job.number}"
                said = f"{what} on {lane.slot.device.name} was not done after {now - lane.since:.3g} s"
                self._end(lane, Ending.HUNG, said)


def report_of(lane: WorkerLane, job: Job, message: bytes | bytearray) -> Report:
    """What a worker says of a job, by the clock of its machine."""
    try:
        code, start, end, joules, *rest = pickle.loads(message)
        if code == DONE:
            return Report(job.number, lane.number, Ending.DONE, start, end, WorkResult(*rest), joules)
        pickled, text = rest
        error: BaseException = pickle.loads(pickled)
    except Exception as raised:  # noqa: BLE001 (the classes of a result may raise anything; it is reported)
        return Report(job.number, lane.number, Ending.RAISED, lane.since, monotonic(), error=raised)
    error.__cause__ = RemoteTraceback(text)
    ending = Ending.TOO_LARGE if code == TOO_LARGE else Ending.RAISED
    return Report(job.number, lane.number, ending, start, end, joules=joules, error=error)
