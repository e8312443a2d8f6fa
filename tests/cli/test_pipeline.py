"""`hms pipeline`: every phase leaves its artefact, and the race at the end is a real one."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from cli_answer import Hms

from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS


def test_every_phase_leaves_its_artefact(hms: Hms) -> None:
    answer = hms("pipeline", "--tasks", 60, "--train-tasks", 250, "--json", "-")
    assert answer.code == 0, answer.err
    document = answer.document
    assert set(document) == {"profile", "models", "race"}
    assert set(document["models"]) == {"forest", "hybrid_ml", "hybrid_queue", "rl_agent"}
    for name in (
        "data/profiles/hardware_profile.json",
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
    race = document["race"]["schedulers"]
    assert told["lower_bound"]["makespan"]["mean"] == document["race"]["lower_bound"]["makespan"]
    for name in race:
        assert told["schedulers"][name]["makespan"]["mean"] == race[name]["makespan"]
        mine = [float(row["response_time"]) for row in rows if row["scheduler_name"] == name]
        assert abs(sum(mine) / 60 - race[name]["avg_response"]) < 1e-9
