"""`hms pipeline`: every phase leaves its artefact, and the race at the end is a real one."""

from __future__ import annotations

import csv
from pathlib import Path

from cli_answer import Hms


def test_every_phase_leaves_its_artefact(hms: Hms) -> None:
    answer = hms("pipeline", "--tasks", 60, "--train-tasks", 250, "--json", "-")
    assert answer.code == 0, answer.err
    document = answer.document
    assert set(document) == {"profile", "models", "race"}
    assert set(document["models"]) == {"forest", "hybrid_ml", "rl_agent"}
    for name in (
        "data/profiles/hardware_profile.json",
        "data/workload_traces/workload_train.csv",
        "models/scheduler_model.pkl",
        "models/hybrid_ml.npz",
        "models/rl_agent.pth",
    ):
        assert Path(name).stat().st_size > 0, name
    assert {path.stem for path in Path("data/results/plots").glob("*.png")} >= {"avg_response", "makespan", "cost"}
    with Path("data/results/scheduling_results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60 * 6
    race = document["race"]["schedulers"]
    for name in race:
        mine = [float(row["response_time"]) for row in rows if row["scheduler_name"] == name]
        assert abs(sum(mine) / 60 - race[name]["avg_response"]) < 1e-9
