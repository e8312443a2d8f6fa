"""`energy`: what time, energy and money cost each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from hybrid_scheduler.experiments.base import Point, Record, Unit
from hybrid_scheduler.experiments.racing import Racing
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.experiments.statistics import compare

LOAD = 0.25
"""An energy-only policy saturates the CPU at a third of capacity."""
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
WEIGHTED = ("rl_agent", "hybrid_ml", "static_forest")


@dataclass(frozen=True, kw_only=True)
class Energy(Racing):
    """The learners with `energy_weight` from 0 (time only) to 1 (energy only); the others stand still.

    Every learner is trained from scratch for its weight, on `train_tasks` tasks at the same load. The first fifth of
    the tasks does not count.
    """

    name: ClassVar[str] = "energy"
    question: ClassVar[str] = f"At {LOAD:.0%} of capacity: how much time buys how much energy and money?"
    rivals: ClassVar[tuple[str, ...]] = ("oracle", "mct", "gpu_only", "cpu_only", "hybrid_ml")
    compared: ClassVar[tuple[str, ...]] = ("energy", "avg_response")
    shown: ClassVar[tuple[str, ...]] = ("energy", "avg_response", "cost", "gpu_share")
    plots: ClassVar[tuple[str, ...]] = ("pareto", "pareto_cost", "energy_weight")
    parameter: ClassVar[str | None] = "energy_weight"
    default_seeds: ClassVar[int] = 5

    tasks: int = 5000
    train_tasks: int = 20_000

    def points(self) -> Sequence[Point | None]:
        """The weights."""
        return WEIGHTS

    def run(self, unit: Unit) -> Record:
        """Train for one weight, race once."""
        scenario = self.scenario(unit.seed, LOAD, warmup=self.tasks // 5)
        training = scenario.training(max(1, self.train_tasks))
        contestants = {
            name: self.trained(name, unit.seed, training, **({"energy_weight": unit.point} if name in WEIGHTED else {}))
            for name in self.schedulers
        }
        return self.race(unit, contestants, scenario)

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """Each step of the weight: by how much energy changes, seed by seed. `falls`: no step is shown to raise it."""
        steps_by_name = {}
        for name in WEIGHTED:
            steps = [
                compare(str(b.point), str(a.point), "energy", b.values(name, "energy"), a.values(name, "energy"))
                for a, b in pairwise(points)
            ]
            steps_by_name[name] = {
                "steps": [
                    {"from": step.b, "to": step.a, "difference": step.difference, "low": step.low, "high": step.high}
                    for step in steps
                ],
                "falls": all(step.low is None or step.low <= 0 for step in steps),
            }
        return {"energy_steps": steps_by_name}

    def facts(self) -> dict[str, object]:
        """How learners start."""
        start = f"every learner is trained from scratch for its weight on {self.train_tasks} tasks of another seed"
        return {"start": f"{start} at the same load", "load": LOAD, "warmup": self.tasks // 5}
