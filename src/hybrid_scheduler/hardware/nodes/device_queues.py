"""The queues of a real node's devices: parts in the order they were decided, one at a time on its lane."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from hybrid_scheduler.hardware.nodes.lanes import Job, LaneChange, Lanes
from hybrid_scheduler.hardware.nodes.real_task import RealPart, RealTask
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, QUEUED, SINCE
from hybrid_scheduler.model.task import FloatArray

OVERRUN_SHARE = 0.25
"""A part that overruns its expected time counts as this share of the time it has run (SPEC section 4)."""


class DeviceQueues:
    """Feeds lanes, keeps the visible columns of the device table, and says what each device can run.

    Args:
        lanes: Where parts run.
        devices: The device table; its columns that change are written here alone. Every device is down at first.
    """

    def __init__(self, lanes: Lanes, devices: FloatArray) -> None:
        self._lanes, self._devices = lanes, devices
        self._queues: list[deque[RealPart]] = [deque() for _ in devices]
        self._expected = [0.0] * len(devices)
        self._hardware = lanes.hardware
        self._up, self._gone = [False] * len(devices), [False] * len(devices)
        self._jobs: dict[int, RealPart] = {}
        self._count = 0
        devices[:, AVAILABLE] = 0.0

    # --- which devices there are, and what they can run ---------------------------------------------------------------

    def note_change(self, change: LaneChange) -> None:
        """A lane has come up, or has gone, perhaps for good."""
        self._gone[change.lane] = change.final
        self._note_up(change.lane, change.up)

    def note_lost(self, lane: int) -> None:
        """A lane has gone, with what ran there."""
        self._note_up(lane, False)

    def _note_up(self, lane: int, up: bool) -> None:
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

    @property
    def any_to_come(self) -> bool:
        """Whether some lane is down and may come up."""
        return any(not up and not gone for up, gone in zip(self._up, self._gone, strict=True))

    @property
    def all_gone(self) -> bool:
        """Whether every lane is down for good."""
        return all(self._gone)

    def runs_now(self, each: RealTask) -> bool:
        """Whether a device that is up can run a task."""
        return any(up and self._takes(each, lane) for lane, up in enumerate(self._up))

    def able(self, each: RealTask) -> bool:
        """Whether a device can run a task that is up or may come up."""
        return any(not gone and self._takes(each, lane) for lane, gone in enumerate(self._gone))

    def possible(self, each: RealTask, decision: Decision) -> Sequence[Part]:
        """The parts of a decision as devices that are up can carry them out; one of them can run the task."""
        if len(decision.parts) > 1:
            if each.work.divisible and all(self._takes(each, part.device) for part in decision.parts):
                return decision.parts
            larger = max(decision.parts, key=lambda part: part.share)
            decision = Decision.whole(larger.device, larger.expected / larger.share)
        if self._takes(each, decision.parts[0].device):
            return decision.parts
        up = [lane for lane, up in enumerate(self._up) if up and self._takes(each, lane)]
        devices = self._lanes.cluster.devices
        node = devices[decision.parts[0].device].node
        return (Part(min(up, key=lambda lane: (devices[lane].node != node, self._devices[lane, QUEUED]))),)

    def _takes(self, each: RealTask, lane: int) -> bool:
        kind = self._lanes.cluster.devices[lane].kind
        return each.work.runs_on(kind) and self._hardware[lane] not in each.excluded

    # --- the queues ---------------------------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        """How many parts are with their lanes."""
        return len(self._jobs)

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
