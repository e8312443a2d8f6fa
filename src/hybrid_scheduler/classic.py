"""The class names users of the earlier system know: thin faces of the rooms behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid_scheduler.cluster.state import DECIDE
from hybrid_scheduler.engine.contestant import simulation_for
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.features import FEATURE_NAMES, feature_columns
from hybrid_scheduler.metrics.base import Value
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.metrics.utilization import Utilization
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.model.view import NODE, QUEUED, ClusterView
from hybrid_scheduler.physics.device import GPU_MEMORY_MB, ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import NO_STATE, Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.offline import TARGET

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


class PredictedFraction(Scheduler):
    """Gives the least-loaded GPU the fraction a predictor asks for.

    Args:
        model: A fitted predictor of the best GPU fraction (`RandomForestPredictor`, ...).
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "require_target"):
            raise InvalidInputError(
                f"the model is a {type(model).__name__}, but it must be a predictor of {TARGET}, "
                "such as a RandomForestPredictor"
            )
        model.require_target(TARGET)
        if tuple(model.feature_names) != FEATURE_NAMES:
            raise InvalidInputError(
                f"the model was trained on {list(model.feature_names)}, but it must be trained on {list(FEATURE_NAMES)}"
            )
        self.model = model

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Split as predicted."""
        gpus, cpus = view.gpus(), view.cpus()
        if not gpus or not cpus:
            return Decision.whole(min(gpus or cpus, key=lambda d: float(view.devices[d, QUEUED])))
        row = feature_columns(
            np.array([task.size]), np.array([task.compute_intensity]), np.array([task.memory_required])
        )
        fraction = float(np.clip(self.model.predict(row)[0], 0.0, 1.0))
        gpu = min(gpus, key=lambda d: float(view.devices[d, QUEUED]))
        near = [d for d in cpus if view.devices[d, NODE] == view.devices[gpu, NODE]]
        return Decision.split(gpu, near[0], fraction) if near else Decision.whole(gpu)


class OnlineScheduler:
    """Places tasks as they come, on a simulated node of one CPU and several GPUs.

    Args:
        model: A fitted predictor of the best GPU fraction, or any scheduler.
        num_gpus: Number of GPUs.
    """

    def __init__(self, model: Any, num_gpus: int = 4) -> None:
        self.scheduler = model if isinstance(model, Scheduler) else PredictedFraction(model)
        self._simulation = simulation_for(self.scheduler, ClusterSpec.default(num_gpus), Physics())
        self._queue: list[Task] = []
        self._done: list[Task] = []
        self._last = 0.0

    def submit_task(self, task: Task) -> None:
        """Put a task into the queue; one that says it arrived before what has been placed arrives now.

        Raises:
            InvalidInputError: Its id is taken, or it depends on other tasks.
        """
        if any(task.task_id == other.task_id for other in (*self._queue, *self._done)):
            raise InvalidInputError(f"task id {task.task_id} was submitted before; ids must be unique")
        if task.dependencies:
            raise InvalidInputError(f"task {task.task_id} has dependencies; submit whole graphs to a Race instead")
        self._queue.append(task)

    def process_queue(self) -> dict[int, Decision]:
        """Place everything in the queue, in order of arrival; returns the decision for each task id."""
        waiting = [replace(t, arrival_time=max(t.arrival_time, self._last)) for t in self._queue]
        if not waiting:
            return {}
        tasks, physics, sim = TaskBatch.from_tasks(waiting), Physics(), self._simulation
        times = physics.nominal_times(tasks, sim.cluster)
        sim.add(tasks, times, times)
        decisions: dict[int, Decision] = {}
        while sim.run(None, NO_STATE) == DECIDE:
            task: Task = tasks[sim.current - len(self._done)]
            decision = self.scheduler.decide(task, sim.view())
            sim.answer(decision)
            decisions[task.task_id] = decision
        self._done += waiting
        self._queue.clear()
        self._last = float(tasks.arrival_time[-1])
        return decisions

    def get_utilization(self) -> dict[str, object]:
        """Busy share of every device since the first arrival, from what the node has really done.

        ``{"average_utilization": ..., "cpu_0": {"utilization": ...}, "gpu_0": {"utilization": ...}, ...}``
        """
        metric = Utilization()
        metric.update(self._simulation.outcomes())
        idle = {name: {"utilization": 0.0} for name in self._simulation.cluster.names}
        return metric.get() or {"average_utilization": 0.0, **idle}
