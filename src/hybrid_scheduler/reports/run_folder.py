"""A finished run, read back from its folder: the document, and the arrays of its parts where they are still there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.experiments.base import Point, Record
from hybrid_scheduler.experiments.files import DOCUMENT
from hybrid_scheduler.experiments.parts import FOLDER, part_name, read_part
from hybrid_scheduler.experiments.statistics import Estimate, PairedComparison
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray

NEEDED = {
    "experiment",
    "question",
    "seeds",
    "intervals",
    "verdicts",
    "compared",
    "shown",
    "plots",
    "configuration",
    "version",
    "machine",
    "work_seconds",
}
RACE = "race"
"""What stands for the name of the experiment where there was none, but one race."""
MOST_BYTES = 2**28
POINT_NEEDED = ("schedulers", "comparisons", "significance")
"""What a report needs of a document, and of each of its points."""


@dataclass(frozen=True)
class RunPoint:
    """All seeds at one point.

    Attributes:
        value: The parameter's value; None where nothing is varied.
        estimates: Figures with intervals by scheduler and metric; `lower_bound` and others beside them.
        schedulers: Those of them that are schedulers, in the order of the document.
        comparisons: Pairwise comparisons of schedulers.
        records: What each seed gave; empty when the parts are gone.
    """

    value: Point | None
    estimates: Mapping[str, Mapping[str, Estimate]]
    schedulers: tuple[str, ...]
    comparisons: tuple[PairedComparison, ...]
    records: tuple[Record, ...]

    def figures(self, metric: str, *, bound: bool = False) -> dict[str, Estimate]:
        """One metric of all schedulers that have it, and of the lower bound if it is wanted."""
        names = [*self.schedulers, *(["lower_bound"] if bound and "lower_bound" in self.estimates else [])]
        return {name: self.estimates[name][metric] for name in names if metric in self.estimates[name]}

    def sample(self, name: str) -> dict[str, FloatArray]:
        """Samples of all seeds put together, by scheduler or column; empty when there are none."""
        if not self.records or name not in self.records[0].samples:
            return {}
        columns = self.records[0].samples[name]
        return {key: np.concatenate([record.samples[name][key] for record in self.records]) for key in columns}

    def first_sample(self, name: str) -> dict[str, FloatArray]:
        """Samples of the first seed alone."""
        return dict(self.records[0].samples.get(name, {})) if self.records else {}

    def curves(self, name: str) -> dict[str, FloatArray]:
        """Curves by scheduler, one row per seed; empty when there are none."""
        if not self.records or name not in self.records[0].curves:
            return {}
        return {
            scheduler: np.stack([record.curves[name][scheduler] for record in self.records])
            for scheduler in self.records[0].curves[name]
        }


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        folder: Where it lies.
        document: Its JSON document.
    """

    folder: Path
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The experiment."""
        return str(self.document["experiment"])

    @property
    def is_race(self) -> bool:
        """Whether it is one race (`reports.race`), with neither seeds nor comparisons."""
        return self.name == RACE

    @property
    def parameter(self) -> str | None:
        """What was varied, if anything."""
        return self.document.get("parameter")

    @property
    def varies_a_number(self) -> bool:
        """Whether what was varied is a number."""
        return all(isinstance(point.value, float | int) for point in self.points)

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return list(self.document["seeds"])

    @property
    def devices(self) -> list[str]:
        """Names of the node's devices."""
        return [device["name"] for device in self.document["configuration"]["cluster"]["devices"]]

    @property
    def tasks(self) -> int:
        """How many tasks were judged."""
        return int(self.document["configuration"]["tasks"])

    @cached_property
    def points(self) -> list[RunPoint]:
        """One per value of the parameter; one in all where nothing is varied."""
        documents = [self.document] if self.parameter is None else self.document["points"]
        return [self._point(point) for point in documents]

    def _point(self, document: Mapping[str, Any]) -> RunPoint:
        value = None if self.parameter is None else document[self.parameter]
        beside = {name: figures for name, figures in document.items() if _are_figures(figures)}
        estimates = {
            name: {
                metric: Estimate(e["mean"], e["low"], e["high"], tuple(e["values"])) for metric, e in figures.items()
            }
            for name, figures in {**document["schedulers"], **beside}.items()
        }
        pairs = zip(document["comparisons"], document["significance"], strict=True)
        comparisons = tuple(PairedComparison(**{**basis, **words}) for words, basis in pairs)
        records = [read_part(self.folder / FOLDER / part_name(seed, value)) for seed in self.seeds]
        whole = tuple(record for record in records if record is not None)
        return RunPoint(
            value,
            estimates,
            tuple(document["schedulers"]),
            comparisons,
            whole if len(whole) == len(self.seeds) else (),
        )


def _are_figures(value: object) -> bool:
    """Whether an entry of the document holds figures by metric, like `lower_bound`."""
    return (
        isinstance(value, dict) and bool(value) and all(isinstance(e, dict) and "values" in e for e in value.values())
    )


def open_run(name: str | Path) -> Run:
    """The run of a folder that `hms experiment` wrote.

    Raises:
        InvalidInputError: There is no such folder, or no result in it.
    """
    folder = Path(name)
    path = folder / DOCUMENT
    if not path.is_file():
        raise InvalidInputError(
            f"{folder} holds no {DOCUMENT}; give the folder of a finished experiment, e.g. data/results/mixed"
        )
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        document = json.loads(path.read_text(encoding="utf-8"))
        if not (isinstance(document, dict) and all(isinstance(point, dict) for point in document.get("points", []))):
            raise TypeError("it is no mapping of keys to values")
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise InvalidInputError(f"{path} is damaged ({error}); run the experiment again") from error
    points = document.get("points", [document])
    missing = (NEEDED - set(document)) | {key for key in POINT_NEEDED for point in points if key not in point}
    if missing:
        raise InvalidInputError(
            f"{path} lacks {', '.join(sorted(missing))}: it was not written by this version of hms experiment; run it "
            "again"
        )
    return Run(folder, document)
