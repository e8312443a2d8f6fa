"""The contract of an experiment: one seed in, figures out. The runner does the rest."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.objective import overridden
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_class

if TYPE_CHECKING:
    from hybrid_scheduler.experiments.result import PointResult

Point = float | str
"""A value of the parameter an experiment varies."""
Figures = Mapping[str, Mapping[str, float]]
"""By scheduler and metric."""
Arrays = Mapping[str, Mapping[str, FloatArray]]
"""By name and scheduler (or column)."""

TRAINED = "the forests from nothing, the agent from its packaged network on"
"""How training begins, in words."""


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work: one seed at one point.

    Attributes:
        seed: The seed.
        point: Value of the parameter the experiment varies; None when it varies none.
        prepared: Folder with what `Experiment.prepare` made for this seed.
        folder: Where the experiment's own files (`Experiment.extra_files`) go; None: they are not wanted of this one.
        said: File for what a person should know while it runs (`say`); None: nobody listens.
    """

    seed: int
    point: Point | None = None
    prepared: Path = Path()
    folder: Path | None = None
    said: Path | None = None

    def say(self, message: str) -> None:
        """Tell whoever waits for the experiment how far this unit is; from any process."""
        if self.said is not None:
            with self.said.open("a", encoding="utf-8") as stream:
                stream.write(f"{message}\n")


@dataclass(frozen=True)
class Record:
    """What one seed gave at one point; all but `clock` follows from seed and configuration (`Experiment.repeatable`).

    Attributes:
        seed: The seed.
        figures: One figure per scheduler and metric. Who is no scheduler of the experiment (`lower_bound`, `forest`)
            stands beside them in the document.
        curves: Per name and scheduler, one value per task or per equal share of the tasks.
        samples: What plots need besides: arrays of any shape, by name and scheduler or column.
        clock: Figures by the wall clock, by scheduler.
        point: Value of the parameter, if one is varied.
    """

    seed: int
    figures: Figures
    curves: Arrays = field(default_factory=dict)
    samples: Arrays = field(default_factory=dict)
    clock: Figures = field(default_factory=dict)
    point: Point | None = None


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
        rivals: With whom they are compared; empty for everybody.
        compared: The metrics they are compared by; the first one ranks.
        shown: The metrics people are shown in a table; all metrics are in the files.
        plots: The plots of its report, by name (`reports.catalogue`).
        parameter: What is varied, if anything.
        variants: Schedulers that go by another name here: the registered name and what is changed.
        extra_files: Files besides the usual ones that the unit of the first seed writes.
        default_seeds: How many seeds are run unless somebody says otherwise.
        default_parameters: What schedulers are built with unless `parameters` says otherwise.
        alone: Whether its units are run one at a time on this machine, because they measure it.
        repeatable: Whether the same unit always gives the same record; not where figures are a machine's.
        tasks: How many tasks the schedulers are judged by.
        train_tasks: How many tasks learners are trained on; 0 where they are not.
        world: The devices and how they behave.
        parameters: Constructor arguments by scheduler.
    """

    name: ClassVar[str]
    question: ClassVar[str]
    schedulers: ClassVar[tuple[str, ...]]
    subjects: ClassVar[tuple[str, ...]]
    rivals: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[tuple[str, ...]]
    shown: ClassVar[tuple[str, ...]]
    plots: ClassVar[tuple[str, ...]] = ()
    parameter: ClassVar[str | None] = None
    variants: ClassVar[Mapping[str, tuple[str, Mapping[str, object]]]] = {}
    extra_files: ClassVar[tuple[str, ...]] = ()
    default_seeds: ClassVar[int] = 10
    default_parameters: ClassVar[Mapping[str, object]] = {}
    alone: ClassVar[bool] = False
    repeatable: ClassVar[bool] = True

    tasks: int = 1000
    train_tasks: int = 5000
    world: World = World()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, least in (("tasks", 1), ("train_tasks", 0)):
            if getattr(self, key) < least:
                raise InvalidInputError(f"{key} is {getattr(self, key)}, but it must be at least {least}")

    @abstractmethod
    def run(self, unit: Unit) -> Record:
        """Everything for one seed at one point; the same unit gives the same record, but for the clock.

        An experiment that measures a machine says that it does not (`repeatable`).
        """

    def prepare(self, seed: int, folder: Path) -> None:  # noqa: B027  (most need nothing)
        """Make what all points of a seed share, e.g. trained models, in an empty folder of its own."""

    def points(self) -> Sequence[Point | None]:
        """The values of the parameter."""
        return (None,)

    def tasks_at(self, point: Point | None) -> int:
        """How many tasks the schedulers are judged by at a point."""
        return self.tasks

    def facts(self) -> dict[str, object]:
        """What stands in the document beside the figures: how learners start, published figures."""
        return {}

    def findings(self, points: Sequence[PointResult]) -> dict[str, object]:
        """What follows from all points together, for the document; `remarks`: sentences that people are shown."""
        return {}

    def write_files(self, records: Sequence[Record], folder: Path) -> list[Path]:
        """Write what follows from all records together besides the usual files; gives the files."""
        return []

    def create(self, name: str, seed: int, **changes: object) -> Scheduler:
        """One of the schedulers, as this experiment wants it, with these changes."""
        registered, _ = self.variants.get(name, (name, {}))
        return create_scheduler(registered, seed=seed, **overridden(self._parameters(name), changes))

    def configuration(self) -> dict[str, object]:
        """Everything but the seeds that is needed to repeat the experiment."""
        parameters = {name: self._parameters(name) for name in self.schedulers}
        return {
            "tasks": self.tasks,
            "train_tasks": self.train_tasks,
            **({} if self.parameter is None else {"points": list(self.points())}),
            "parameters": {name: chosen for name, chosen in parameters.items() if chosen},
            "cluster": self.world.facts(),
        }

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Who is compared with whom, each pair once."""
        done: list[tuple[str, str]] = []
        for a in self.subjects:
            done += [(a, b) for b in self.rivals or self.schedulers if b != a and (b, a) not in done]
        return done

    def _parameters(self, name: str) -> dict[str, Any]:
        registered, changed = self.variants.get(name, (name, {}))
        accepted = inspect.signature(scheduler_class(registered)).parameters
        default = {key: value for key, value in self.default_parameters.items() if key in accepted}
        return overridden(overridden(default, self.parameters.get(registered, {})), changed)
