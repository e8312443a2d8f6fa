"""`load`: response time against offered load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hybrid_scheduler.experiments.base import TRAINED, Point, Record, Unit
from hybrid_scheduler.experiments.racing import PRESET, Racing
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.schedulers.base import Learner

LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5)
"""Below 0.2 because the naive break so early; above 1 nobody can keep up."""


@dataclass(frozen=True, kw_only=True)
class Load(Racing):
    """Every scheduler at loads from light to hopeless; who breaks, and where.

    The objective is response time (`energy_weight` 0), for which there is no packaged model, so learners are trained
    once per seed, on `train_tasks` tasks at loads from light to heavy, and meet every load from there. The first fifth
    of the tasks does not count.
    """

    name: ClassVar[str] = "load"
    question: ClassVar[str] = f"How does the response time of {PRESET} tasks grow with the load, and who breaks where?"
    rivals: ClassVar[tuple[str, ...]] = ("oracle", "mct", "sjf", "rl_agent", "hybrid_ml")
    compared: ClassVar[tuple[str, ...]] = ("avg_response",)
    shown: ClassVar[tuple[str, ...]] = ("avg_response", "p99_response", "times_oracle", "overloaded")
    plots: ClassVar[tuple[str, ...]] = ("load_response", "load_ratio")
    parameter: ClassVar[str | None] = "load"
    default_seeds: ClassVar[int] = 5
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0}

    tasks: int = 10_000
    train_tasks: int = 40_000

    def points(self) -> Sequence[Point | None]:
        """The loads."""
        return LOADS

    def prepare(self, seed: int, folder: Path) -> None:
        """Train the learners."""
        training = self.light_to_heavy(seed, max(1, self.train_tasks))
        for name in self.schedulers:
            learner = self.trained(name, seed, training)
            if isinstance(learner, Learner):
                learner.save_model(folder / f"{name}{learner.model_suffix}")

    def run(self, unit: Unit) -> Record:
        """One race at one load."""
        contestants = {name: self.create(name, unit.seed) for name in self.schedulers}
        for name, learner in contestants.items():
            if isinstance(learner, Learner):
                learner.load_model(unit.prepared / f"{name}{learner.model_suffix}")
        assert isinstance(unit.point, float)
        return self.race(unit, contestants, self.scenario(unit.seed, unit.point, warmup=self.tasks // 5))

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """The lowest load at which a scheduler is overloaded in at least half of the seeds; null: at none."""
        return {
            "breaks_at": {
                name: next((p.point for p in points if p.estimates[name]["overloaded"].mean >= 0.5), None)
                for name in self.schedulers
            }
        }

    def facts(self) -> dict[str, object]:
        """How learners start."""
        start = f"learners are trained for response time alone on {self.train_tasks} tasks of another seed, {TRAINED}"
        return {"start": f"{start}, at loads from light to heavy", "warmup": self.tasks // 5}
