"""What experiments that race every scheduler share: the stream at a load, how learners start, the record of a race."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.experiments.base import TRAINING_SEEDS, Experiment, Record, Unit
from hybrid_scheduler.metrics.overloaded import Overloaded
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Learner, Scheduler
from hybrid_scheduler.training.pretrained import MODELS, fits_package, load_pretrained, training_stream
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity

PRESET = "mixed"
BOUND, ORACLE, BASELINE = "lower_bound", "oracle", "round_robin"
BLOCKS = 50
"""Values of a learning curve, and columns of an allocation over time."""
EVERYBODY = (
    "oracle",
    "mct",
    "rl_agent",
    "hybrid_ml",
    "static_forest",
    "greedy",
    "gpu_only",
    "cpu_only",
    "round_robin",
    "random",
)
"""Learners, simple rules, constant policies and the oracle."""
LEARNERS = ("rl_agent", "hybrid_ml")


class Racing(Experiment):
    """An experiment in which every scheduler goes through the same stream of `mixed` tasks."""

    schedulers: ClassVar[tuple[str, ...]] = EVERYBODY
    subjects: ClassVar[tuple[str, ...]] = LEARNERS

    def stream(self, seed: int, load: float, tasks: int | None = None) -> TaskBatch:
        """Tasks that arrive at a share of the node's capacity."""
        rate = load * capacity(PRESET, self.cluster, self.physics.cost)
        return WorkloadGenerator(seed).generate(PRESET, tasks or self.tasks, rate)

    def training_stream(self, seed: int, tasks: int) -> TaskBatch:
        """Tasks of another seed at loads from light to heavy, as those of the packaged models, for this node."""
        drawn = training_stream(tasks, seed + TRAINING_SEEDS)
        default = capacity(PRESET, ClusterSpec.default(), Physics().cost)
        return drawn.with_arrivals(drawn.arrival_time * (default / capacity(PRESET, self.cluster, self.physics.cost)))

    def trained(self, name: str, seed: int, tasks: TaskBatch, **changes: object) -> Scheduler:
        """One of the schedulers, a learner trained from scratch on these tasks."""
        scheduler = self.create(name, seed, **changes)
        train_scheduler(scheduler, tasks, self.cluster, self.physics, seed=seed + TRAINING_SEEDS)
        return scheduler

    def packaged(self, name: str, seed: int, **changes: object) -> Scheduler:
        """One of the schedulers, a learner continuing from the packaged model where that fits the node.

        Where it does not fit, learners are trained on `train_tasks` tasks instead.
        """
        scheduler = self.create(name, seed, **changes)
        registered, _ = self.variants.get(name, (name, {}))
        if isinstance(scheduler, Learner) and not load_pretrained(scheduler, registered, self.cluster):
            stream = self.training_stream(seed, max(1, self.train_tasks))
            train_scheduler(scheduler, stream, self.cluster, self.physics, seed=seed + TRAINING_SEEDS)
        return scheduler

    def packaged_start(self) -> str:
        """How learners start that are made by `packaged`, in words."""
        if fits_package(self.cluster):
            return "learners continue from the models in the package and go on learning"
        return f"no packaged model fits this node: learners are trained on {self.train_tasks} tasks of another seed"

    def race(
        self,
        unit: Unit,
        contestants: Mapping[str, Scheduler],
        tasks: TaskBatch,
        *,
        warmup: int = 0,
        isolated: bool = False,
        keep: dict[str, OutcomeBatch] | None = None,
        samples: bool = False,
    ) -> Record:
        """Take everybody through the tasks.

        Args:
            unit: Whose race it is.
            contestants: Who takes part.
            tasks: The stream.
            warmup: Figures (but for `overloaded`) leave out the first so many tasks; curves cover them all.
            isolated: Every task meets an idle node.
            keep: Receives the outcomes.
            samples: Whether to keep what distributions are drawn from, and the workload.
        """
        outcomes: dict[str, OutcomeBatch] = {} if keep is None else keep
        comparison = Comparison(
            tasks, contestants, self.cluster, self.physics, unit.seed, isolated=isolated, warmup=warmup
        )
        result = comparison.run(keep=outcomes.__setitem__)
        counted = {name: each.select(np.arange(len(each)) >= warmup) for name, each in outcomes.items()}
        figures = race_figures(counted, None if isolated else result.lower_bound)
        for name, whole in outcomes.items():
            # A queue that has grown since the first task must be looked at from the first task on.
            figures[name]["overloaded"] = float(_overloaded(whole))
        for name, each in result.schedulers.items():
            figures[name] |= {key: float(count) for key, count in each.learning.items()}
        return Record(
            unit.seed,
            figures,
            learning_curves(outcomes),
            race_samples(counted, tasks) if samples else {},
            {name: {"decision_us": each.decision_us} for name, each in result.schedulers.items()},
            unit.point,
        )


def race_figures(outcomes: Mapping[str, OutcomeBatch], bound: LowerBound | None) -> dict[str, dict[str, float]]:
    """The figures of everybody who raced, those that relate them to each other, and the bound."""
    figures = {name: numbers(each) for name, each in outcomes.items()}
    if bound is not None:
        figures[BOUND] = {"makespan": bound.makespan, "avg_response": bound.avg_response}
    _relate(figures)
    return figures


def numbers(outcomes: OutcomeBatch) -> dict[str, float]:
    """Every metric that is a number, and the share of the work each device got (`share_DEVICE`; GPUs: `gpu_share`)."""
    figures = {}
    for name, value in summarise(outcomes).items():
        if isinstance(value, dict):
            average = value.get(f"average_{name}")
            value = float(average) if isinstance(average, int | float) else None
        if value is not None:
            figures[name] = float(value)
    work = shares(outcomes).mean(axis=0)
    figures["gpu_share"] = float(work[outcomes.device_gpu_id >= 0].sum())
    return figures | {f"share_{device}": float(s) for device, s in zip(outcomes.device_names, work, strict=True)}


def shares(outcomes: OutcomeBatch) -> FloatArray:
    """The share of each task that each device had, one row per task."""
    found = np.zeros((len(outcomes), len(outcomes.device_names)))
    kept = ~outcomes.part_lost
    np.add.at(found, (outcomes.part_task[kept], outcomes.part_device[kept]), outcomes.part_share[kept])
    return found


def _relate(figures: Mapping[str, dict[str, float]]) -> None:
    """Add what people ask for: `speedup`, round robin's makespan over one's own; `times_oracle`, of mean response."""
    for reference, metric, name in ((BASELINE, "makespan", "speedup"), (ORACLE, "avg_response", "times_oracle")):
        base = figures.get(reference, {}).get(metric)
        for each in figures.values():
            own = each.get(metric)
            if base and own and "tasks" in each:
                each[name] = base / own if name == "speedup" else own / base


def saved_model(folder: Path, name: str) -> Path:
    """Where a trained learner lies, with the ending its kind of file has."""
    return folder / f"{name}{Path(MODELS[name]).suffix}"


def _overloaded(outcomes: OutcomeBatch) -> bool:
    metric = Overloaded()
    metric.update(outcomes)
    return metric.get()


def learning_curves(outcomes: Mapping[str, OutcomeBatch]) -> dict[str, dict[str, FloatArray]]:
    """How everybody's response time went."""
    return {"learning": {name: _blocks(each) for name, each in outcomes.items()}}


def _blocks(outcomes: OutcomeBatch) -> FloatArray:
    """Mean response of each of `BLOCKS` equal shares of the tasks, in order of arrival (fewer when tasks are few)."""
    response = np.where(outcomes.failed, np.nan, outcomes.response_time)
    blocks = np.array_split(response, min(BLOCKS, len(outcomes)))
    return np.array([np.nan if np.isnan(block).all() else float(np.nanmean(block)) for block in blocks])


def race_samples(outcomes: Mapping[str, OutcomeBatch], tasks: TaskBatch) -> dict[str, dict[str, FloatArray]]:
    """What distributions are drawn from."""
    found: dict[str, dict[str, FloatArray]] = {"response": {}, "gpu_fraction": {}, "allocation": {}}
    for name, each in outcomes.items():
        finished = each.select(~each.failed)
        share = shares(finished)
        found["response"][name] = finished.response_time
        found["gpu_fraction"][name] = share[:, finished.device_gpu_id >= 0].sum(axis=1)
        found["allocation"][name] = np.stack([b.mean(axis=0) for b in np.array_split(share, min(BLOCKS, len(share)))])
    columns = ("size", "compute_intensity", "memory_required", "arrival_time")
    found["workload"] = {column: getattr(tasks, column) for column in columns}
    if tasks.has_dependencies:
        child = np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start))
        found["workload"] |= {"child": child.astype(float), "parent": tasks.parents.astype(float)}
    return found
