"""Opportunistic load balancing, the rule that only wants devices busy."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, kernel
from hybrid_scheduler.schedulers.choose import whole, whole_device


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    best = whole_device(devices, np.zeros_like(times), task[TASK_MEMORY])
    return whole(out, best, times[FIXED, best] + times[SHARED, best])


class OpportunisticLoadBalancing(CompiledScheduler):
    """Opportunistic load balancing: the device that is expected to be free first, however slow it is for the task.

    The OLB heuristic of Braun et al., "A comparison of eleven static heuristics for mapping a class of independent
    tasks onto heterogeneous distributed computing systems", J. Parallel Distrib. Comput. 61 (2001). Estimates tell it
    when devices are free, nothing else; the lowest of equals is taken. A device where the task does not fit is passed
    over unless no other is up.
    """

    uses_estimates = True
    kernel = _policy

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The one thing it goes by."""
        return Explanation("The device that is expected to be free first.", view.times.sum(axis=0))
