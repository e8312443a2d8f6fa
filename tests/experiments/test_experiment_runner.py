"""The runner: seeds in, document, tables and plots out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_experiment import UNLUCKY, Small

import hybrid_scheduler
from hybrid_scheduler.experiments.figures import DERIVED
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.registry import experiment_classes, find_experiment
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.metrics.registry import metric_classes
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError


def test_the_document() -> None:
    told: list[tuple[int, int]] = []
    result = run_experiment(Small(), range(1, 7), progress=lambda *counts: told.append(counts))
    assert told == [(k, 6) for k in range(7)]
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert (document["experiment"], document["seeds"]) == ("small", [1, 2, 3, 4, 5, 6])
    base = [float(np.random.default_rng(seed).random()) for seed in document["seeds"]]
    figure = document["schedulers"]["oracle"]["total_time"]
    assert figure["values"] == base
    assert figure["mean"] == pytest.approx(np.mean(base))
    assert figure["low"] < figure["mean"] < figure["high"]
    assert document["version"] == hybrid_scheduler.__version__
    assert document["configuration"]["tasks"] == 5
    assert document["configuration"]["cluster"]["physics"]["split"] == "concurrent"
    assert document["wall_seconds"] > 0
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["libraries"]["numpy"] == np.__version__
    assert list(document["schedulers"]) == ["oracle", "greedy"]
    assert document["lower_bound"]["total_time"]["values"] == [value / 2 for value in base]
    assert {"p", "p_holm", "effect_size"} < set(document["significance"][0])


def test_each_pair_is_compared_once_by_each_metric() -> None:
    found = run_experiment(Small(), [1, 2, 3]).points[0].comparisons
    assert [(each.a, each.b, each.metric) for each in found] == [
        ("greedy", "oracle", "total_time"),
        ("greedy", "oracle", "throughput"),
    ]
    assert [each.difference for each in found] == [pytest.approx(1.0), pytest.approx(-1.0)]
    # A longer time is worse, and so is a smaller throughput: the metrics know which way is better.
    assert [each.verdict for each in found] == ["worse", "worse"]


def test_processes_give_the_same_records(tmp_path: Path) -> None:
    alone = run_experiment(Small(), [2, 1])
    together = run_experiment(Small(), [2, 1], jobs=2)
    assert list(together.rows()) == list(alone.rows())
    for number, result in enumerate((alone, together)):
        write_result(result, tmp_path / str(number))
    for name in ("result.csv", "summary.csv", "comparisons.csv", "lag.csv"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def test_a_seed_that_fails_fails_the_run() -> None:
    with pytest.raises(InvalidInputError, match="unlucky"):
        run_experiment(Small(), [1, UNLUCKY])


@pytest.mark.parametrize("seeds", [[], [1, 1]])
def test_wrong_seeds(seeds: list[int]) -> None:
    with pytest.raises(InvalidInputError, match="none twice"):
        run_experiment(Small(), seeds)


def test_wrong_sizes() -> None:
    with pytest.raises(InvalidInputError, match="jobs is 0"):
        run_experiment(Small(), [1], jobs=0)
    with pytest.raises(InvalidInputError, match="tasks is 0"):
        Small(tasks=0)


@pytest.mark.parametrize("seeds", [1, 3, 6])
def test_the_files(tmp_path: Path, seeds: int) -> None:
    result = run_experiment(Small(), range(1, seeds + 1))
    files = {path.name: path for path in write_result(result, tmp_path / "a" / "b")}
    tables = ["result.csv", "result.parquet", "summary.csv", "comparisons.csv", "clock.csv", "lag.csv"]
    assert list(files) == ["result.json", *tables]
    assert json.loads(files["result.json"].read_text())["seeds"] == result.seeds
    rows = _rows(files["result.csv"])
    assert list(rows[0]) == ["experiment", "seed", "scheduler", "metric", "value"]
    assert len(rows) == seeds * (2 * 2 + 1)
    point = result.points[0]
    first = [float(row["value"]) for row in rows if row["seed"] == "1" and row["metric"] == "total_time"]
    assert first[:2] == [point.values(name, "total_time")[0] for name in ("oracle", "greedy")], "no digit is lost"
    parquet = pd.read_parquet(files["result.parquet"])
    assert parquet["value"].tolist() == [float(row["value"]) for row in rows]
    summary = {(row["scheduler"], row["metric"]): row for row in _rows(files["summary.csv"])}
    assert float(summary["greedy", "total_time"]["mean"]) == point.estimates["greedy"]["total_time"].mean
    compared = _rows(files["comparisons.csv"])
    assert [row["verdict"] for row in compared] == [each.verdict for each in point.comparisons]
    lag = _rows(files["lag.csv"])
    assert [row["task"] for row in lag] == ["1", "2", "3", "4", "5"]
    assert float(lag[-1]["mean"]) == pytest.approx(point.curve("lag", "greedy")[:, -1].mean())
    assert (lag[0]["low"] == "") == (seeds == 1)
    clock = _rows(files["clock.csv"])
    assert {(row["scheduler"], row["metric"]) for row in clock} == {
        ("greedy", "decision_us"),
        ("experiment", "wall_seconds"),
    }


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_found_by_name() -> None:
    assert set(experiment_classes()) == {
        "shift",
        "heavy",
        "mixed",
        "load",
        "energy",
        "ablation",
        "order",
        "adversarial",
        "reality",
    }
    with pytest.raises(UnknownNameError, match="did you mean 'shift'"):
        find_experiment("shfit")


def test_every_experiment_is_complete() -> None:
    for name, found in experiment_classes().items():
        assert found.__module__ == f"hybrid_scheduler.experiments.{name}"
        assert set(found.subjects) <= set(found.schedulers)
        assert set(found.rivals) <= set(found.schedulers)
        assert set(found.compared) <= {*metric_classes(), *DERIVED}
        assert found.question
        assert found().configuration()
