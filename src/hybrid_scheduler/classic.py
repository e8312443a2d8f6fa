"""The class names users of the earlier system know: thin faces of the rooms behind them."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.base import Value
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.physics.device import GPU_MEMORY_MB, ClusterSpec
from hybrid_scheduler.schedulers.registry import create_scheduler

BASELINES = ("round_robin", "random", "greedy")


class VirtualMultiGPU:
    """A simulated node of one CPU and several equal GPUs.

    Args:
        num_gpus: Number of GPUs.
        memory_per_gpu: Megabytes of each.
    """

    def __init__(self, num_gpus: int = 4, memory_per_gpu: float = GPU_MEMORY_MB) -> None:
        self.num_gpus = num_gpus
        self.memory_per_gpu = memory_per_gpu
        self.cluster = ClusterSpec.default(num_gpus, memory_per_gpu)

    def evaluate_baseline_schedulers(
        self, tasks: TaskBatch | Iterable[Task], seed: int = 0
    ) -> dict[str, dict[str, Value]]:
        """Race the rules that learn nothing on these tasks, each on its own copy of the node.

        Args:
            tasks: A workload, or task objects.
            seed: Seed of the random scheduler.

        Returns:
            For `round_robin`, `random` and `greedy` every metric: `makespan`, `total_time`, `avg_time`, `max_time`, ...

        Raises:
            InvalidInputError: There are no tasks, or two have the same id.
        """
        race = Race(TaskBatch.from_tasks(tasks), self.cluster, seed=seed)
        return {name: summarise(race.run(create_scheduler(name, seed))) for name in BASELINES}
