"""`hms pipeline`: every phase leaves its artefact, and the race at the end is a real one."""

from __future__ import annotations

import csv
import importlib
import json
from pathlib import Path

import pytest
from cli_answer import Hms

from hybrid_scheduler.config import Config
from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS


def test_every_phase_leaves_its_artefact(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("hybrid_scheduler.cli.pipeline")
    monkeypatch.setattr(module, "CALIBRATED_KINDS", ("matmul", "axpy"))
    monkeypatch.setattr(module, "CALIBRATED_SIZES", (20, 60))
    answer = hms("pipeline", "--tasks", 60, "--train-tasks", 250, "--json", "-")
    assert answer.code == 0, answer.err
    document = answer.document
    assert set(document) == {"profile", "models", "race"}
    assert set(document["models"]) == {"forest", "hybrid_ml", "hybrid_queue", "rl_agent"}
    for name in (
        "data/profiles/hardware_profile.json",
        "data/profiles/node.yaml",
        "data/profiles/node.yaml.csv",
        "data/workload_traces/workload_train.csv",
        "models/scheduler_model.pkl",
        "models/hybrid_ml.npz",
        "models/rl_agent.pth",
    ):
        assert Path(name).stat().st_size > 0, name
    plots = Path("data/results/plots")
    assert {path.stem for path in plots.glob("*.png")} >= {"makespan_comparison", "latency_cdf", "workload"}
    assert (plots / "report.pdf").read_bytes().startswith(b"%PDF")
    told = json.loads((plots / "result.json").read_text())
    with Path("data/results/scheduling_results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60 * len(DEFAULT_SCHEDULERS)
    # The profile feeds the race: kernels on the twin of this machine.
    assert document["race"]["cluster"]["physics"]["model"] == "calibrated"
    assert document["race"]["workload"]["preset"] == "kernels:kinds=matmul+axpy,sizes=20-60"
    with Path("data/workload_traces/workload_train.csv").open() as file:
        assert {row["kind"] for row in csv.DictReader(file)} == {"matmul", "axpy"}
    race = document["race"]["schedulers"]
    assert told["lower_bound"]["makespan"]["mean"] == document["race"]["lower_bound"]["makespan"]
    for name in race:
        assert told["schedulers"][name]["makespan"]["mean"] == race[name]["makespan"]
        mine = [float(row["response_time"]) for row in rows if row["scheduler_name"] == name]
        assert abs(sum(mine) / 60 - race[name]["avg_response"]) < 1e-9


@pytest.mark.parametrize(
    ("file", "nothing"),
    [
        ({}, True),
        ({"workload": {"num_tasks": 10, "load": 0.5}, "simulation": {"seed": 1}}, True),
        ({"workload": {"preset": "mixed"}}, False),
        ({"workload": {"size_range": [1, 2]}}, False),
        ({"physics": {"noise": 0.1}}, False),
        ({"simulation": {"num_gpus": 2}}, False),
        ({"cluster": {"devices": [{"name": "cpu_0", "kind": "cpu"}]}}, False),
    ],
)
def test_who_describes_a_node_or_tasks_gets_those(file: dict[str, object], nothing: bool) -> None:
    module = importlib.import_module("hybrid_scheduler.cli.pipeline")
    assert module.describes_nothing(Config.model_validate(file)) is nothing
