"""Functions on their way to lanes: pickled once, and sent once to each lane."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from hybrid_scheduler.executor.call import Call, Code, UnknownFunctionError
from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, ForwardedLanes, Job, LaneChange, Lanes
from hybrid_scheduler.hardware.nodes.measured_times import Measured, MeasuredTimes
from hybrid_scheduler.hardware.nodes.pickling import dumps
from hybrid_scheduler.model.task import Task

DIGEST_BYTES = 16
NAMED = (FunctionType, BuiltinFunctionType, type)
"""What does not change, as objects with a state do: those travel with every call."""


class Functions:
    """The functions that were submitted, each pickled when it was first seen and never again.

    What a function refers to outside its arguments (globals of `__main__`, variables of a closure) travels as it was
    then.
    """

    def __init__(self) -> None:
        self._codes: WeakKeyDictionary[Callable[..., Any], Code] = WeakKeyDictionary()

    def code(self, function: Callable[..., Any]) -> Code:
        """A function as it travels.

        Raises:
            Exception: It cannot be pickled.
        """
        if not isinstance(function, NAMED):
            return Code(b"", function=function)
        code = self._codes.get(function)
        if code is None:
            pickled = dumps(function)
            code = self._codes[function] = Code(blake2b(pickled, digest_size=DIGEST_BYTES).digest(), pickled)
        return code


class FunctionLanes(ForwardedLanes):
    """Lanes that are sent each function once.

    Args:
        lanes: Where calls run; closed with this.
    """

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(lanes)
        self._kinds = [device.kind for device in lanes.cluster.devices]
        self._known: list[set[bytes]] = [set() for _ in self._kinds]
        self._jobs: dict[int, Job] = {}
        """What every lane is doing."""
        self._was_first = [False] * len(self._kinds)
        self._counts = [1] * len(self._kinds)

    def send(self, lane: int, job: Job) -> None:
        """See `Lanes.send`."""
        work = job.work
        if isinstance(work, Call):
            self._jobs[lane] = job
            kind = self._kinds[lane]
            sent = work.sent(kind, known=work.code(kind).digest in self._known[lane])
            job = Job(job.number, sent, job.begin, job.share, job.limit)
        self._lanes.send(lane, job)

    def wait(self, seconds: float) -> list[Event]:
        """See `Lanes.wait`."""
        return [event for event in self._lanes.wait(seconds) if not self._sends_again(event)]

    def was_first(self, lane: int) -> bool:
        """Whether the last call that a lane has done was its first of that function."""
        return self._was_first[lane]

    def calls_done(self, lane: int) -> int:
        """How many calls were in what a lane has done last."""
        return self._counts[lane]

    def _sends_again(self, event: Event) -> bool:
        """Note what a lane knows by now; whether it had forgotten a function, which it is sent again."""
        if isinstance(event, LaneChange):
            self._known[event.lane].clear()
            return False
        job = self._jobs.pop(event.lane, None)  # its arguments may be large
        if job is None or not isinstance(job.work, Call):
            return False
        if event.ending is Ending.DONE:
            digest, known = job.work.code(self._kinds[event.lane]).digest, self._known[event.lane]
            self._was_first[event.lane], self._counts[event.lane] = digest not in known, job.work.count
            known.add(digest)
        elif event.ending is Ending.RAISED and isinstance(event.error, UnknownFunctionError):
            self._known[event.lane].clear()
            self.send(event.lane, job)
            return True
        return False


class WarmTimes(MeasuredTimes):
    """Measured times without the first call of each function on each lane, which loads libraries and compiles.

    Such a time would say of a GPU that it is slow, and it would never be tried again.

    Args:
        lanes: Where calls run.
        known: What was measured before.
    """

    def __init__(self, lanes: FunctionLanes, known: Iterable[Measured] = ()) -> None:
        super().__init__(lanes.hardware, known)
        self._lanes = lanes

    def learn(self, task: Task, lane: int, seconds: float) -> None:
        """See `Times.learn`."""
        if not self._lanes.was_first(lane):
            super().learn(task, lane, seconds / self._lanes.calls_done(lane))
