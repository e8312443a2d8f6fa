"""`hms experiment`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_answer import Hms

from hybrid_scheduler.experiments.load import LOADS
from hybrid_scheduler.experiments.shift import Shift

QUICK = ("experiment", "shift", "--seeds", 2, "--tasks", 30, "--train-tasks", 80, "--jobs", 1)
OUT = Path("data/results/shift")
PLOTS = {"regret.png", "totals.png", "shares.png"}
TABLES = {"result.csv", "result.parquet", "summary.csv", "comparisons.csv", "clock.csv", "regret.csv"}
REPORT = {"report.pdf", "report.html"}
SORTED_PLOTS, SORTED_REPORT = ("regret.png", "totals.png", "shares.png"), ("report.pdf", "report.html")


def test_the_document_and_the_files(hms: Hms) -> None:
    answer = hms(*QUICK, "--json", "-")
    assert (answer.code, answer.err) == (0, "")
    document = answer.document
    assert (document["experiment"], document["seeds"]) == ("shift", [1, 2])
    assert list(document["schedulers"]) == list(Shift.schedulers)
    for figures in document["schedulers"].values():
        assert {"total_time", "energy", "cost"} <= set(figures)
        for figure in figures.values():
            assert set(figure) == {"mean", "low", "high", "values"}
            assert len(figure["values"]) == 2
    for comparison in document["comparisons"]:
        assert set(comparison) == {"a", "b", "metric", "difference", "low", "high", "verdict"}
    assert document["reference"]["total_time"]["rl_agent"] == 21.12
    assert document["configuration"]["cluster"]["physics"]["split"] == "concurrent"
    assert {"p", "p_holm", "effect_size"} < set(document["significance"][0])
    assert {path.name for path in OUT.iterdir()} == {"result.json", "parts", *TABLES, *PLOTS, *REPORT}
    assert (OUT / "report.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((OUT / "result.json").read_text()) == document
    first = {name: (OUT / name).read_bytes() for name in TABLES - {"clock.csv"}}
    again = hms(*QUICK)
    assert (again.code, again.err) == (0, "note: 2 of 2 parts were finished earlier; going on from there\n")
    assert {name: (OUT / name).read_bytes() for name in first} == first
    fresh = hms(*QUICK, "--fresh")
    assert (fresh.code, fresh.err) == (0, "")
    assert {name: (OUT / name).read_bytes() for name in first} == first, "the same seeds, the same bytes"
    assert "starting over" in hms(*QUICK, "--tasks", 31).err


def test_the_table(hms: Hms) -> None:
    answer = hms(*QUICK, "--out", "here", "--split", "serial", "--seed", 7)
    assert (answer.code, answer.err) == (0, "")
    rows = [line.split()[0] for line in answer.out.splitlines() if line.split()]
    assert set(Shift.schedulers) <= set(rows)
    assert rows.index("cpu_only") < rows.index("greedy") < rows.index("gpu_only"), "the best is on top"
    assert max(len(line) for line in answer.out.splitlines()[1:-3]) <= 80
    assert "…" not in answer.out
    assert "Student" in answer.out
    document = json.loads(Path("here/result.json").read_text())
    assert document["seeds"] == [7, 8]
    assert document["configuration"]["cluster"]["physics"]["split"] == "serial"


def test_an_experiment_with_a_parameter(hms: Hms) -> None:
    arguments = ("experiment", "load", "--seeds", 1, "--tasks", 30, "--train-tasks", 40, "--jobs", 1)
    answer = hms(*arguments, "--json", "-")
    assert (answer.code, answer.err) == (0, "")
    assert [point["load"] for point in answer.document["points"]] == list(LOADS)
    for point in answer.document["points"]:
        assert {"oracle", "rl_agent", "cpu_only"} < set(point["schedulers"])
        assert set(point["comparisons"][0]) == {"a", "b", "metric", "difference", "low", "high", "verdict"}
    out = Path("data/results/load")
    assert {"load_response.png", "load_ratio.png", "report.pdf"} < {path.name for path in out.iterdir()}
    table = hms(*arguments).out
    assert "load 0.8" in table
    assert max(map(len, table.splitlines()[1:-3])) <= 80


def test_report(hms: Hms) -> None:
    assert hms(*QUICK, "--out", "run").code == 0
    answer = hms("report", "run", "--out", "here", "--colour-blind")
    assert (answer.code, answer.err) == (0, "")
    assert {path.name for path in Path("here").iterdir()} == {*PLOTS, *REPORT}
    assert answer.out.splitlines() == [f"wrote {Path('here') / name}" for name in (*SORTED_PLOTS, *SORTED_REPORT)]
    assert Path("here/totals.png").read_bytes() != Path("run/totals.png").read_bytes(), "other colours"
    document = json.loads(Path("run/result.json").read_text())
    document["schedulers"][next(iter(document["schedulers"]))] = {"total_time": 3}
    Path("changed").mkdir()
    Path("changed/result.json").write_text(json.dumps(document))
    for arguments, says in ((["nowhere"], "no result.json"), ([], "RUN"), (["changed"], "no report can be made")):
        bad = hms("report", *arguments)
        assert (bad.code, bad.out) == (2, "")
        assert says in bad.err


def test_the_script_is_the_command(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "scripts" / "run_heavy_simulation.py"
    words = [sys.executable, str(script), "--seeds", "1", "--tasks", "30", "--out", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    wanted = {"heavy_simulation_report.csv", "latency_cdf.png", "cost_comparison.png", "report.pdf", "result.csv"}
    assert wanted < {path.name for path in (tmp_path / "out").iterdir()}


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
