"""Lanes that are processes of this machine: one warm worker for each device.

Processes, not threads: a lane sees its own GPU and cores only, is ended in the middle of anything, and takes nothing
along when it dies. They are started afresh (no fork, no `__main__` guard needed) and spoken to over sockets without
threads in between, so that a job costs some tens of microseconds.
"""

from __future__ import annotations

import logging
import os
import subprocess
import weakref
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum, auto
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from socket import socketpair
from time import monotonic
from typing import Any, ClassVar

from hybrid_scheduler.hardware.nodes.lanes import Ending, Work
from hybrid_scheduler.hardware.nodes.pickling import dumps
from hybrid_scheduler.hardware.nodes.slot import Slot
from hybrid_scheduler.hardware.nodes.worker import BEGINS
from hybrid_scheduler.hardware.nodes.worker_lanes import FRUITLESS_STARTS, LaneState, WorkerLane, WorkerLanes, report_of
from hybrid_scheduler.hardware.nodes.worker_process import WorkerProcess, after_interrupts
from hybrid_scheduler.physics.device import ClusterSpec

END_SECONDS = 10.0
"""How long `close` waits for a process that was killed; one that the system itself does not let go stays longer."""

_LOG = logging.getLogger(__name__)


class _Heard(Enum):
    """What the selector waits for."""

    WAKE = auto()
    MESSAGE = auto()
    END = auto()


class _Lane(WorkerLane):
    """A lane and its process."""

    def __init__(self, number: int, slot: Slot) -> None:
        super().__init__(number, slot)
        self.process: WorkerProcess | None = None


class ProcessLanes(WorkerLanes[_Lane]):
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

    _worker: ClassVar[str] = "process"

    def __init__(self, slots: Sequence[Slot], *, warm_up: Work | None = None) -> None:
        super().__init__()
        self.cluster = ClusterSpec(tuple(slot.device for slot in slots))
        self.slots = tuple(slots)
        self._warm_up = dumps(warm_up)
        self._selector = DefaultSelector()
        self._woken, self._wake = socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._processes: set[WorkerProcess] = set()
        self._closing = weakref.finalize(
            self, _close, os.getpid(), self._processes, self._selector, self._woken, self._wake
        )
        self._selector.register(self._woken, EVENT_READ, (_Heard.WAKE, None))
        self._lanes = [_Lane(number, slot) for number, slot in enumerate(slots)]
        self._start_all()

    @property
    def pids(self) -> tuple[int | None, ...]:
        """The process of each lane; None where there is none now."""
        return tuple(None if lane.process is None else lane.process.pid for lane in self._lanes)

    def wake(self) -> None:
        """Have `wait` return at once, from any thread."""
        with suppress(OSError):  # it is full of calls like this one, or closed
            self._wake.send(b"w")

    def _pass_on(self, lane: _Lane, message: bytes, prepares: bool) -> None:
        """See `WorkerLanes`; what the socket does not take at once follows during `wait`."""
        process = lane.process
        assert process is not None  # it is up
        with suppress(OSError):  # then its process is gone, as `wait` finds out
            process.channel.send(message)
            if process.channel.unsent:
                self._selector.modify(process.channel, EVENT_READ | EVENT_WRITE, (_Heard.MESSAGE, lane))

    def _listen(self, seconds: float) -> bool:
        ready = self._selector.select(seconds)
        for key, mask in ready:
            heard, lane = key.data
            if heard is _Heard.MESSAGE:
                self._come(lane, mask)
            elif heard is _Heard.END:
                self._gone(lane)
            else:
                with suppress(BlockingIOError):
                    self._woken.recv(1 << 16)
                self._is_woken = True
        return bool(ready)

    def _catch_up(self, lane: _Lane) -> None:
        if lane.process is not None:
            self._take_messages(lane, lane.process)

    def _start(self, lane: _Lane) -> None:
        with after_interrupts():
            process = WorkerProcess(lane.slot, self._warm_up)
            self._processes.add(process)
        lane.process = process
        lane.note_start()
        self._selector.register(process.channel, EVENT_READ, (_Heard.MESSAGE, lane))
        if process.ended_fd is not None:
            self._selector.register(process.ended_fd, EVENT_READ, (_Heard.END, lane))

    def _come(self, lane: _Lane, mask: int) -> None:
        """A worker has said something, can be told more, or has closed its end."""
        process = lane.process
        if process is None or lane.state is LaneState.ENDING:
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
            if lane.state is LaneState.STARTING:
                self._come_up(lane)
            elif message == BEGINS:
                lane.note_begun(monotonic())
            elif lane.job is not None:
                self._finish(lane, report_of(lane, lane.job, message))
        return bool(messages)

    def _gone(self, lane: _Lane) -> None:
        """A process has ended; what it said last is still to be heard."""
        process = lane.process
        if process is None:
            return
        while lane.state is not LaneState.ENDING and self._take_messages(lane, process):
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
        ran = "" if lane.job is None else f" while it ran job {lane.job.number}"
        self._go_down(lane, Ending.DIED, f"the process of {lane.slot.device.name} {how}{ran}")
        lane.fruitless = 0 if lane.jobs else lane.fruitless + 1
        while lane.fruitless < FRUITLESS_STARTS:
            try:
                self._start(lane)
            except OSError as error:
                how = f"could not be started: {error}"
                lane.fruitless += 1
            else:
                return
        self._stay_down(lane)
        _LOG.error(
            "%s stays down: %d processes in a row ended before they had a job; the last %s",
            *(lane.slot.device.name, lane.fruitless, how),
        )

    def _kill(self, lane: _Lane) -> None:
        process = lane.process
        if process is None:
            return
        process.kill()
        if process.ended_fd is None:
            self._replace(lane, process)
        elif not process.channel.ended:
            self._selector.unregister(process.channel)


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
