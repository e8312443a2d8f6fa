"""Deque model data aware: completion times that know where the data is."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import Explanation, Scheduler
from hybrid_scheduler.schedulers.choose import may_run


class DequeModelDataAware(Scheduler):
    """Places a task when it is ready, on estimates, where it is done first: queue, the way of its data and its time.

    The `dmda` policy of StarPU: Augonnet, Thibault, Namyst and Wacrenier, "StarPU: a unified platform for task
    scheduling on heterogeneous multicore architectures", Concurrency Computat.: Pract. Exper. 23 (2011). Data is on its
    way while the device is still busy. Whole tasks; a device where a task does not fit is passed over unless no other
    is up.
    """

    uses_estimates = True

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """The device with the earliest expected end, the lowest of equals."""
        ends = _ends(task, view)
        device = int(ends.argmin())
        return Decision.whole(device, float(ends[device] - view.backlog[device]))

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The seconds from now on to its end on each device."""
        return Explanation("Where queue, data and estimated time together end first.", _ends(task, view))


def _ends(task: Task, view: ClusterView) -> FloatArray:
    """In how many seconds each device would have done a task."""
    data = view.data_ready(task) - view.now
    seconds = view.times.sum(axis=0) - data  # the times of a ready task have the wait for its data in them
    allowed = [up > 0.0 and may_run(task, device, view) for device, up in enumerate(view.available.tolist())]
    ends: FloatArray = np.where(allowed, np.maximum(view.backlog, data) + seconds, np.inf)
    return ends
