"""Greedy by compute intensity."""

from __future__ import annotations

from hybrid_scheduler.model.device_columns import ANY_NODE, GPU
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import TASK_INTENSITY
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, kernel
from hybrid_scheduler.schedulers.choose import least_loaded, shared


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    return shared(out, devices, least_loaded(devices, GPU, ANY_NODE), task[TASK_INTENSITY])


class Greedy(CompiledScheduler):
    """Gives the GPU a share equal to the task's compute intensity, on the least-loaded GPU."""

    kernel = _policy

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The one fact it goes by."""
        return Explanation(f"Compute intensity {task.compute_intensity:g} is the GPU's share; least-loaded GPU.")
