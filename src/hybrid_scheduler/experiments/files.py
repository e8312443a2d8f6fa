"""Results on disk: JSON, and tidy tables as CSV and Parquet. Plots and the report are the room `reports`'.

Tables hold nothing of the wall clock, so the same experiment writes the same bytes; `clock.csv` has what it took.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.experiments.statistics import interval

RESULT, DOCUMENT = "result.csv", "result.json"
SUMMARY, COMPARISONS, CLOCK = "summary.csv", "comparisons.csv", "clock.csv"


def write_result(result: ExperimentResult, folder: Path) -> list[Path]:
    """Write the document and the tables.

    `result` (every figure of every seed) is CSV and, where pyarrow is installed, Parquet; `summary` has means with
    intervals, `comparisons` the paired differences, `clock` the wall clock, and every curve a table of its own.
    What else an experiment writes (`Experiment.write_files`) follows.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    document = folder / DOCUMENT
    document.write_text(json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    key = _key(result)
    every = _table(result.rows(), [*key, "seed", "scheduler", "metric", "value"])
    files = [document, _write(every, folder / RESULT)]
    if can_write_parquet():
        files.append(folder / "result.parquet")
        every.to_parquet(files[-1], index=False)
    files.append(_write(_summary(result), folder / SUMMARY))
    files.append(_write(_comparisons(result), folder / COMPARISONS))
    files.append(_write(_clock(result), folder / CLOCK))
    files += [_write(_curve(result, name), folder / f"{name}.csv") for name in result.records[0].curves]
    files += result.experiment.write_files(result.records, folder)
    return [*files, *(folder / name for name in result.experiment.extra_files if (folder / name).is_file())]


def can_write_parquet() -> bool:
    """Whether Parquet can be written here: pyarrow comes with the extra `report`."""
    return find_spec("pyarrow") is not None


def _key(result: ExperimentResult) -> list[str]:
    parameter = result.experiment.parameter
    return ["experiment"] if parameter is None else ["experiment", parameter]


def _summary(result: ExperimentResult) -> pd.DataFrame:
    rows = (
        (*result.key(point.point), scheduler, metric, estimate.mean, estimate.low, estimate.high)
        for point in result.points
        for scheduler, figures in point.estimates.items()
        for metric, estimate in figures.items()
    )
    return _table(rows, [*_key(result), "scheduler", "metric", "mean", "low", "high"])


def _comparisons(result: ExperimentResult) -> pd.DataFrame:
    columns = ("a", "b", "metric", "difference", "low", "high", "p", "p_holm", "effect_size", "verdict")
    rows = (
        (*result.key(point.point), *(getattr(comparison, column) for column in columns))
        for point in result.points
        for comparison in point.comparisons
    )
    return _table(rows, [*_key(result), *columns])


def _clock(result: ExperimentResult) -> pd.DataFrame:
    rows = (
        (*result.key(record.point), record.seed, scheduler, metric, value)
        for record in result.records
        for scheduler, figures in record.clock.items()
        for metric, value in figures.items()
    )
    return _table(rows, [*_key(result), "seed", "scheduler", "metric", "value"])


def _curve(result: ExperimentResult, name: str) -> pd.DataFrame:
    """The mean curve of every scheduler with its interval; `task` is the last one a value covers."""
    tables = []
    for point in result.points:
        for scheduler in point.records[0].curves.get(name, {}):
            values = point.curve(name, scheduler)
            steps = values.shape[1]
            ends = interval(values)
            low, high = (np.nan, np.nan) if ends is None else ends
            start = dict(zip(_key(result), result.key(point.point), strict=True))
            tasks = result.experiment.tasks_at(point.point)
            task = [round((k + 1) * tasks / steps) for k in range(steps)]
            columns = {"scheduler": scheduler, "task": task, "mean": values.mean(axis=0), "low": low, "high": high}
            tables.append(pd.DataFrame({**start, **columns}, index=range(steps)))
    return pd.concat(tables, ignore_index=True)


def _table(rows: Iterable[tuple[object, ...]], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=columns)


def _write(table: pd.DataFrame, path: Path) -> Path:
    table.to_csv(path, index=False, lineterminator="\n")
    return path
