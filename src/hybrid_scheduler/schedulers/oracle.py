"""The oracle: knows the physics, and looks one task ahead."""

from __future__ import annotations

from hybrid_scheduler.model.device_columns import GPU
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import TASK_MEMORY
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.optimum import earliest_finish
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, kernel
from hybrid_scheduler.schedulers.choose import whole_on


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    parts = earliest_finish(now, task[TASK_MEMORY], devices, times, free, facts, out)
    if parts > 0:
        return parts
    # Nothing fits and no CPU is up: any GPU will do, the memory policy has the last word.
    return whole_on(out, devices, GPU)


class Oracle(CompiledScheduler):
    """Knows true times and true queues: tries every device and every 5 % split and takes the earliest finish.

    A reference, never for production. It is myopic (best for *this* task), so under load others can beat its mean
    response time.
    """

    knows_truth = True
    kernel = _policy

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The times it goes by."""
        return Explanation(
            "Earliest finish of all devices and splits, by true times and true queues.", view.times.sum(axis=0)
        )
