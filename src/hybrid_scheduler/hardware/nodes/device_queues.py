"""The queues of a real node's devices: parts in the order they were decided, one at a time on its lane."""

from __future__ import annotations

import math
from collections import deque

from hybrid_scheduler.hardware.nodes.lanes import Job, Lanes
from hybrid_scheduler.hardware.nodes.real_task import RealPart
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, QUEUED, SINCE
from hybrid_scheduler.model.task import FloatArray

OVERRUN_SHARE = 0.25
"""A part that overruns its expected time counts as this share of the time it has run (SPEC section 4)."""


class DeviceQueues:
    """Feeds lanes, and keeps the visible columns of the device table.

    Args:
        lanes: Where parts run.
        devices: The device table; its columns that change are written here alone. Every device is down at first.
    """

    def __init__(self, lanes: Lanes, devices: FloatArray) -> None:
        self._lanes, self._devices = lanes, devices
        self._queues: list[deque[RealPart]] = [deque() for _ in devices]
        self._expected = [0.0] * len(devices)
        self._up = [False] * len(devices)
        self._jobs: dict[int, RealPart] = {}
        self._count = 0
        devices[:, AVAILABLE] = 0.0

    @property
    def running(self) -> int:
        """How many parts are with their lanes."""
        return len(self._jobs)

    def note_lane(self, lane: int, up: bool) -> None:
        """A lane has come up, or has gone."""
        self._up[lane] = up
        self._devices[lane, AVAILABLE] = 1.0 if up else 0.0

    @property
    def any_up(self) -> bool:
        """Whether some lane is up."""
        return any(self._up)

    @property
    def any_idle(self) -> bool:
        """Whether some lane is up and has nothing to do."""
        return any(up and not queue for up, queue in zip(self._up, self._queues, strict=True))

    def append(self, part: RealPart) -> None:
        """Queue a part."""
        self._queues[part.device].append(part)
        self._expected[part.device] += part.expected
        self._devices[part.device, QUEUED] += 1.0

    def remove(self, part: RealPart) -> None:
        """Take a part out of its queue."""
        queue = self._queues[part.device]
        queue.remove(part)
        self._expected[part.device] = self._expected[part.device] - part.expected if queue else 0.0
        self._devices[part.device, QUEUED] -= 1.0

    def next_part(self, lane: int) -> RealPart | None:
        """What a lane is to be sent next; None while it cannot take a part, or has none."""
        queue = self._queues[lane]
        return queue[0] if queue and not queue[0].is_sent and self._up[lane] else None

    def send(self, part: RealPart, now: float) -> None:
        """Send a part to its lane."""
        self._count += 1
        self._jobs[self._count], part.sent = part, now
        self._lanes.send(part.device, Job(self._count, part.owner.work, part.begin, part.share, part.owner.limit))

    def reported(self, number: int) -> RealPart | None:
        """The part whose job has ended, out of its queue; None for a job that nobody knows."""
        part = self._jobs.pop(number, None)
        if part is not None:
            self.remove(part)
        return part

    def unsent(self, lane: int) -> list[RealPart]:
        """The parts that wait for a lane."""
        return [part for part in self._queues[lane] if not part.is_sent]

    def busy_lanes(self) -> list[int]:
        """The lanes that have a part."""
        return [lane for lane, queue in enumerate(self._queues) if queue and queue[0].is_sent]

    def look(self, now: float) -> None:
        """Bring the visible columns up to date."""
        for lane, queue in enumerate(self._queues):
            row = self._devices[lane]
            if not queue:
                row[SINCE], row[BACKLOG] = math.nan, 0.0
                continue
            head, backlog = queue[0], self._expected[lane]
            if head.is_sent:
                ran = max(now - head.sent, 0.0)
                left = head.expected - ran if ran < head.expected else OVERRUN_SHARE * ran
                row[SINCE], backlog = head.sent, backlog + left - head.expected
            else:
                row[SINCE] = math.nan
            row[BACKLOG] = max(backlog, 0.0)
