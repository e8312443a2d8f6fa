"""Results on disk: JSON, tidy CSV, plots."""

from __future__ import annotations

import csv
import json
from importlib.util import find_spec
from pathlib import Path

from hybrid_scheduler.experiments.runner import ExperimentResult
from hybrid_scheduler.experiments.statistics import interval

COLUMNS = ("experiment", "seed", "scheduler", "metric", "value")
CURVE_COLUMNS = ("experiment", "scheduler", "task", "mean", "low", "high")


def can_draw() -> bool:
    """Whether plots can be drawn here: matplotlib comes with the extra `report`."""
    return find_spec("matplotlib") is not None


def write_result(result: ExperimentResult, folder: Path) -> list[Path]:
    """Write `result.json`, `result.csv`, one CSV per curve and, where they can be drawn, the plots.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "result.json", folder / "result.csv"]
    document = json.dumps(result.to_json(), indent=2, allow_nan=False)
    files[0].write_text(document + "\n", encoding="utf-8")
    with files[1].open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((*row[:4], repr(row[4])) for row in result.rows())
    files += [_write_curve(result, name, folder) for name in result.records[0].curves]
    return [*files, *result.experiment.draw(result, folder)] if can_draw() else files


def _write_curve(result: ExperimentResult, name: str, folder: Path) -> Path:
    """The mean curve of every scheduler with its interval."""
    path = folder / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(CURVE_COLUMNS)
        for scheduler in result.records[0].curves[name]:
            values = result.curve(name, scheduler)
            mean = values.mean(axis=0).tolist()
            found = interval(values)
            low, high = ([""] * len(mean),) * 2 if found is None else (each.tolist() for each in found)
            for task, row in enumerate(zip(mean, low, high, strict=True), start=1):
                table.writerow((result.experiment.name, scheduler, task, *row))
    return path
