"""The class names users of the earlier system know: thin faces of the rooms behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.features import FEATURE_NAMES, feature_columns
from hybrid_scheduler.metrics.base import Value
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.metrics.utilization import Utilization
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.device import GPU_MEMORY_MB, ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.training.offline import TARGET

BASELINES: Final = ("round_robin", "random", "greedy")
TASK_COLUMNS: Final = {"task_size": "size", "compute_intensity": "intensity", "memory_required": "memory"}
"""Columns of a workload's table that a predictor may be fitted on, and the features they are."""


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

    def simulate(self, task: Task, gpu_fraction: float, gpu_id: int = 0) -> Outcome:
        """What becomes of one task on an idle node, whatever it depends on.

        Args:
            task: The task.
            gpu_fraction: Share of it for the GPU, 0 to 1; the CPU gets the rest.
            gpu_id: Number of the GPU.

        Returns:
            Times, energy and cost, and the parts as they ran.

        Raises:
            InvalidInputError: The fraction is outside its range, or there is no such GPU.
        """
        if not 0.0 <= gpu_fraction <= 1.0:
            raise InvalidInputError(f"gpu_fraction is {gpu_fraction}, but it must be a number from 0 to 1")
        if gpu_fraction > 0.0 and gpu_id not in range(self.num_gpus):
            raise InvalidInputError(
                f"gpu_id is {gpu_id!r}, but the node has {self.num_gpus} GPUs, counted from 0; name one of them, "
                "or leave all to the CPU with gpu_fraction 0"
            )
        decision = Decision.split(1 + gpu_id, 0, gpu_fraction)  # the CPU is device 0
        race = Race(TaskBatch.from_tasks([replace(task, dependencies=())]), World(self.cluster))
        return race.run(_Fixed(decision))[0]

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
        race = Race(TaskBatch.from_tasks(tasks), World(self.cluster), seed=seed)
        return {name: summarise(race.run(create_scheduler(name, seed))) for name in BASELINES}


class _Fixed(Scheduler):
    """Decides the same for every task."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return self.decision


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
        names = [TASK_COLUMNS.get(name, name) for name in model.feature_names]
        if not set(names) <= set(FEATURE_NAMES):
            known = [*FEATURE_NAMES, *TASK_COLUMNS]
            raise InvalidInputError(f"the model was trained on {list(model.feature_names)}; all must be among {known}")
        self.model = model
        self._columns = [FEATURE_NAMES.index(name) for name in names]

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Split as predicted."""
        gpus, cpus = view.gpus(), view.cpus()
        if not gpus or not cpus:
            return Decision.whole(min(gpus or cpus, key=lambda d: float(view.queued[d])))
        row = feature_columns(
            np.array([task.size]), np.array([task.compute_intensity]), np.array([task.memory_required])
        )
        fraction = float(np.clip(self.model.predict(row[:, self._columns])[0], 0.0, 1.0))
        gpu = min(gpus, key=lambda d: float(view.queued[d]))
        near = [d for d in cpus if view.node[d] == view.node[gpu]]
        return Decision.split(gpu, near[0], fraction) if near else Decision.whole(gpu)


class OnlineScheduler:
    """Places tasks as they come, on a simulated node of one CPU and several GPUs.

    Args:
        model: A fitted predictor of the best GPU fraction, or any scheduler.
        num_gpus: Number of GPUs.
    """

    def __init__(self, model: Any, num_gpus: int = 4) -> None:
        self.scheduler = model if isinstance(model, Scheduler) else PredictedFraction(model)
        self._node = simulated_node(self.scheduler, self, World(ClusterSpec.default(num_gpus)))
        self._ids: set[int] = set()
        self._queue: list[Task] = []
        self._tasks: list[Task] = []

    def submit_task(self, task: Task) -> None:
        """Put a task into the queue; one that says it arrived before what has been placed arrives now.

        Raises:
            InvalidInputError: Its id is taken, or it depends on other tasks.
        """
        if task.task_id in self._ids:
            raise InvalidInputError(f"task id {task.task_id} was submitted before; ids must be unique")
        if task.dependencies:
            raise InvalidInputError(f"task {task.task_id} has dependencies; submit whole graphs to a Race instead")
        self._ids.add(task.task_id)
        self._queue.append(task)

    def process_queue(self) -> dict[int, Decision]:
        """Place everything in the queue, in order of arrival; returns the decision for each task id.

        A scheduler that learns is told of each task when it has finished in simulated time.

        Raises:
            SchedulerError: The scheduler failed, or decided something the node cannot carry out.
        """
        self._add_queue()
        decisions: dict[int, Decision] = {}

        def keep(task: Task, decision: Decision, _: ClusterView) -> None:
            decisions[task.task_id] = decision.carried_out(self._node.world.cluster.gpu_id)

        Driver(self.scheduler, self._node, compiled=False, starting=keep).run()
        return decisions

    def _add_queue(self) -> None:
        """Hand what is queued to the node."""
        now = self._tasks[-1].arrival_time if self._tasks else 0.0
        queued = [replace(task, arrival_time=max(task.arrival_time, now)) for task in self._queue]
        self._queue.clear()
        if queued:
            timed = self._node.world.timed(TaskBatch.from_tasks(queued))
            self._node.add(timed)
            self._tasks += timed.tasks

    def task(self, position: int) -> Task:
        """The task at this position of the node's books."""
        return self._tasks[position]

    def label(self, position: int) -> Label:
        """The oracle's label of it."""
        return self._node.world.timed(TaskBatch.from_tasks([self._tasks[position]])).labels().row(0)

    def get_utilization(self) -> dict[str, object]:
        """Busy share of every device since the first arrival, from what the node has really done.

        ``{"average_utilization": ..., "cpu_0": {"utilization": ...}, "gpu_0": {"utilization": ...}, ...}``
        """
        metric = Utilization()
        metric.update(self._node.outcomes())
        idle = {name: {"utilization": 0.0} for name in self._node.world.cluster.names}
        return metric.get() or {"average_utilization": 0.0, **idle}
