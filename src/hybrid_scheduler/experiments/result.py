"""What came of an experiment: records, statistics over the seeds, and the document made of them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from hybrid_scheduler.experiments.base import Experiment, Point, Record
from hybrid_scheduler.experiments.figures import figure_info
from hybrid_scheduler.experiments.parts import fingerprint
from hybrid_scheduler.experiments.statistics import (
    Estimate,
    PairedComparison,
    compare,
    corrected,
    estimate,
    method,
    verdict_method,
)
from hybrid_scheduler.hardware.machine import usable_cores
from hybrid_scheduler.model.task import FloatArray

LIBRARIES = ("numpy", "numba", "pandas", "scikit-learn", "torch", "matplotlib", "pyarrow", "typst")
"""Whose versions stand in the document."""


@dataclass(frozen=True)
class PointResult:
    """All seeds at one point.

    Attributes:
        experiment: What was run.
        point: Value of the parameter; None when nothing is varied.
        records: One per seed, in the order of the seeds.
    """

    experiment: Experiment
    point: Point | None
    records: tuple[Record, ...]

    @cached_property
    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Every figure that all seeds have, with its interval, by scheduler and metric."""
        return {
            name: {
                metric: estimate(self.values(name, metric))
                for metric in figures
                if all(metric in record.figures[name] for record in self.records)
            }
            for name, figures in self.records[0].figures.items()
        }

    @cached_property
    def comparisons(self) -> list[PairedComparison]:
        """The paired comparisons asked for, of figures that all seeds have; those by one metric are one family."""
        comparisons: list[PairedComparison] = []
        for metric in self.experiment.compared:
            more = bool(figure_info(metric).bigger_is_better)
            comparisons += corrected(
                [
                    compare(a, b, metric, self.values(a, metric), self.values(b, metric), bigger_is_better=more)
                    for a, b in self.experiment.pairs()
                    if metric in self.estimates[a] and metric in self.estimates[b]
                ]
            )
        return comparisons

    def values(self, scheduler: str, metric: str) -> list[float]:
        """One value per seed."""
        return [record.figures[scheduler][metric] for record in self.records]

    def curve(self, name: str, scheduler: str) -> FloatArray:
        """A curve of a scheduler: one row per seed."""
        return np.stack([record.curves[name][scheduler] for record in self.records])

    def to_json(self) -> dict[str, object]:
        """Figures and comparisons; who is no scheduler stands beside them."""
        figures = {
            name: {metric: each.to_json() for metric, each in found.items()} for name, found in self.estimates.items()
        }
        there = [name for name in self.experiment.schedulers if name in figures]
        return {
            **({} if self.experiment.parameter is None else {self.experiment.parameter: self.point}),
            "schedulers": {name: figures[name] for name in there},
            **{name: found for name, found in figures.items() if name not in there},
            "comparisons": [each.to_json() for each in self.comparisons],
            "significance": [each.significance() for each in self.comparisons],
        }


@dataclass(frozen=True)
class ExperimentResult:
    """What came of an experiment.

    Attributes:
        experiment: What was run.
        records: Every seed of the first point, then of the next, in the order of the seeds.
        wall_seconds: How long it took, this time.
        resumed: How many of the records had been made earlier.
    """

    experiment: Experiment
    records: tuple[Record, ...]
    wall_seconds: float
    resumed: int = 0

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return list(dict.fromkeys(record.seed for record in self.records))

    @cached_property
    def points(self) -> list[PointResult]:
        """One result per value of the parameter; one in all where nothing is varied."""
        return [
            PointResult(self.experiment, point, tuple(record for record in self.records if record.point == point))
            for point in self.experiment.points()
        ]

    @property
    def remarks(self) -> list[str]:
        """What people are told besides the tables."""
        remarks = self.experiment.findings(self.points).get("remarks", [])
        assert isinstance(remarks, list)
        return remarks

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Every figure as one tidy row: experiment, the parameter if there is one, seed, scheduler, metric, value."""
        for record in self.records:
            for scheduler, figures in record.figures.items():
                for metric, value in figures.items():
                    yield *self.key(record.point), record.seed, scheduler, metric, value

    def key(self, point: Point | None) -> tuple[object, ...]:
        """What every row of a table begins with."""
        return (self.experiment.name,) if self.experiment.parameter is None else (self.experiment.name, point)

    def summary(self) -> dict[str, object]:
        """The document's figures that people are shown or that are compared, less the values of the seeds."""
        wanted = {*self.experiment.shown, *self.experiment.compared}

        def figures(point: PointResult) -> dict[str, object]:
            return {
                name: {
                    metric: {"mean": each.mean, "low": each.low, "high": each.high}
                    for metric, each in point.estimates[name].items()
                    if metric in wanted
                }
                for name in self.experiment.schedulers
                if name in point.estimates
            }

        parameter = self.experiment.parameter
        if parameter is None:
            return {"schedulers": figures(self.points[0])}
        points = [{parameter: point.point, "schedulers": figures(point)} for point in self.points]
        return {"schedulers": {}, "parameter": parameter, "points": points}

    def to_json(self) -> dict[str, object]:
        """The document of `hms experiment --json`; all but the `…_seconds` and `machine` follows from the rest."""
        experiment, points = self.experiment, [point.to_json() for point in self.points]
        return {
            "experiment": experiment.name,
            "question": experiment.question,
            "seeds": self.seeds,
            **(points[0] if experiment.parameter is None else {"parameter": experiment.parameter, "points": points}),
            "intervals": method(len(self.seeds)),
            "verdicts": verdict_method(),
            **experiment.facts(),
            **experiment.findings(self.points),
            "compared": list(experiment.compared),
            "shown": {name: figure_info(name).head for name in experiment.shown},
            "plots": list(experiment.plots),
            "configuration": experiment.configuration(),
            "version": version("hybrid-ml-scheduler"),
            "sources": fingerprint(experiment)["sources"],
            "machine": machine_facts(),
            "wall_seconds": self.wall_seconds,
            "work_seconds": sum(record.clock["experiment"]["wall_seconds"] for record in self.records),
        }


def machine_facts() -> dict[str, object]:
    """The machine, the Python and the libraries that made the figures."""
    libraries = {}
    for name in LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": usable_cores(),
        "memory_gb": _ram_gb(),
        "python": platform.python_version(),
        "libraries": libraries,
    }


def _ram_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)
    except (AttributeError, ValueError, OSError):  # not every system tells
        return None
