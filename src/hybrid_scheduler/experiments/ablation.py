"""`ablation`: what each part of a learner is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hybrid_scheduler.experiments.base import Point, Record, Unit
from hybrid_scheduler.experiments.racing import Racing
from hybrid_scheduler.experiments.shift import AFTER, BEFORE
from hybrid_scheduler.scenario import PresetTasks, Scenario
from hybrid_scheduler.training.train import train_scheduler

LOAD = 0.7
BUSY, SHIFTED = "busy", "shifted"
SHIFT_SHARE = 4
"""The shifted world has a quarter of the tasks: an idle node answers sooner."""


@dataclass(frozen=True, kw_only=True)
class Ablation(Racing):
    """Learners with one part taken out, beside the whole ones.

    `busy`: `mixed` tasks at 70 % of capacity, where queues and foresight count; the first fifth does not count.
    `shifted`: trained where the GPU wins, judged where the CPU does, every task on an idle node, where noticing the
    change counts. Everybody is trained from scratch; the objective is response time.
    """

    name: ClassVar[str] = "ablation"
    question: ClassVar[str] = "What is each part of the learners worth?"
    variants: ClassVar[Mapping[str, tuple[str, Mapping[str, object]]]] = {
        "rl_agent_no_backlog": ("rl_agent", {"use_backlog": False}),
        "rl_agent_no_target": ("rl_agent", {"use_target": False}),
        "rl_agent_gamma_0": ("rl_agent", {"gamma": 0.0}),
        "rl_agent_myopic": ("rl_agent", {"count_waiting": False}),
        "hybrid_ml_no_queues": ("hybrid_ml", {"use_queues": False}),
        "hybrid_ml_no_drift": ("hybrid_ml", {"drift": False}),
    }
    schedulers: ClassVar[tuple[str, ...]] = (
        "oracle",
        "mct",
        "gpu_only",
        "cpu_only",
        "rl_agent",
        "rl_agent_no_backlog",
        "rl_agent_no_target",
        "rl_agent_gamma_0",
        "rl_agent_myopic",
        "hybrid_ml",
        "hybrid_ml_no_queues",
        "hybrid_ml_no_drift",
        "static_forest",
    )
    subjects: ClassVar[tuple[str, ...]] = ("rl_agent", "hybrid_ml")
    compared: ClassVar[tuple[str, ...]] = ("avg_response",)
    shown: ClassVar[tuple[str, ...]] = ("avg_response", "p99_response", "times_oracle", "gpu_share")
    plots: ClassVar[tuple[str, ...]] = ("ablation", "learning_curve")
    parameter: ClassVar[str | None] = "world"
    default_seeds: ClassVar[int] = 5
    default_parameters: ClassVar[Mapping[str, object]] = {"energy_weight": 0.0, "pretrained": False}

    tasks: int = 5000
    train_tasks: int = 15_000

    def points(self) -> Sequence[Point | None]:
        """The two worlds."""
        return BUSY, SHIFTED

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Every whole learner with its own variants: the question is about parts, not about each other."""
        parts = [(registered, name) for name, (registered, _) in self.variants.items()]
        return [*parts, ("hybrid_ml", "static_forest")]

    def tasks_at(self, point: Point | None) -> int:
        """Fewer in the shifted world."""
        return max(1, self.tasks // SHIFT_SHARE) if point == SHIFTED else self.tasks

    def run(self, unit: Unit) -> Record:
        """Train and race everybody in one world."""
        seed, isolated = unit.seed, unit.point == SHIFTED
        train_tasks = max(1, self.train_tasks // SHIFT_SHARE if isolated else self.train_tasks)
        scenario = self.scenario(seed, LOAD, warmup=self.tasks // 5)
        before = scenario
        if isolated:
            scenario = Scenario(PresetTasks(AFTER), self.world, self.tasks_at(SHIFTED), seed=seed, isolated=True)
            before = replace(scenario, source=PresetTasks(BEFORE))
        training = before.training(train_tasks)
        contestants = {name: self.create(name, seed) for name in self.schedulers}
        for scheduler in contestants.values():
            train_scheduler(scheduler, training)
        return self.race(unit, contestants, scenario)

    def facts(self) -> dict[str, object]:
        """How learners start, and what each variant lacks."""
        start = f"everybody is trained from scratch on {self.train_tasks} tasks of another seed"
        return {
            "start": f"{start} ({SHIFTED}: a quarter of them, and a quarter of the tasks)",
            "load": LOAD,
            "variants": {name: {"of": of, **changed} for name, (of, changed) in self.variants.items()},
        }
