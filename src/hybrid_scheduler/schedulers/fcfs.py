"""First come, first served: tasks wait in one queue for the device that would finish them first."""

from __future__ import annotations

from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import TASK_MEMORY, TASK_WIDTH
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledDispatcher, Explanation, dispatch_kernel
from hybrid_scheduler.schedulers.late_binding import explained, idle_pair, start_now


@dispatch_kernel
def _policy(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    pair = idle_pair(devices)
    out[CHOSEN, 0] = 0.0
    width = waiting[0, TASK_WIDTH]
    return start_now(now, waiting[0, TASK_MEMORY], times[0], devices, facts, pair, out, width)


class FirstComeFirstServed(CompiledDispatcher):
    """First come, first served on estimates: one queue, whose head starts on the device that would finish it first.

    Late binding: nobody overtakes, and a task at the head waits until the device that
    would finish it first is idle, as a plain batch system without backfilling does.
    """

    uses_estimates = True
    idle_only = True
    kernel = _policy
    shown_shortest = 0
    shown_oldest = 1

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Which device would finish it first, and whether that is idle."""
        return explained(task, view, "tasks that came before it go first")
