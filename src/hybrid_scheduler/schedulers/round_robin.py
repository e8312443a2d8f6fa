"""Round robin, the rule that looks at nothing."""

from __future__ import annotations

from hybrid_scheduler.model.device_columns import CPU, GPU
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledScheduler, Explanation, kernel
from hybrid_scheduler.schedulers.choose import in_turn, shared, whole


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    if number % 2 == 1:
        cpu = in_turn(devices, CPU, number // 2)
        return whole(out, cpu if cpu >= 0 else in_turn(devices, GPU, number // 2), 0.0)
    return shared(out, devices, in_turn(devices, GPU, number // 2), 0.5)


class RoundRobin(CompiledScheduler):
    """Takes turns: every other task half on a GPU (GPUs in turn), the rest whole on the CPU."""

    kernel = _policy

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The one fact it goes by."""
        turn = "the CPU's turn" if view.number % 2 else "a GPU's turn, half of the task"
        return Explanation(f"Decision number {view.number}: {turn}.")
