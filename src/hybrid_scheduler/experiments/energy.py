"""`energy`: what time, energy and money cost each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from hybrid_scheduler.experiments.base import Point, Record, Unit
from hybrid_scheduler.experiments.racing import Racing
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.experiments.statistics import compare
from hybrid_scheduler.schedulers.base import Learner

LOAD = 0.25
"""An energy-only policy saturates the CPU at a third of capacity."""
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
FORESTS = ("hybrid_ml", "static_forest", "hybrid_queue")
WEIGHTED = ("rl_agent", *FORESTS)
FIGURES = {"time": "avg_response", "energy": "energy", "money": "cost"}
"""What each goal is measured by."""


def _between(one: str, other: str, share: float) -> str:
    """The weights of which `other` has this share and `one` the rest."""
    return ",".join(f"{goal}={part:g}" for goal, part in ((one, 1.0 - share), (other, share)) if part)


@dataclass(frozen=True)
class Ladder:
    """One goal's weight from 0 to 1, against another's.

    Attributes:
        goal: Whose weight rises.
        against: Whose weight falls.
    """

    goal: str
    against: str

    @property
    def points(self) -> tuple[str, ...]:
        """The weights, step by step."""
        if self.goal == "time":
            return Ladder(self.against, self.goal).points[::-1]
        return tuple(_between(self.against, self.goal, share) for share in STEPS)


LADDERS = (Ladder("energy", "time"), Ladder("money", "time"), Ladder("time", "energy"), Ladder("time", "money"))
WEIGHTS = tuple(
    dict.fromkeys((*LADDERS[0].points, *LADDERS[1].points, _between("energy", "money", 0.5), "time=1,energy=1,money=1"))
)
"""The three corners, steps along two edges, the middle of the third edge, and the middle of all."""


@dataclass(frozen=True, kw_only=True)
class Energy(Racing):
    """The learners with weights of time, energy and money from one alone to all alike; the others stand still.

    `rl_agent` is trained for its weights, from the packaged network on, on `train_tasks` tasks at the same load; the
    forests, which learn how long tasks take, are trained once per seed on the same tasks. The first fifth of the tasks
    does not count.
    """

    name: ClassVar[str] = "energy"
    question: ClassVar[str] = f"At {LOAD:.0%} of capacity: how much time buys how much energy and money?"
    rivals: ClassVar[tuple[str, ...]] = ("oracle", "mct", "gpu_only", "cpu_only", "hybrid_ml")
    compared: ClassVar[tuple[str, ...]] = ("energy", "cost", "avg_response")
    shown: ClassVar[tuple[str, ...]] = ("energy", "cost", "avg_response", "gpu_share")
    plots: ClassVar[tuple[str, ...]] = ("front", "pareto", "pareto_cost", "energy_weight", "money_weight")
    parameter: ClassVar[str | None] = "weights"
    default_seeds: ClassVar[int] = 5

    tasks: int = 5000
    train_tasks: int = 20_000

    def points(self) -> Sequence[Point | None]:
        """The weights."""
        return WEIGHTS

    def prepare(self, seed: int, folder: Path) -> None:
        """Train the forests."""
        training = self.scenario(seed, LOAD).training(max(1, self.train_tasks))
        for name in FORESTS:
            learner = self.trained(name, seed, training)
            assert isinstance(learner, Learner)
            learner.save_model(folder / f"{name}{learner.model_suffix}")

    def run(self, unit: Unit) -> Record:
        """Train the agent for these weights, race once."""
        scenario = self.scenario(unit.seed, LOAD, warmup=self.tasks // 5)
        contestants = {
            name: self.create(name, unit.seed, **({"weights": unit.point} if name in WEIGHTED else {}))
            for name in self.schedulers
            if name != "rl_agent"
        }
        for name in FORESTS:
            learner = contestants[name]
            assert isinstance(learner, Learner)
            learner.load_model(unit.prepared / f"{name}{learner.model_suffix}")
        training = scenario.training(max(1, self.train_tasks))
        contestants["rl_agent"] = self.trained("rl_agent", unit.seed, training, weights=unit.point)
        return self.race(unit, {name: contestants[name] for name in self.schedulers}, scenario)

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """Along every ladder, what each step of the weight does to the goal's figure; and the front of all weights."""
        by_weights = {str(point.point): point for point in points}
        return {"ladders": [_climbed(ladder, by_weights) for ladder in LADDERS], "front": _front(points)}

    def facts(self) -> dict[str, object]:
        """How learners start."""
        start = (
            f"rl_agent is trained for its weights, from the packaged network on, on {self.train_tasks} tasks of "
            "another seed at the same load; the forests, which learn times, once per seed on the same tasks"
        )
        return {"start": start, "load": LOAD, "warmup": self.tasks // 5}


def _climbed(ladder: Ladder, points: Mapping[str, PointResult]) -> dict[str, object]:
    """The steps of a ladder, by seed; `falls`: the last figure is below the first, no step is shown to raise it."""
    metric = FIGURES[ladder.goal]
    learners = {}
    for name in WEIGHTED:
        values = {weights: points[weights].values(name, metric) for weights in ladder.points}
        steps = [compare(b, a, metric, values[b], values[a]) for a, b in pairwise(ladder.points)]
        whole = compare("", "", metric, values[ladder.points[-1]], values[ladder.points[0]])
        learners[name] = {
            "steps": [
                {"from": step.b, "to": step.a, "difference": step.difference, "low": step.low, "high": step.high}
                for step in steps
            ],
            "falls": whole.difference < 0 and all(step.low is None or step.low <= 0 for step in steps),
        }
    return {
        "goal": ladder.goal,
        "against": ladder.against,
        "metric": metric,
        "points": list(ladder.points),
        "learners": learners,
    }


def _front(points: Sequence[PointResult]) -> list[dict[str, object]]:
    """Mean figures of every learner at all weights and of the others; `on_front`: nobody beats them in all goals."""
    places = [
        (
            name,
            str(point.point) if name in WEIGHTED else None,
            [point.estimates[name][m].mean for m in FIGURES.values()],
        )
        for number, point in enumerate(points)
        for name in point.experiment.schedulers
        if name in WEIGHTED or number == 0
    ]

    def beaten(own: list[float]) -> bool:
        return any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for _, _, other in places)

    return [
        {
            "scheduler": name,
            "weights": weights,
            **dict(zip(FIGURES, figures, strict=True)),
            "on_front": not beaten(figures),
        }
        for name, weights, figures in places
    ]
