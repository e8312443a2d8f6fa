"""A machine's lanes as one of several nodes sees them that use them in turn: by a clock that stands still meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hybrid_scheduler.hardware.nodes.lanes import Event, ForwardedLanes, Job, LaneChange
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.model.task import FloatArray


class TurnLanes(ForwardedLanes):
    """Lanes for one scheduler of several. Between two of its turns its clock stands still and nothing happens.

    Args:
        shared: The lanes of all.
        heard: Told of every lane that has gone or is there.

    Attributes:
        seconds: How long its turns have lasted, those that are over.
    """

    def __init__(self, shared: ReusedLanes, heard: Callable[[LaneChange], None]) -> None:
        super().__init__(shared)
        self._shared, self._heard = shared, heard
        self.seconds = self._moment = 0.0
        self._since: float | None = None
        self._busy = np.zeros(len(self.cluster.devices))
        self._sent: dict[int, float] = {}

    @property
    def idle(self) -> bool:
        """Whether nothing it sent still runs."""
        return not self._sent

    def begin_turn(self, moment: float) -> None:
        """Let its clock go on, from a moment that is not before the one where it stood still."""
        self._moment, self._since = moment, self._shared.clock()
        self._shared.begin_turn()

    def end_turn(self) -> None:
        """Let its clock stand still."""
        self.seconds += self.clock() - self._moment
        self._moment, self._since = self.clock(), None

    def clock(self) -> float:
        """See `Lanes.clock`."""
        return self._moment + (0.0 if self._since is None else self._shared.clock() - self._since)

    def raced_seconds(self) -> float:
        """How long its turns have lasted, the present one included."""
        return self.seconds + self.clock() - self._moment

    def busy_seconds(self) -> FloatArray:
        """How long every lane has worked for it, up to now."""
        busy, now = self._busy.copy(), self.clock()
        for lane, sent in self._sent.items():
            busy[lane] += now - sent
        return busy

    def send(self, lane: int, job: Job) -> None:
        """See `Lanes.send`."""
        self._sent[lane] = self.clock()
        self._shared.send(lane, job)

    def wait(self, seconds: float) -> list[Event]:
        """See `Lanes.wait`."""
        return [] if self._since is None else [self._by_own_clock(event) for event in self._shared.wait(seconds)]

    def close(self) -> None:
        """Nothing: the lanes belong to all."""

    def carry_over(self, earlier: TurnLanes) -> None:
        """Count what another has counted that stood here before."""
        self.seconds, self._busy = earlier.seconds, earlier._busy

    def _by_own_clock(self, event: Event) -> Event:
        if isinstance(event, LaneChange):
            self._heard(event)
            return event
        self._sent.pop(event.lane, None)
        self._busy[event.lane] += max(event.end - event.start, 0.0)
        shift = self._moment - (self._since or 0.0)
        return replace(event, start=event.start + shift, end=event.end + shift)
