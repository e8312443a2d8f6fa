"""Runs an experiment over its seeds and puts the statistics together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from multiprocessing import get_context
from time import perf_counter

import numpy as np

from hybrid_scheduler.experiments.base import Experiment, SeedRecord
from hybrid_scheduler.experiments.statistics import Estimate, PairedComparison, compare, estimate, method
from hybrid_scheduler.metrics.registry import metric_classes
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray

Row = tuple[str, int, str, str, float]
"""Experiment, seed, scheduler, metric, value."""


@dataclass(frozen=True)
class ExperimentResult:
    """What came of an experiment.

    Attributes:
        experiment: What was run.
        records: One per seed, in the order of the seeds.
        wall_seconds: How long it took.
    """

    experiment: Experiment
    records: tuple[SeedRecord, ...]
    wall_seconds: float

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return [record.seed for record in self.records]

    @cached_property
    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Every figure with its interval, by scheduler and metric."""
        return {
            name: {metric: estimate(self.values(name, metric)) for metric in figures}
            for name, figures in self.records[0].figures.items()
        }

    @cached_property
    def comparisons(self) -> list[PairedComparison]:
        """The paired comparisons the experiment asks for."""
        return [
            compare(a, b, metric, self.values(a, metric), self.values(b, metric), bigger_is_better=_bigger(metric))
            for metric in self.experiment.compared
            for a, b in self.experiment.pairs()
        ]

    def values(self, scheduler: str, metric: str) -> list[float]:
        """One value per seed."""
        return [record.figures[scheduler][metric] for record in self.records]

    def curve(self, name: str, scheduler: str) -> FloatArray:
        """A curve of a scheduler: one row per seed, one column per task."""
        return np.stack([record.curves[name][scheduler] for record in self.records])

    def rows(self) -> Iterator[Row]:
        """Every figure as one tidy row."""
        for record in self.records:
            for scheduler, figures in record.figures.items():
                for metric, value in figures.items():
                    yield self.experiment.name, record.seed, scheduler, metric, value

    def to_json(self) -> dict[str, object]:
        """The document of `hms experiment --json`; all but `wall_seconds` follows from seeds and configuration."""
        return {
            "experiment": self.experiment.name,
            "question": self.experiment.question,
            "seeds": self.seeds,
            "schedulers": {
                name: {metric: each.to_json() for metric, each in figures.items()}
                for name, figures in self.estimates.items()
            },
            "comparisons": [each.to_json() for each in self.comparisons],
            "intervals": method(len(self.records)),
            **self.experiment.facts(),
            "configuration": self.experiment.configuration(),
            "version": version("hybrid-ml-scheduler"),
            "wall_seconds": self.wall_seconds,
        }


def run_experiment(
    experiment: Experiment, seeds: Sequence[int], *, jobs: int = 1, progress: Callable[[int], None] | None = None
) -> ExperimentResult:
    """Run an experiment once per seed.

    Args:
        experiment: What to run.
        seeds: The seeds; their order is that of the results.
        jobs: How many seeds at a time, each in a process of its own when it is more than one. Same results.
        progress: Told how many seeds are done.

    Raises:
        InvalidInputError: There are no seeds, a seed comes twice, or the experiment cannot be run as configured.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InvalidInputError(f"seeds are {list(seeds)}, but there must be at least one and none twice")
    if jobs < 1:
        raise InvalidInputError(f"jobs is {jobs}, but it must be at least 1")
    report = progress or _silent
    began = perf_counter()
    run = _one_after_the_other if min(jobs, len(seeds)) == 1 else _side_by_side
    records = run(experiment, seeds, jobs, report)
    return ExperimentResult(experiment, records, perf_counter() - began)


def _one_after_the_other(
    experiment: Experiment, seeds: Sequence[int], jobs: int, report: Callable[[int], None]
) -> tuple[SeedRecord, ...]:
    records = []
    for seed in seeds:
        records.append(_run_seed(experiment, seed))
        report(len(records))
    return tuple(records)


def _side_by_side(
    experiment: Experiment, seeds: Sequence[int], jobs: int, report: Callable[[int], None]
) -> tuple[SeedRecord, ...]:
    # Fresh processes: a forked one would inherit the threads of PyTorch and numba in an unknown state.
    pool = ProcessPoolExecutor(min(jobs, len(seeds)), mp_context=get_context("spawn"))
    try:
        futures = [pool.submit(_run_seed, experiment, seed) for seed in seeds]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            report(done)
        return tuple(future.result() for future in futures)
    finally:
        pool.shutdown(cancel_futures=True)  # when one seed has failed, the others are in vain


def _run_seed(experiment: Experiment, seed: int) -> SeedRecord:
    return experiment.run_seed(seed)


def _bigger(metric: str) -> bool:
    found = metric_classes().get(metric)
    return found is not None and bool(found.bigger_is_better)


def _silent(done: int) -> None:
    """Nobody is watching."""
