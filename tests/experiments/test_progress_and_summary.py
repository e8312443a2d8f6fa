"""How far an experiment is, and its figures in short."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_experiment import Small, Varied

from hybrid_scheduler.experiments.progress_file import Progress, ProgressFile, read_progress
from hybrid_scheduler.experiments.runner import run_experiment


def test_the_summary_of_one_point() -> None:
    result = run_experiment(Small(), [1, 2])
    figures = result.points[0].estimates
    wanted = {
        name: {
            metric: {
                "mean": figures[name][metric].mean,
                "low": figures[name][metric].low,
                "high": figures[name][metric].high,
            }
            for metric in ("total_time", "throughput")
        }
        for name in ("oracle", "greedy")
    }
    assert result.summary() == {"schedulers": wanted}, "who is no scheduler is left out"


def test_the_summary_of_several_points(tmp_path: Path) -> None:
    result = run_experiment(Varied(diary=tmp_path), [1, 2], folder=tmp_path)
    summary = json.loads(json.dumps(result.summary()))
    assert (summary["schedulers"], summary["parameter"]) == ({}, "load")
    assert [point["load"] for point in summary["points"]] == [0.5, 1.5]
    assert summary["points"][1]["schedulers"]["oracle"]["total_time"]["mean"] == 2.25


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, now = tmp_path / "progress.json", [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0])
    monkeypatch.setattr("hybrid_scheduler.experiments.progress_file.time", clock)
    assert read_progress(path) == Progress()
    file = ProgressFile(path, 7)
    assert read_progress(path) == Progress(run_id=7)
    file.tell(0, 4)
    assert read_progress(path) == Progress(0, 4, None, 7)
    now[0] += 10.0
    file.tell(1, 4)
    assert read_progress(path) == Progress(1, 4, 30.0, 7)
    now[0] += 12.0
    assert read_progress(path).seconds_left == 18.0, "time goes on between two pieces of work"
    now[0] += 60.0
    assert read_progress(path).seconds_left == 0.0
    file.finish([tmp_path / "a.csv"])
    assert read_progress(path) == Progress(1, 4, 0.0, 7, ("a.csv",))
