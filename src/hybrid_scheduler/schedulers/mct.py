"""Minimum completion time, the reference for immediate decisions."""

from __future__ import annotations

from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, kernel
from hybrid_scheduler.schedulers.choose import whole, whole_device


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    best = whole_device(devices, times, task[TASK_MEMORY])
    return whole(out, best, times[FIXED, best] + times[SHARED, best])


class MinimumCompletionTime(CompiledScheduler):
    """Minimum completion time on estimates: the device where backlog plus estimated time is least, whole tasks.

    The MCT heuristic of Braun et al., "A comparison of eleven static heuristics for mapping a class of independent
    tasks onto heterogeneous distributed computing systems", J. Parallel Distrib. Comput. 61 (2001), here on line: a
    device where the task does not fit is passed over unless no other is up.
    """

    uses_estimates = True
    kernel = _policy

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The times it goes by."""
        return Explanation("Where backlog plus estimated time is least.", view.times.sum(axis=0))
