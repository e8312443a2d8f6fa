"""Shortest job first: tasks wait, and of those that would start now the shortest starts."""

from __future__ import annotations

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import TASK_MEMORY, TASK_WIDTH
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import CompiledDispatcher, Explanation, dispatch_kernel
from hybrid_scheduler.schedulers.late_binding import explained, idle_pair, start_now


@dispatch_kernel
def _policy(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    pair = idle_pair(devices)
    for row in range(waiting.shape[0]):
        memory, width = waiting[row, TASK_MEMORY], waiting[row, TASK_WIDTH]
        parts = start_now(now, memory, times[row], devices, facts, pair, out, width)
        if parts > 0:
            out[CHOSEN, 0] = row
            return parts
    return 0


class ShortestJobFirst(CompiledDispatcher):
    """Shortest job first on estimates: tasks wait for the device that would finish them first, short ones overtake.

    The rule of Smith, "Various optimizers for single-stage production", Naval Res. Logist. Q. 3 (1956), carried over to
    unlike devices. It looks at a few of the shortest and of the oldest waiting tasks, so a decision costs the same
    however many wait. Nothing keeps long tasks from starving under overload.

    Args:
        shown_shortest: How many of the shortest waiting tasks it looks at.
        shown_oldest: How many of the oldest it looks at besides.
    """

    uses_estimates = True
    idle_only = True
    first_fit = True
    kernel = _policy

    def __init__(self, shown_shortest: int = 8, shown_oldest: int = 1) -> None:
        for name, value in (("shown_shortest", shown_shortest), ("shown_oldest", shown_oldest)):
            within(name, value, 0, 1000)
        if shown_shortest + shown_oldest == 0:
            raise InvalidInputError("shown_shortest and shown_oldest are both 0; it must look at something")
        self.shown_shortest = shown_shortest
        self.shown_oldest = shown_oldest

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Which device would finish it first, and whether that is idle."""
        return explained(task, view, "shorter tasks go first")

    def expected_start(self, task: Task, waiting: WaitingRoom, view: ClusterView) -> float | None:
        """When the devices, taken together, have done what is queued and what is shorter."""
        return self._expected_start(task, waiting, view, shortest_first=True)
