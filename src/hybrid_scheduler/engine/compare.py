"""One comparison: the same tasks through several schedulers, and what came of it as one document."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
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
SHOWN_FAILURES = 100
"""Failures that a document names."""
BOUNDED = ("makespan", "avg_response")
"""The figures that have a lower bound."""
GAP = MetricInfo(
    "gap",
    "mean response above the lower bound",
    "gap",
    "share",
    False,
    "Mean response over the lower bound of the same tasks, less 1.",
)
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
        decision_us: Mean microseconds per decision, by the wall clock; not a number where it was never asked.
        learning: What a learner counted (`LEARNING_COUNTERS`).
        gap: How far `makespan` and `avg_response` are above the lower bound of the tasks it finished, as a share of the
            bound; None where there is none.
        failures: Why tasks failed, by id, where that is known: on a real node.
    """

    metrics: Mapping[str, Value]
    decision_us: float
    learning: Mapping[str, int] = field(default_factory=dict)
    gap: Mapping[str, float | None] = field(default_factory=lambda: dict.fromkeys(BOUNDED))
    failures: Mapping[int, str] = field(default_factory=dict)

    def figures(self) -> dict[str, Value]:
        """All of them, in the words of the document."""
        decision_us = None if math.isnan(self.decision_us) else self.decision_us
        return {**self.metrics, "gap": dict(self.gap), "decision_us": decision_us, **self.learning}

    def named_failures(self) -> dict[str, object]:
        """The first failures with their reasons, for a document."""
        first = sorted(self.failures.items())[:SHOWN_FAILURES]
        return {"failures": [{"task_id": task_id, "reason": reason} for task_id, reason in first]}

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
        whole_makespan: What a scheduler proved that no schedule of *whole* tasks can beat
            (`Scheduler.proved_makespan`); one that divides tasks may. None when nobody proved anything.
        node: Of a race for real, where it was run; else None.
    """

    comparison: Comparison
    lower_bound: LowerBound | None
    schedulers: Mapping[str, SchedulerResult]
    wall_seconds: float
    whole_makespan: float | None = None
    node: Mapping[str, object] | None = None

    def to_json(self) -> dict[str, object]:
        """The document of `hms compare --json`; all but `wall_seconds` and `decision_us` follows from the seed.

        That of a race for real has `node` besides, and `failures` of every scheduler; its times are the clock's.
        """
        least = {name: None if self.lower_bound is None else getattr(self.lower_bound, name) for name in BOUNDED}
        if self.whole_makespan is not None:
            least["whole_makespan"] = self.whole_makespan
        document: dict[str, object] = {
            "seed": self.comparison.seed,
            "workload": self.comparison.workload_facts(),
            "cluster": self.comparison.world.facts(),
            "lower_bound": least,
            "schedulers": {name: result.figures() for name, result in self.schedulers.items()},
            "wall_seconds": self.wall_seconds,
        }
        if self.node is not None:
            named = {name: result.figures() | result.named_failures() for name, result in self.schedulers.items()}
            # How it behaves nobody has set: what schedulers are told of it is all there is to say.
            told = {"model": self.node["times"], "cost": self.comparison.world.physics.pricing}
            cluster = self.comparison.world.facts() | {"physics": told}
            document |= {"node": dict(self.node), "cluster": cluster, "schedulers": named}
        return document


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
            before = learned(scheduler)
            with named_contestant(name):
                outcomes, decision_us = _timed(race, name, scheduler, progress, recording=keep is not None)
            if keep is not None:
                keep(name, outcomes)
            learning = {key: count - before[key] for key, count in learned(scheduler).items()}
            # Beside each other, now that nobody's decisions are timed.
            with ThreadPoolExecutor(1) as beside:
                bounding = beside.submit(race.lower_bound, outcomes)
                metrics = summarise(outcomes, warmup=self.warmup)
            bound = None if outcomes.failed[self.warmup :].all() else bounding.result()
            if bound is not None:
                bounds.append(bound)
            results[name] = SchedulerResult(metrics, decision_us, learning, gaps(metrics, bound))
        lowest, seconds = _lowest(bounds), perf_counter() - began
        return ComparisonResult(self, lowest, results, seconds, self._whole_makespan(lowest, results))

    def workload_facts(self) -> dict[str, object]:
        """Where the tasks come from, and how they are raced."""
        return {**self.source, "tasks": len(self.tasks), "warmup": self.warmup, "isolated": self.isolated}

    def _whole_makespan(self, lowest: LowerBound | None, results: Mapping[str, SchedulerResult]) -> float | None:
        """The largest proof for whole tasks that holds in this race: for all tasks, at the times that were told."""
        world = self.world
        told = world.physics.noise == 0.0 and not world.cluster.disturbances
        if lowest is None or not told or self.warmup or self.isolated:
            return None
        if any(result.metrics.get("failed") for result in results.values()):
            return None
        proofs = [scheduler.proved_makespan() for scheduler in self.schedulers.values()]
        return max((max(proof, lowest.makespan) for proof in proofs if proof is not None), default=None)

    def _race(self, tasks: TaskBatch, warmup: int) -> Race:
        return Race(tasks, self.world, seed=self.seed, isolated=self.isolated, warmup=warmup)

    def _rehearse(self) -> None:
        """Take a few tasks through everything the clock will time, so that the code is compiled and loaded by then."""
        race = self._race(_few(self.tasks), 0)
        for name, scheduler in self.schedulers.items():
            with named_contestant(name):
                outcomes = race.run(scheduler.clone(), progress=lambda _: None)
            summarise(outcomes)
            race.lower_bound(outcomes)


def gaps(metrics: Mapping[str, Value], bound: LowerBound | None) -> dict[str, float | None]:
    """What a scheduler reached over the lower bound, less 1, for every figure that has one."""
    found: dict[str, float | None] = {}
    for name in BOUNDED:
        reached, least = metrics.get(name), None if bound is None else getattr(bound, name)
        found[name] = reached / least - 1.0 if isinstance(reached, int | float) and least else None
    return found


@contextmanager
def named_contestant(name: str) -> Iterator[None]:
    """Say who failed."""
    try:
        yield
    except SchedulerError as error:
        raise type(error)(f"scheduler {name!r} cannot be compared: {error}") from error


def learned(scheduler: Scheduler) -> dict[str, int]:
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
    head = {name: getattr(tasks, name)[:n] for name in (*columns, "kind_index", "width", "time_factor")}
    data = np.full(n - 1, tasks.parent_mb.max()) if len(tasks.parent_mb) else tasks.parent_mb
    return replace(tasks, **head, parent_start=start, parents=chained[1:], parent_mb=data, _position={})


def _lowest(bounds: list[LowerBound]) -> LowerBound | None:
    """Schedulers differ in their bounds when different tasks failed: what holds for all is the lowest."""
    if not bounds:
        return None
    return LowerBound(min(b.makespan for b in bounds), min(b.avg_response for b in bounds))
