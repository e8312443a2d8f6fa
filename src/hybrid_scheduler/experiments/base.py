"""The contract of an experiment: one seed in, figures out. The runner does the rest."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class

if TYPE_CHECKING:
    from hybrid_scheduler.experiments.runner import ExperimentResult

TRAINING_SEEDS = 1_000_000
"""Training tasks of seed s are drawn with seed s plus this: learners never see the tasks they are judged by."""


@dataclass(frozen=True)
class SeedRecord:
    """What one seed gave.

    Attributes:
        seed: The seed.
        figures: One figure per scheduler and metric.
        curves: Per name and scheduler, one value per task.
    """

    seed: int
    figures: Mapping[str, Mapping[str, float]]
    curves: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """A question, and how to answer it for one seed.

    A subclass in a file of this package that is named like the experiment is found by name. It must be picklable: the
    seeds may run in processes of their own.

    Attributes:
        name: By which it is found.
        question: What it answers, in one line.
        schedulers: Who takes part, in the order in which they are shown.
        subjects: Whom the comparisons are about; each is compared with everybody else.
        compared: The metrics they are compared by; the first one ranks.
        shown: The metrics people are shown in a table, with their titles; all metrics are in the files.
        default_seeds: How many seeds are run unless somebody says otherwise.
        default_parameters: What schedulers are built with unless `parameters` says otherwise.
        tasks: How many tasks the schedulers are judged by.
        train_tasks: How many tasks learners are trained on.
        cluster: The devices.
        physics: How they behave.
        parameters: Constructor arguments by scheduler.
    """

    name: ClassVar[str]
    question: ClassVar[str]
    schedulers: ClassVar[tuple[str, ...]]
    subjects: ClassVar[tuple[str, ...]]
    compared: ClassVar[tuple[str, ...]]
    shown: ClassVar[Mapping[str, str]]
    default_seeds: ClassVar[int] = 10
    default_parameters: ClassVar[Mapping[str, object]] = {}

    tasks: int = 1000
    train_tasks: int = 5000
    cluster: ClusterSpec = field(default_factory=ClusterSpec.default)
    physics: Physics = field(default_factory=Physics)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in ("tasks", "train_tasks"):
            if getattr(self, key) < 1:
                raise InvalidInputError(f"{key} is {getattr(self, key)}, but it must be at least 1")

    @abstractmethod
    def run_seed(self, seed: int) -> SeedRecord:
        """Everything for one seed; the same seed gives the same record."""

    def draw(self, result: ExperimentResult, folder: Path) -> list[Path]:
        """Write the plots of a result into a folder; returns their files. Needs matplotlib."""
        return []

    def facts(self) -> dict[str, object]:
        """What stands in the document beside the figures, e.g. published ones."""
        return {}

    def create(self, name: str, seed: int) -> Scheduler:
        """One of the schedulers, as this experiment wants it."""
        return create_scheduler(name, seed=seed, **self._parameters(name))

    def configuration(self) -> dict[str, object]:
        """Everything but the seeds that is needed to repeat the experiment."""
        one = np.ones(1)  # the words for a node are the comparison's, which does not look at its tasks for them
        node = Comparison(
            TaskBatch.from_columns(one, one, one), {"": self.create(self.schedulers[0], 0)}, self.cluster, self.physics
        )
        parameters = {name: self._parameters(name) for name in self.schedulers}
        return {
            "tasks": self.tasks,
            "train_tasks": self.train_tasks,
            "parameters": {name: chosen for name, chosen in parameters.items() if chosen},
            "cluster": node.cluster_facts(),
        }

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Who is compared with whom, each pair once."""
        done: list[tuple[str, str]] = []
        for a in self.subjects:
            done += [(a, b) for b in self.schedulers if b != a and (b, a) not in done]
        return done

    def _parameters(self, name: str) -> dict[str, Any]:
        accepted = inspect.signature(scheduler_class(name)).parameters
        default = {key: value for key, value in self.default_parameters.items() if key in accepted}
        return {**default, **self.parameters.get(name, {})}
