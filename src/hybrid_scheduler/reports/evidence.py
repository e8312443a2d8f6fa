"""What claims are judged by: the documents of finished experiments, the best one of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_scheduler.experiments.files import DOCUMENT
from hybrid_scheduler.experiments.parts import FOLDER, STAMP, fingerprint, part_name
from hybrid_scheduler.experiments.registry import experiment_classes
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.reports.content import command
from hybrid_scheduler.reports.run_folder import Run

LIMITS = ("seconds", "generations")
"""Options that say how long, not what."""
SAME, OTHER, UNKNOWN = "as they are now", "another state", "not recorded"


@dataclass(frozen=True)
class Evidence:
    """A finished experiment.

    Attributes:
        document: Its `result.json`.
        sources: `SAME` when the sources that its figures come from are those of this package, `OTHER`, or `UNKNOWN`
            where the run's folder does not say.
    """

    document: Mapping[str, Any]
    sources: str = UNKNOWN

    @property
    def name(self) -> str:
        """The experiment."""
        return str(self.document["experiment"])

    @property
    def key(self) -> str:
        """The experiment, with what was asked of it where that is a choice: runs of one key replace each other."""
        asked = self.document["configuration"].get("options", {})
        return " ".join([self.name, *(str(value) for key, value in asked.items() if key not in LIMITS)])

    @property
    def size(self) -> int:
        """Tasks of all seeds."""
        return len(self.document["seeds"]) * int(self.document["configuration"]["tasks"])

    @property
    def command(self) -> str:
        """What repeats it."""
        return command(Run(Path(), self.document))

    def point(self, value: float | str | None = None) -> Mapping[str, Any]:
        """The figures at one value of the parameter, or all there are where none is varied."""
        if value is None:
            return self.document
        points = (p for p in self.document["points"] if p[self.document["parameter"]] == value)
        return next(points)

    def figure(self, scheduler: str, metric: str, point: float | str | None = None) -> Estimate:
        """One figure with its interval."""
        figures = self.point(point)["schedulers"][scheduler][metric]
        return Estimate(figures["mean"], figures["low"], figures["high"], tuple(figures["values"]))

    def ratio(self, a: str, b: str, metric: str) -> Estimate:
        """One scheduler's figure over another's, seed by seed."""
        pairs = zip(self.figure(a, metric).values, self.figure(b, metric).values, strict=True)
        return estimate([ours / theirs for ours, theirs in pairs])

    def comparison(self, a: str, b: str, metric: str, point: float | str | None = None) -> Mapping[str, Any]:
        """The paired comparison of two schedulers."""
        rows = self.point(point)["comparisons"]
        comparison: Mapping[str, Any] = next(r for r in rows if (r["a"], r["b"], r["metric"]) == (a, b, metric))
        return comparison


def gather(places: Iterable[Path]) -> dict[str, Evidence]:
    """The best run of every key: of the present sources if there is one, then the largest, then the last named.

    Args:
        places: Folders of runs, folders of such folders, or documents.

    Raises:
        InvalidInputError: A place does not exist or holds something else.
    """
    best: dict[str, Evidence] = {}
    for place in places:
        for path in _documents(place):
            evidence = _read(path)
            known = best.get(evidence.key)
            if known is None or _worth(evidence) >= _worth(known):
                best[evidence.key] = evidence
    return best


def _documents(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise InvalidInputError(
            f"{place} does not exist; give the folder of a finished experiment, or one of such folders"
        )
    return [place / DOCUMENT] if (place / DOCUMENT).is_file() else sorted(place.glob(f"*/{DOCUMENT}"))


def _worth(evidence: Evidence) -> tuple[bool, int]:
    return evidence.sources == SAME, evidence.size


def _read(path: Path) -> Evidence:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind = experiment_classes().get(document["experiment"])
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInputError(f"{path} is no document of an experiment; run 'hms experiment' again") from error
    if kind is None:
        raise InvalidInputError(f"{path} is of the experiment {document['experiment']!r}, which is not known here")
    made_of = document.get("sources") or _stamped(path.parent / FOLDER, document)
    if made_of is None:
        return Evidence(document)
    return Evidence(document, SAME if made_of == fingerprint(kind())["sources"] else OTHER)


def _stamped(folder: Path, document: Mapping[str, Any]) -> str | None:
    """What the parts beside a document were made of, when it does not say so itself and all of its parts are there."""
    points = [point[document["parameter"]] for point in document["points"]] if "points" in document else [None]
    files = [folder / part_name(seed, point) for seed in document["seeds"] for point in points]
    if not all(file.is_file() for file in (folder / STAMP, *files)):
        return None
    sources: str | None = json.loads((folder / STAMP).read_text(encoding="utf-8")).get("sources")
    return sources
