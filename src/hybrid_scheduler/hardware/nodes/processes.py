"""Lanes that are processes of this machine: one warm worker for each device.

Processes, not threads: a lane sees its own GPU and cores only, is ended in the middle of anything, and takes nothing
along when it dies. They are started afresh (no fork, no `__main__` guard needed) and spoken to over sockets without
threads in between, so that a job costs some tens of microseconds.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import subprocess
import weakref
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum, auto
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from socket import socketpair
from time import monotonic
from typing import Any

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
from hybrid_scheduler.hardware.nodes.worker import BEGINS, DONE, TOO_LARGE
from hybrid_scheduler.hardware.nodes.worker_process import WorkerProcess
from hybrid_scheduler.physics.device import ClusterSpec

START_LIMIT = 300.0
"""Seconds after which a process that has not come up, or a job that is not prepared, counts as hung."""
FRUITLESS_STARTS = 3
"""After so many processes in a row that ended before they were given a job, a lane stays down."""
END_SECONDS = 10.0
"""How long `close` waits for a process that was killed; one that the system itself does not let go stays longer."""

LONGEST_PAUSE = 1.0
"""Seconds the system is asked to wait at once: a signal that comes just before would be heard of only after them."""

_LOG = logging.getLogger(__name__)


class _State(Enum):
    STARTING = auto()
    UP = auto()
    ENDING = auto()
    """Its process was killed and is not gone yet."""
    LOST = auto()


class _Heard(Enum):
    """What the selector waits for."""

    WAKE = auto()
    MESSAGE = auto()
    END = auto()


class _Lane:
    """One lane, its process and its job."""

    def __init__(self, number: int, slot: Slot) -> None:
        self.number = number
        self.slot = slot
        self.process: WorkerProcess | None = None
        self.state = _State.ENDING
        self.job: Job | None = None
        self.since = math.nan
        """When the process was started, the job was sent, or it began once it was prepared."""
        self.deadline = math.inf
        self.given = False
        """Whether this process was ever given a job."""
        self.fruitless = 0
        """How many processes in a row ended before they were."""


class ProcessLanes(Lanes):
    """Worker processes of this machine, started when this is made and replaced when they are lost.

    The processes end when this is closed, collected, or when the process that made it ends, however it ends.

    Args:
        slots: The lanes, each with its share of the machine.
        warm_up: What every process runs before it is up, so that the first job does not pay for loading libraries and
            starting devices; a process in which it fails does not come up.

    Attributes:
        slots: As given.

    Raises:
        OSError: The system does not start a process.
    """

    def __init__(self, slots: Sequence[Slot], *, warm_up: Work | None = None) -> None:
        self.cluster = ClusterSpec(tuple(slot.device for slot in slots))
        self.slots = tuple(slots)
        self._warm_up = dumps(warm_up)
        self._events: list[Event] = []
        self._selector = DefaultSelector()
        self._woken, self._wake = socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._is_woken = False
        self._processes: set[WorkerProcess] = set()
        self._closing = weakref.finalize(
            self, _close, os.getpid(), self._processes, self._selector, self._woken, self._wake
        )
        self._selector.register(self._woken, EVENT_READ, (_Heard.WAKE, None))
        self._lanes = [_Lane(number, slot) for number, slot in enumerate(slots)]
        try:
            for lane in self._lanes:
                self._start(lane)
        except OSError:
            self.close()
            raise

    @property
    def hardware(self) -> tuple[str, ...]:
        """Processor and threads of a CPU's lane, the product of a GPU's."""
        return tuple(slot.hardware or slot.device.kind for slot in self.slots)

    @property
    def pids(self) -> tuple[int | None, ...]:
        """The process of each lane; None where there is none now."""
        return tuple(None if lane.process is None else lane.process.pid for lane in self._lanes)

    def clock(self) -> float:
        """`time.monotonic`, which all processes of a machine share."""
        return monotonic()

    def send(self, lane: int, job: Job) -> None:
        """Give a lane its next job; what the socket does not take at once follows during `wait`.

        Raises:
            LaneError: The lane is not up, or has a job.
        """
        it = self._lanes[lane]
        if it.state is not _State.UP or it.process is None or it.job is not None:
            raise LaneError(f"{it.slot.device.name} cannot take job {job.number}: it is not up, or has a job")
        prepares = type(job.work).prepare is not Work.prepare
        now = monotonic()
        try:
            message = dumps((job.work, job.begin, job.share, prepares))
        except Exception as error:  # noqa: BLE001 (the classes of a work may raise anything; it is reported)
            self._events.append(Report(job.number, lane, Ending.RAISED, now, now, error=error))
            return
        it.job = job
        it.since = now
        it.deadline = now + (START_LIMIT if prepares else job.limit)
        it.given = True
        with suppress(OSError):  # then its process is gone, as `wait` finds out
            it.process.channel.send(message)
            if it.process.channel.unsent:
                self._selector.modify(it.process.channel, EVENT_READ | EVENT_WRITE, (_Heard.MESSAGE, it))

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
                continue
            ready = self._selector.select(max(0.0, min(until - now, due - now, LONGEST_PAUSE)))
            for key, mask in ready:
                heard, lane = key.data
                if heard is _Heard.MESSAGE:
                    self._come(lane, mask)
                elif heard is _Heard.END:
                    self._gone(lane)
                else:
                    self._be_woken()
            if not ready and monotonic() >= until:
                break
        self._is_woken = False
        events, self._events = self._events, []
        return events

    def cancel(self, lane: int) -> None:
        """End what runs on a lane, by replacing its process; nothing happens when its job has ended already."""
        it = self._lanes[lane]
        if it.job is None or it.process is None:
            return
        self._take_messages(it, it.process)
        if it.job is not None:
            said = f"job {it.job.number} on {it.slot.device.name} was cancelled"
            self._end(it, Ending.CANCELLED, LaneError(said))

    def wake(self) -> None:
        """Have `wait` return at once, from any thread."""
        with suppress(OSError):  # it is full of calls like this one, or closed
            self._wake.send(b"w")

    def close(self) -> None:
        """Kill every process and wait until it is gone."""
        self._closing()

    def _be_woken(self) -> None:
        with suppress(BlockingIOError):
            self._woken.recv(1 << 16)
        self._is_woken = True

    def _start(self, lane: _Lane) -> None:
        process = WorkerProcess(lane.slot, self._warm_up)
        self._processes.add(process)
        lane.process = process
        lane.state = _State.STARTING
        lane.given = False
        lane.since = monotonic()
        lane.deadline = lane.since + START_LIMIT
        self._selector.register(process.channel, EVENT_READ, (_Heard.MESSAGE, lane))
        if process.ended_fd is not None:
            self._selector.register(process.ended_fd, EVENT_READ, (_Heard.END, lane))

    def _come(self, lane: _Lane, mask: int) -> None:
        """A worker has said something, can be told more, or has closed its end."""
        process = lane.process
        if process is None or lane.state is _State.ENDING:
            return
        if mask & EVENT_WRITE:
            with suppress(OSError):
                process.channel.flush()
            if not process.channel.unsent:
                self._selector.modify(process.channel, EVENT_READ, (_Heard.MESSAGE, lane))
        if mask & EVENT_READ:
            self._take_messages(lane, process)
            if process.channel.ended:
                process.kill()
                if process.ended_fd is None:
                    self._replace(lane, process)
                else:
                    self._selector.unregister(process.channel)

    def _take_messages(self, lane: _Lane, process: WorkerProcess) -> bool:
        """Hear what a worker has said; whether there was anything."""
        messages = process.channel.receive()
        for message in messages:
            if lane.state is _State.STARTING:
                lane.state = _State.UP
                lane.deadline = math.inf
                self._events.append(LaneChange(lane.number, up=True))
            elif lane.job is not None and message == BEGINS:
                lane.since = monotonic()
                lane.deadline = lane.since + lane.job.limit
            elif lane.job is not None:
                self._events.append(report_of(lane.number, lane.job, lane.since, message))
                lane.job = None
                lane.deadline = math.inf

        return bool(messages)

    def _gone(self, lane: _Lane) -> None:
        """A process has ended; what it said last is still to be heard."""
        process = lane.process
        if process is None:
            return
        while lane.state is not _State.ENDING and self._take_messages(lane, process):
            pass
        self._replace(lane, process)

    def _replace(self, lane: _Lane, process: WorkerProcess) -> None:
        """Let go of a process that has ended, or is just about to, and start another."""
        for heard in (process.channel, process.ended_fd):
            if heard is not None:
                with suppress(KeyError):
                    self._selector.unregister(heard)
        process.kill()
        how = process.wait()
        self._processes.discard(process)
        lane.process = None
        if lane.job is not None:
            error = LaneError(f"the process of {lane.slot.device.name} {how} while it ran job {lane.job.number}")
            self._lose_job(lane, Ending.DIED, error)
        if lane.state is _State.UP:
            self._events.append(LaneChange(lane.number, up=False))
        lane.state = _State.ENDING
        lane.deadline = math.inf
        if lane.given:
            lane.fruitless = 0
        else:
            lane.fruitless += 1
        while lane.fruitless < FRUITLESS_STARTS:
            try:
                self._start(lane)
            except OSError as error:
                how = f"could not be started: {error}"
                lane.fruitless += 1
            else:
                return
        lane.state = _State.LOST
        self._events.append(LaneChange(lane.number, up=False, final=True))
        _LOG.error(
            "%s stays down: %d processes in a row ended before they had a job; the last %s",
            *(lane.slot.device.name, lane.fruitless, how),
        )

    def _end_overdue(self, now: float) -> None:
        for lane in self._lanes:
            if lane.deadline <= now:
                what = "its process" if lane.job is None else f"job {lane.job.number}"
                said = f"{what} on {lane.slot.device.name} was not done after {now - lane.since:.3g} s"
                self._end(lane, Ending.HUNG, LaneError(said))

    def _end(self, lane: _Lane, ending: Ending, error: LaneError) -> None:
        """Kill a lane's process; it is replaced when it is gone."""
        process = lane.process
        if process is None:
            return
        self._lose_job(lane, ending, error)
        if lane.state is _State.UP:
            self._events.append(LaneChange(lane.number, up=False))
        lane.state = _State.ENDING
        lane.deadline = math.inf
        process.kill()
        if process.ended_fd is None:
            self._replace(lane, process)
        elif not process.channel.ended:
            self._selector.unregister(process.channel)

    def _lose_job(self, lane: _Lane, ending: Ending, error: LaneError) -> None:
        """Report what a worker cannot report any more."""
        if lane.job is not None:
            self._events.append(Report(lane.job.number, lane.number, ending, lane.since, monotonic(), error=error))
            lane.job = None


def report_of(lane: int, job: Job, since: float, message: bytes | bytearray) -> Report:
    """What a worker says of a job, by the clock of its machine."""
    try:
        code, start, end, joules, *rest = pickle.loads(message)
        if code == DONE:
            return Report(job.number, lane, Ending.DONE, start, end, WorkResult(*rest), joules)
        pickled, text = rest
        error: BaseException = pickle.loads(pickled)
    except Exception as raised:  # noqa: BLE001 (the classes of a result may raise anything; it is reported)
        return Report(job.number, lane, Ending.RAISED, since, monotonic(), error=raised)
    error.__cause__ = RemoteTraceback(text)
    ending = Ending.TOO_LARGE if code == TOO_LARGE else Ending.RAISED
    return Report(job.number, lane, ending, start, end, joules=joules, error=error)


def _close(owner: int, processes: set[WorkerProcess], selector: DefaultSelector, *sockets: Any) -> None:
    """Kill the processes and wait for them; nothing in a fork of the process that started them."""
    if os.getpid() != owner:
        return
    for process in processes:
        process.kill()
    for process in processes:
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            _LOG.error("process %d was killed, but the system does not let it go", process.pid)
    processes.clear()
    selector.close()
    for each in sockets:
        each.close()
