"""`hms experiment`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_answer import Hms

QUICK = ("experiment", "shift", "--seeds", 2, "--tasks", 30, "--train-tasks", 80, "--jobs", 1)
OUT = Path("data/results/shift")
PLOTS = {"regret.png", "totals.png", "shares.png"}
NINE = ["oracle", "cpu_only", "gpu_only", "greedy", "round_robin", "random", "static_forest", "hybrid_ml", "rl_agent"]


def test_the_document_and_the_files(hms: Hms) -> None:
    answer = hms(*QUICK, "--json", "-")
    assert (answer.code, answer.err) == (0, "")
    document = answer.document
    assert (document["experiment"], document["seeds"]) == ("shift", [1, 2])
    assert list(document["schedulers"]) == NINE
    for figures in document["schedulers"].values():
        assert {"total_time", "energy", "cost"} <= set(figures)
        for figure in figures.values():
            assert set(figure) == {"mean", "low", "high", "values"}
            assert len(figure["values"]) == 2
    for comparison in document["comparisons"]:
        assert set(comparison) == {"a", "b", "metric", "difference", "low", "high", "verdict"}
    assert document["reference"]["total_time"]["rl_agent"] == 21.12
    assert document["configuration"]["cluster"]["physics"]["split"] == "concurrent"
    assert {path.name for path in OUT.iterdir()} == {"result.json", "result.csv", "regret.csv", *PLOTS}
    assert json.loads((OUT / "result.json").read_text()) == document
    first = (OUT / "result.csv").read_bytes()
    assert hms(*QUICK).code == 0
    assert (OUT / "result.csv").read_bytes() == first


def test_the_table(hms: Hms) -> None:
    answer = hms(*QUICK, "--out", "here", "--split", "serial", "--seed", 7)
    assert (answer.code, answer.err) == (0, "")
    rows = [line.split()[0] for line in answer.out.splitlines() if line.split()]
    assert set(NINE) <= set(rows)
    assert rows.index("cpu_only") < rows.index("greedy") < rows.index("gpu_only"), "the best is on top"
    assert max(len(line) for line in answer.out.splitlines()[1:-2]) <= 80
    assert "…" not in answer.out
    assert "Student" in answer.out
    document = json.loads(Path("here/result.json").read_text())
    assert document["seeds"] == [7, 8]
    assert document["configuration"]["cluster"]["physics"]["split"] == "serial"


def test_configuration(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.yaml").write_text("physics: {split: serial}\nschedulers: {rl_agent: {hidden: 16}}\n")
    monkeypatch.setenv("NUM_GPUS", "1")
    found = hms(*QUICK, "--seeds", 1, "--json", "-").document["configuration"]
    assert found["cluster"]["physics"]["split"] == "serial"
    assert [device["name"] for device in found["cluster"]["devices"]] == ["cpu_0", "gpu_0"]
    assert found["parameters"]["rl_agent"] == {"energy_weight": 0.0, "hidden": 16}
    beaten = hms(*QUICK, "--seeds", 1, "--split", "concurrent", "--json", "-").document["configuration"]
    assert beaten["cluster"]["physics"]["split"] == "concurrent"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["shfit"], "did you mean 'shift'"),
        ([], "NAME"),
        (["shift", "--seeds", "0"], "'0'"),
        (["shift", "--tasks", "none"], "'none'"),
        (["shift", "--split", "both"], "'both'"),
        (["shift", "--jobs", "0"], "'0'"),
        (["shift", "--json", "no/such/file.json"], "no/such/file.json"),
        (["shift", "--out", "file"], "file"),
        (["shift", "--config", "no.yaml"], "no.yaml"),
    ],
)
def test_bad_input_is_one_line(hms: Hms, arguments: list[str], says: str) -> None:
    Path("file").write_text("")
    answer = hms("experiment", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("hms experiment: ")
    assert answer.err.count("\n") == 1
    assert says in answer.err
