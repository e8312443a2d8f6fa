"""`shift`: what happens to a scheduler when the tasks are no longer those it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.base import TRAINING_SEEDS, Experiment, SeedRecord
from hybrid_scheduler.experiments.runner import ExperimentResult
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

OPTIMAL = "oracle"
BEFORE, AFTER = "gpu_favourable", "cpu_favourable"
METRICS = ("total_time", "energy", "cost")
REGRET = "regret"
DRAWN = ("rl_agent", "hybrid_ml", "static_forest", "greedy", "cpu_only", "gpu_only")
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
    )
    subjects: ClassVar[tuple[str, ...]] = ("rl_agent", "hybrid_ml")
    compared: ClassVar[tuple[str, ...]] = ("total_time",)
    shown: ClassVar[Mapping[str, str]] = {
        "total_time": "total s",
        "times_optimal": "× optimal",
        "energy": "energy J",
        "cost": "cost $",
        "gpu_share": "on GPUs",
    }
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0}

    tasks: int = 500

    def run_seed(self, seed: int) -> SeedRecord:
        """Train on one stream of tasks, judge by another."""
        training = WorkloadGenerator(seed + TRAINING_SEEDS).generate(BEFORE, self.train_tasks)
        race = Race(
            WorkloadGenerator(seed).generate(AFTER, self.tasks), self.cluster, self.physics, seed=seed, isolated=True
        )
        outcomes: dict[str, OutcomeBatch] = {}
        for name in self.schedulers:
            scheduler = self.create(name, seed)
            train_scheduler(scheduler, training, self.cluster, self.physics, seed=seed + TRAINING_SEEDS, isolated=True)
            outcomes[name] = race.run(scheduler)
        best = outcomes[OPTIMAL].actual_time
        regret = {name: np.cumsum(each.actual_time - best) for name, each in outcomes.items()}
        return SeedRecord(seed, {name: _figures(each, best) for name, each in outcomes.items()}, {REGRET: regret})

    def facts(self) -> dict[str, object]:
        """The published figures."""
        return {"reference": REFERENCE}

    def draw(self, result: ExperimentResult, folder: Path) -> list[Path]:
        """Regret over the tasks, totals, and shares."""
        from hybrid_scheduler.experiments.plots import draw_bars, draw_lines, draw_shares

        split = self.physics.split
        devices = self.cluster.names
        totals = {name: result.estimates[name]["total_time"] for name in self.schedulers}
        curves = {name: result.curve(REGRET, name) for name in DRAWN}
        shares = {
            name: {device: result.estimates[name][f"share_{device}"].mean for device in devices}
            for name in self.schedulers
        }
        axes = (f"{AFTER} tasks since the shift", "seconds more than optimal, summed up")
        return [
            draw_lines(folder / "regret.png", f"Regret after the shift ({split} split)", axes, curves),
            draw_bars(folder / "totals.png", f"Total time of {self.tasks} tasks ({split} split)", "seconds", totals),
            draw_shares(folder / "shares.png", f"Where the tasks went ({split} split)", shares, devices),
        ]


def _figures(outcomes: OutcomeBatch, best: FloatArray) -> dict[str, float]:
    summary = summarise(outcomes)
    figures = {metric: float(summary[metric]) for metric in METRICS}  # type: ignore[arg-type]  # all are numbers
    figures["times_optimal"] = figures["total_time"] / float(best.sum())
    kept = ~outcomes.part_lost
    work = np.bincount(outcomes.part_device[kept], outcomes.part_share[kept], len(outcomes.device_names))
    figures["gpu_share"] = float(work[outcomes.device_gpu_id >= 0].sum() / len(outcomes))
    for device, share in zip(outcomes.device_names, work / len(outcomes), strict=True):
        figures[f"share_{device}"] = float(share)
    return figures
