"""`shift`: what happens to a scheduler when the tasks are no longer those it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.base import TRAINED, Experiment, Record, Unit
from hybrid_scheduler.experiments.figures import numbers
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.scenario import PresetTasks, Scenario
from hybrid_scheduler.training.train import train_scheduler

OPTIMAL = "oracle"
BEFORE, AFTER = "gpu_favourable", "cpu_favourable"
METRICS = ("total_time", "energy", "cost")
REGRET = "regret"
REFERENCE = {
    "split": "serial",
    "total_time": {
        "optimal": 12.97,
        "cpu_only": 12.97,
        "greedy": 18.30,
        "rl_agent": 21.12,
        "round_robin": 56.87,
        "random": 67.14,
        "static_forest": 122.92,
        "gpu_only": 122.92,
    },
    "note": "published totals of the earlier system, seconds; its round robin used shares of 0.5 and 0.3, not ours",
}


@dataclass(frozen=True, kw_only=True)
class Shift(Experiment):
    """Learners are trained where the GPU wins and judged where the CPU does, adaptation included.

    Every task meets an idle node, in training too, so only `total_time` (and energy and cost) says anything; learners
    are asked to care for time alone (`energy_weight` 0). Besides those figures: `times_optimal`, the total over the
    oracle's, and `share_DEVICE`, the share of the tasks (of their work, where they are split) each device got, with
    `gpu_share` for all GPUs together, so that a constant policy cannot hide.
    """

    name: ClassVar[str] = "shift"
    question: ClassVar[str] = (
        f"Trained on {BEFORE} tasks, then given {AFTER} ones, each on an idle node: who recovers, and how fast?"
    )
    schedulers: ClassVar[tuple[str, ...]] = (
        OPTIMAL,
        "cpu_only",
        "gpu_only",
        "greedy",
        "round_robin",
        "random",
        "static_forest",
        "hybrid_ml",
        "rl_agent",
        "hybrid_queue",
    )
    subjects: ClassVar[tuple[str, ...]] = ("rl_agent", "hybrid_ml", "hybrid_queue")
    compared: ClassVar[tuple[str, ...]] = ("total_time",)
    shown: ClassVar[tuple[str, ...]] = ("total_time", "times_optimal", "energy", "cost", "gpu_share")
    plots: ClassVar[tuple[str, ...]] = (REGRET, "totals", "shares")
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0}

    tasks: int = 500

    def run(self, unit: Unit) -> Record:
        """Train on one stream of tasks, judge by another."""
        seed = unit.seed
        after = Scenario(PresetTasks(AFTER), self.world, self.tasks, seed=seed, isolated=True)
        training = replace(after, source=PresetTasks(BEFORE)).training(self.train_tasks)
        race = Race(after.batch(), self.world, seed=seed, isolated=True)
        outcomes: dict[str, OutcomeBatch] = {}
        for name in self.schedulers:
            scheduler = self.create(name, seed)
            train_scheduler(scheduler, training)
            outcomes[name] = race.run(scheduler)
        best = outcomes[OPTIMAL].actual_time
        regret = {name: np.cumsum(batch.actual_time - best) for name, batch in outcomes.items()}
        return Record(seed, {name: _figures(batch, best) for name, batch in outcomes.items()}, {REGRET: regret})

    def facts(self) -> dict[str, object]:
        """How learners start, and the published figures."""
        start = f"learners are trained on {self.train_tasks} {BEFORE} tasks of another seed, {TRAINED}"
        return {"start": start, "reference": REFERENCE}


def _figures(outcomes: OutcomeBatch, best: FloatArray) -> dict[str, float]:
    every = numbers(outcomes, summarise(outcomes))
    figures = {metric: every[metric] for metric in METRICS}
    figures["times_optimal"] = figures["total_time"] / float(best.sum())
    return figures | {name: value for name, value in every.items() if "share" in name}
