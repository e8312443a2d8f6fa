"""Tasks that a real node knows and cannot decide yet: those to come, and those that wait for their parents."""

from __future__ import annotations

import heapq
import math

from hybrid_scheduler.hardware.nodes.real_task import RealTask


class Arrivals:
    """Lets tasks in when they have arrived and all their parents are over, or one of these has failed."""

    def __init__(self) -> None:
        self._coming: list[tuple[float, int, RealTask]] = []
        self._blocked: dict[int, list[RealTask]] = {}

    @property
    def next(self) -> float:
        """When the next task arrives that is not over already; infinite when none is to come."""
        while self._coming and self._coming[0][2].outcome is not None:
            heapq.heappop(self._coming)
        return self._coming[0][0] if self._coming else math.inf

    def add(self, each: RealTask) -> None:
        """A task is to come."""
        heapq.heappush(self._coming, (each.task.arrival_time, each.task.task_id, each))

    def arrived(self, now: float) -> list[RealTask]:
        """The tasks that have come by now, without those that are over already or wait for parents."""
        arrived = []
        while self._coming and self._coming[0][0] <= now:
            _, _, each = heapq.heappop(self._coming)
            if each.outcome is not None:
                continue
            if each.failed_parent is None:
                each.parents = frozenset(parent for parent in each.parents if parent.outcome is None)
                if each.parents:
                    for parent in each.parents:
                        self._blocked.setdefault(parent.task.task_id, []).append(each)
                    continue
            arrived.append(each)
        return arrived

    def released(self, parent: RealTask) -> list[RealTask]:
        """The tasks that need to wait no longer, now that this one is over; all that waited for it, if it failed."""
        children = [each for each in self._blocked.pop(parent.task.task_id, ()) if each.outcome is None]
        if parent.error is not None:
            return children
        for each in children:
            each.parents -= {parent}
        return [each for each in children if not each.parents]
