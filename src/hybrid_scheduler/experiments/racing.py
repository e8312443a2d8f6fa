"""What experiments that race every scheduler share: the stream at a load, how learners start, the record of a race."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.experiments.base import Experiment, Record, Unit
from hybrid_scheduler.experiments.figures import race_figures, shares
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import TRAINING_SEEDS, Load, PresetTasks, RecordedTasks, Scenario
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.training.pretrained import fits_package, load_pretrained, training_stream
from hybrid_scheduler.training.train import train_scheduler

PRESET = "mixed"
BLOCKS = 50
"""Values of a learning curve, and columns of an allocation over time."""
EVERYBODY = (
    "oracle",
    "mct",
    "rl_agent",
    "hybrid_ml",
    "hybrid_queue",
    "static_forest",
    "sjf",
    "greedy",
    "gpu_only",
    "cpu_only",
    "round_robin",
    "random",
)
"""Learners, simple rules, constant policies and the oracle."""
LEARNERS = ("rl_agent", "hybrid_ml", "hybrid_queue")
RIVALS = ("oracle", "mct", "sjf", "rl_agent", "hybrid_ml", "greedy", "round_robin")
"""Those a doubter would ask for, and the rules of the earlier system."""


class Racing(Experiment):
    """An experiment in which every scheduler goes through the same stream of `mixed` tasks."""

    schedulers: ClassVar[tuple[str, ...]] = EVERYBODY
    subjects: ClassVar[tuple[str, ...]] = LEARNERS

    def scenario(self, seed: int, load: float, warmup: int = 0) -> Scenario:
        """Tasks that arrive at a share of the node's capacity."""
        return Scenario(PresetTasks(PRESET), self.world, self.tasks, Load(load), seed, warmup=warmup)

    def light_to_heavy(self, seed: int, tasks: int) -> Scenario:
        """For training: tasks of another seed at changing loads, as those of the packaged models, for this node."""
        other = seed + TRAINING_SEEDS
        drawn, source = training_stream(tasks, other), PresetTasks(PRESET)
        stretched = drawn.arrival_time * (source.capacity(World()) / source.capacity(self.world))
        return Scenario(RecordedTasks(drawn.with_arrivals(stretched)), self.world, seed=other)

    def trained(self, name: str, seed: int, training: Scenario, **changes: object) -> Scheduler:
        """One of the schedulers, a learner trained: a forest from nothing, the agent from its packaged network on."""
        scheduler = self.create(name, seed, **changes)
        train_scheduler(scheduler, training)
        return scheduler

    def packaged(self, name: str, seed: int, **changes: object) -> Scheduler:
        """One of the schedulers, a learner continuing from the packaged model where that fits the node.

        Where it does not fit, learners are trained on `train_tasks` tasks instead.
        """
        scheduler = self.create(name, seed, **changes)
        if isinstance(scheduler, Learner) and not load_pretrained(scheduler, self.world):
            train_scheduler(scheduler, self.light_to_heavy(seed, max(1, self.train_tasks)))
        return scheduler

    def entrant(self, name: str, seed: int, world: World) -> Scheduler:
        """One of the schedulers, a learner from its packaged model where that fits the node, else from nothing."""
        scheduler = self.create(name, seed)
        if isinstance(scheduler, Learner):
            load_pretrained(scheduler, world)
        return scheduler

    def packaged_start(self) -> str:
        """How learners start that are made by `packaged`, in words."""
        if fits_package(self.world.cluster):
            return "learners continue from the models in the package and go on learning"
        return (
            "the agent continues from the model in the package; learners whose packaged model does not fit this node "
            f"are trained on {self.train_tasks} tasks of another seed"
        )

    def race(
        self,
        unit: Unit,
        contestants: Mapping[str, Scheduler],
        scenario: Scenario,
        *,
        keep: dict[str, OutcomeBatch] | None = None,
        samples: bool = False,
    ) -> Record:
        """Take everybody through the tasks.

        Args:
            unit: Whose race it is.
            contestants: Who takes part.
            scenario: Tasks and world; figures leave out its warm-up (`Metric.covers_warmup`), curves cover all tasks.
            keep: Receives the outcomes.
            samples: Whether to keep what distributions are drawn from, and the workload.
        """
        outcomes: dict[str, OutcomeBatch] = {} if keep is None else keep
        tasks = scenario.batch()
        comparison = Comparison(tasks, contestants, scenario.world, unit.seed, scenario.isolated, scenario.warmup)
        result = comparison.run(keep=outcomes.__setitem__)
        counted = {name: batch.select(np.arange(len(batch)) >= scenario.warmup) for name, batch in outcomes.items()}
        metrics = {name: batch.metrics for name, batch in result.schedulers.items()}
        figures = race_figures(counted, metrics, None if scenario.isolated else result.lower_bound)
        for name, entry in result.schedulers.items():
            figures[name] |= {key: float(count) for key, count in entry.learning.items()}
        return Record(
            unit.seed,
            figures,
            learning_curves(outcomes),
            race_samples(counted, tasks) if samples else {},
            {name: {"decision_us": entry.decision_us} for name, entry in result.schedulers.items()},
            unit.point,
        )


def learning_curves(outcomes: Mapping[str, OutcomeBatch]) -> dict[str, dict[str, FloatArray]]:
    """How everybody's response time went."""
    return {"learning": {name: _blocks(batch) for name, batch in outcomes.items()}}


def _blocks(outcomes: OutcomeBatch) -> FloatArray:
    """Mean response of each of `BLOCKS` equal shares of the tasks, in order of arrival (fewer when tasks are few)."""
    response = np.where(outcomes.failed, np.nan, outcomes.response_time)
    blocks = np.array_split(response, min(BLOCKS, len(outcomes)))
    return np.array([np.nan if np.isnan(block).all() else float(np.nanmean(block)) for block in blocks])


def race_samples(outcomes: Mapping[str, OutcomeBatch], tasks: TaskBatch) -> dict[str, dict[str, FloatArray]]:
    """What distributions are drawn from."""
    figures: dict[str, dict[str, FloatArray]] = {"response": {}, "gpu_fraction": {}, "allocation": {}}
    for name, batch in outcomes.items():
        finished = batch.select(~batch.failed)
        share = shares(finished)
        figures["response"][name] = finished.response_time
        figures["gpu_fraction"][name] = share[:, finished.device_gpu_id >= 0].sum(axis=1)
        figures["allocation"][name] = np.stack([b.mean(axis=0) for b in np.array_split(share, min(BLOCKS, len(share)))])
    columns = ("size", "compute_intensity", "memory_required", "arrival_time")
    figures["workload"] = {column: getattr(tasks, column) for column in columns}
    if tasks.has_dependencies:
        child = np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start))
        figures["workload"] |= {"child": child.astype(float), "parent": tasks.parents.astype(float)}
    return figures
