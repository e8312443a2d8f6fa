"""Minimum execution time, the rule that looks at no queue."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, kernel
from hybrid_scheduler.schedulers.choose import fits, whole


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    best, least = -1, np.inf
    for fitting in (True, False):
        for d in range(devices.shape[0]):
            if devices[d, AVAILABLE] == 0.0 or (fitting and not fits(devices, d, task[TASK_MEMORY])):
                continue
            seconds = times[FIXED, d] + times[SHARED, d]
            if seconds < least or (seconds == least and devices[d, BACKLOG] < devices[best, BACKLOG]):
                best, least = d, seconds
        if best >= 0:
            break
    return whole(out, best, least)


class MinimumExecutionTime(CompiledScheduler):
    """Minimum execution time: the device where the task itself takes the least time, however long the queue there is.

    The MET heuristic of Braun et al., "A comparison of eleven static heuristics for mapping a class of independent
    tasks onto heterogeneous distributed computing systems", J. Parallel Distrib. Comput. 61 (2001). Of devices that
    take equally long, which the paper has none of, the one with the least backlog is taken. A device where the task
    does not fit is passed over unless no other is up.
    """

    uses_estimates = True
    kernel = _policy

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The times it goes by."""
        return Explanation("Where the task takes the least time by itself.", view.times.sum(axis=0))
