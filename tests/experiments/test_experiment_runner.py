"""The runner: seeds in, document, tables and plots out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from small_experiment import UNLUCKY, Small

import hybrid_scheduler
from hybrid_scheduler.experiments.files import write_result
from hybrid_scheduler.experiments.registry import experiment_classes, find_experiment
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError


def test_the_document() -> None:
    told: list[int] = []
    result = run_experiment(Small(), range(1, 7), progress=told.append)
    assert told == [1, 2, 3, 4, 5, 6]
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


def test_each_pair_is_compared_once_by_each_metric() -> None:
    found = run_experiment(Small(), [1, 2, 3]).comparisons
    assert [(each.a, each.b, each.metric) for each in found] == [
        ("greedy", "oracle", "total_time"),
        ("greedy", "oracle", "throughput"),
    ]
    assert [each.difference for each in found] == [pytest.approx(1.0), pytest.approx(-1.0)]
    # A longer time is worse, and so is a smaller throughput: the metrics know which way is better.
    assert [each.verdict for each in found] == ["worse", "worse"]


def test_processes_give_the_same_records(tmp_path: Path) -> None:
    alone = run_experiment(Small(), [2, 1])
    told: list[int] = []
    together = run_experiment(Small(), [2, 1], jobs=2, progress=told.append)
    assert told == [1, 2]
    assert list(together.rows()) == list(alone.rows())
    for number, result in enumerate((alone, together)):
        write_result(result, tmp_path / str(number))
    for name in ("result.csv", "lag.csv"):
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
    files = write_result(result, tmp_path / "a" / "b")
    assert [path.name for path in files] == [
        "result.json",
        "result.csv",
        "lag.csv",
        "bars.png",
        "lines.png",
        "shares.png",
    ]
    assert json.loads(files[0].read_text())["seeds"] == result.seeds
    rows = list(csv.DictReader(files[1].read_text().splitlines()))
    assert list(rows[0]) == ["experiment", "seed", "scheduler", "metric", "value"]
    assert len(rows) == seeds * 2 * 2
    assert {float(row["value"]) for row in rows if row["seed"] == "1" and row["metric"] == "total_time"} == {
        result.values("oracle", "total_time")[0],
        result.values("greedy", "total_time")[0],
    }
    lag = list(csv.DictReader(files[2].read_text().splitlines()))
    assert [row["task"] for row in lag] == ["1", "2", "3", "4", "5"]
    assert float(lag[-1]["mean"]) == pytest.approx(result.curve("lag", "greedy")[:, -1].mean())
    assert (lag[0]["low"] == "") == (seeds == 1)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files[3:])


def test_found_by_name() -> None:
    assert "shift" in experiment_classes()
    with pytest.raises(UnknownNameError, match="did you mean 'shift'"):
        find_experiment("shfit")


def test_every_experiment_is_complete() -> None:
    for name, found in experiment_classes().items():
        assert found.__module__ == f"hybrid_scheduler.experiments.{name}"
        assert set(found.subjects) <= set(found.schedulers)
        assert found.question
        assert found().configuration()
