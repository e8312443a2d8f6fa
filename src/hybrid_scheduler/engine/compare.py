"""One comparison: the same tasks through several schedulers, and what came of it as one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.base import MetricInfo, Value
from hybrid_scheduler.metrics.registry import summarise
from hybrid_scheduler.model.errors import InvalidInputError, SchedulerError
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

REHEARSAL_TASKS = 8
DECISION = MetricInfo("decision_us", "mean time of a decision", "decision", "µs", False, "By the clock on the wall.")
"""What stands beside the metrics: how long a scheduler thinks."""
LEARNING_COUNTERS = ("updates", "refits", "refit_checks")
"""Attributes by which learners say how often they learned during the race."""

Progress = Callable[[str, int], None]
"""Told now and then how many decisions the scheduler of this name has made."""


@dataclass(frozen=True)
class SchedulerResult:
    """One scheduler's figures.

    Attributes:
        metrics: Every registered metric of the counted tasks.
        decision_us: Mean microseconds per decision, by the wall clock.
        learning: What a learner counted (`LEARNING_COUNTERS`).
    """

    metrics: Mapping[str, Value]
    decision_us: float
    learning: Mapping[str, int] = field(default_factory=dict)

    def figures(self) -> dict[str, Value]:
        """All of them, in the words of the document."""
        return {**self.metrics, "decision_us": self.decision_us, **self.learning}

    def __getattr__(self, name: str) -> Any:
        """A metric or counter by its name: `result["mct"].avg_response`."""
        figures = {} if name.startswith("__") else self.figures()
        if name not in figures:
            raise AttributeError(f"there is no figure {name!r}; there are {', '.join(figures)}")
        return figures[name]


@dataclass(frozen=True)
class ComparisonResult:
    """What came of a comparison.

    Attributes:
        comparison: What was compared.
        lower_bound: What no scheduler could beat; None when no task finished.
        schedulers: The figures by name, in the order of the comparison.
        wall_seconds: The races, their statistics and bounds; no imports, no compilation.
    """

    comparison: Comparison
    lower_bound: LowerBound | None
    schedulers: Mapping[str, SchedulerResult]
    wall_seconds: float

    def to_json(self) -> dict[str, object]:
        """The document of `hms compare --json`; all but `wall_seconds` and `decision_us` follows from the seed."""
        bound = self.lower_bound
        return {
            "seed": self.comparison.seed,
            "workload": self.comparison.workload_facts(),
            "cluster": self.comparison.world.facts(),
            "lower_bound": {
                "makespan": None if bound is None else bound.makespan,
                "avg_response": None if bound is None else bound.avg_response,
            },
            "schedulers": {name: result.figures() for name, result in self.schedulers.items()},
            "wall_seconds": self.wall_seconds,
        }


@dataclass(frozen=True)
class Comparison:
    """Who races on what.

    Attributes:
        tasks: The stream every scheduler sees.
        schedulers: The contestants by name. They are used up: run a comparison once, or give it clones.
        world: The devices and how they behave.
        seed: Seed of the noise.
        isolated: Every task meets an idle node.
        warmup: Statistics and bounds leave out the first so many tasks.
        source: Where the tasks come from, for the document: `preset` or `trace`, `arrival_rate`, `load`, ...
    """

    tasks: TaskBatch
    schedulers: Mapping[str, Scheduler]
    world: World = World()
    seed: int = 0
    isolated: bool = False
    warmup: int = 0
    source: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.schedulers:
            raise InvalidInputError("there are no schedulers to compare; name at least one")

    def run(
        self, progress: Progress | None = None, keep: Callable[[str, OutcomeBatch], None] | None = None
    ) -> ComparisonResult:
        """Race every scheduler; each one's outcomes are dropped once its figures are known.

        Args:
            progress: Told now and then how far each scheduler is.
            keep: Handed every scheduler's outcomes, warm-up included, before they are dropped.

        Raises:
            InvalidInputError: The tasks, the node and the warm-up do not go together.
            SchedulerError: A scheduler failed, or decided something the node cannot carry out; the message names it.
        """
        self._rehearse()
        began = perf_counter()
        race = self._race(self.tasks, self.warmup)
        results: dict[str, SchedulerResult] = {}
        bounds: list[LowerBound] = []
        for name, scheduler in self.schedulers.items():
            before = _learned(scheduler)
            with _named(name):
                outcomes, decision_us = _timed(race, name, scheduler, progress, recording=keep is not None)
            if keep is not None:
                keep(name, outcomes)
            learning = {key: count - before[key] for key, count in _learned(scheduler).items()}
            results[name] = SchedulerResult(summarise(outcomes, warmup=self.warmup), decision_us, learning)
            if not outcomes.failed[self.warmup :].all():
                bounds.append(race.lower_bound(outcomes))
        return ComparisonResult(self, _lowest(bounds), results, perf_counter() - began)

    def workload_facts(self) -> dict[str, object]:
        """Where the tasks come from, and how they are raced."""
        return {**self.source, "tasks": len(self.tasks), "warmup": self.warmup, "isolated": self.isolated}

    def _race(self, tasks: TaskBatch, warmup: int) -> Race:
        return Race(tasks, self.world, seed=self.seed, isolated=self.isolated, warmup=warmup)

    def _rehearse(self) -> None:
        """Take a few tasks through everything the clock will time, so that the code is compiled and loaded by then."""
        race = self._race(_few(self.tasks), 0)
        for name, scheduler in self.schedulers.items():
            with _named(name):
                outcomes = race.run(scheduler.clone(), progress=lambda _: None)
            summarise(outcomes)
            race.lower_bound(outcomes)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say who failed."""
    try:
        yield
    except SchedulerError as error:
        raise type(error)(f"scheduler {name!r} cannot be compared: {error}") from error


def _learned(scheduler: Scheduler) -> dict[str, int]:
    """How often a scheduler has learned so far; nothing for one that does not count."""
    return {key: int(getattr(scheduler, key)) for key in LEARNING_COUNTERS if hasattr(scheduler, key)}


def _timed(
    race: Race, name: str, scheduler: Scheduler, progress: Progress | None, *, recording: bool
) -> tuple[OutcomeBatch, float]:
    """The outcomes, and the mean microseconds per decision."""
    made = 0

    def report(decisions: int) -> None:
        nonlocal made
        made = decisions
        if progress is not None:
            progress(name, decisions)

    began = perf_counter()
    outcomes = race.run(scheduler, progress=report, recording=recording)
    return outcomes, (perf_counter() - began) / max(made, 1) * 1e6


def _few(tasks: TaskBatch) -> TaskBatch:
    """The first few tasks; a chain if there are dependencies at all, because those take other code."""
    n = min(len(tasks), REHEARSAL_TASKS)
    chained = np.arange(n if tasks.has_dependencies else 1) - 1
    start = np.maximum(np.arange(n + 1) - 1, 0) if tasks.has_dependencies else np.zeros(n + 1, np.int64)
    columns = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate")
    head = {name: getattr(tasks, name)[:n] for name in (*columns, "kind_index")}
    data = np.full(n - 1, tasks.parent_mb.max()) if len(tasks.parent_mb) else tasks.parent_mb
    return replace(tasks, **head, parent_start=start, parents=chained[1:], parent_mb=data, _position={})


def _lowest(bounds: list[LowerBound]) -> LowerBound | None:
    """Schedulers differ in their bounds when different tasks failed: what holds for all is the lowest."""
    if not bounds:
        return None
    return LowerBound(min(b.makespan for b in bounds), min(b.avg_response for b in bounds))
