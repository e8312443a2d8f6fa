"""`hms compare`: the document, the table, and which setting wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_answer import Hms, without_clock

from hybrid_scheduler.schedulers.defaults import DEFAULT_SCHEDULERS

SEVEN = "round_robin,random,greedy,cpu_only,gpu_only,mct,oracle"
METRICS = {
    "tasks", "failed", "makespan", "total_time", "avg_time", "max_time", "avg_wait", "avg_response", "p50_response",
    "p95_response", "p99_response", "energy", "cost", "throughput", "load_balance", "utilization", "decision_us",
    "overloaded",
}  # fmt: skip


def test_the_document(hms: Hms) -> None:
    command = ("compare", "--schedulers", SEVEN, "--tasks", 2000, "--load", 0.6, "--seed", 7, "--json", "-")
    answer = hms(*command)
    assert (answer.code, answer.err) == (0, "")
    document = answer.document
    assert list(document) == ["seed", "workload", "cluster", "lower_bound", "schedulers", "wall_seconds"]
    assert document["seed"] == 7
    workload = document["workload"]
    assert (workload["preset"], workload["tasks"], workload["warmup"]) == ("mixed", 2000, 0)
    assert workload["load"] == pytest.approx(0.6, rel=1e-12)
    assert workload["arrival_rate"] > 0
    assert [device["name"] for device in document["cluster"]["devices"]] == ["cpu_0", *(f"gpu_{i}" for i in range(4))]
    assert list(document["schedulers"]) == SEVEN.split(",")
    bound = document["lower_bound"]
    for figures in document["schedulers"].values():
        assert set(figures) >= METRICS
        assert figures["tasks"] == 2000
        assert figures["makespan"] >= bound["makespan"] > 0
        assert figures["avg_response"] >= bound["avg_response"] > 0
        assert set(figures["utilization"]) == {"average_utilization", "cpu_0", "gpu_0", "gpu_1", "gpu_2", "gpu_3"}
    again = hms(*command).document
    assert without_clock(again) == without_clock(document)
    other = hms(*command, "--seed", 8).document
    assert without_clock(other)["schedulers"] != without_clock(document)["schedulers"]


def test_the_default_schedulers_race(hms: Hms) -> None:
    """The learners start from the packaged models and go on learning."""
    answer = hms("compare", "--tasks", 300, "--load", 0.3, "--json", "-", default_race=True)
    assert answer.err == ""
    figures = answer.document["schedulers"]
    assert list(figures) == list(DEFAULT_SCHEDULERS)
    assert {"sjf", "hybrid_ml", "rl_agent", "oracle"} <= figures.keys()
    assert answer.document["seed"] == 42
    assert figures["rl_agent"]["updates"] >= 280
    assert figures["hybrid_ml"]["refit_checks"] >= 300 // 50
    assert figures["hybrid_ml"]["refits"] <= figures["hybrid_ml"]["refit_checks"]
    for name in ("hybrid_ml", "rl_agent"):
        assert figures[name]["avg_response"] < 2.0 * figures["oracle"]["avg_response"]


def test_the_configuration_chooses_the_predictor(hms: Hms, tmp_path: Path) -> None:
    """The packaged model is a forest; boosted trees are trained on the rows in it."""
    config = tmp_path / "config.yaml"
    command = ("compare", "--tasks", 600, "--load", 0.5, "--schedulers", "hybrid_ml,gpu_only", "--json", "-")
    means = {}
    for predictor in ("forest", "xgboost"):
        config.write_text(f"schedulers: {{hybrid_ml: {{predictor: {predictor}}}}}")
        figures = hms(*command, "--config", config).document["schedulers"]
        means[predictor] = figures["hybrid_ml"]["avg_response"]
        assert means[predictor] < figures["gpu_only"]["avg_response"]
        assert figures["hybrid_ml"]["refit_checks"] == 12
    assert means["forest"] != means["xgboost"], "they are two models"
    config.write_text("schedulers: {hybrid_ml: {predictor: xgbost}}")
    answer = hms(*command, "--config", config)
    assert answer.code == 2
    assert "unknown predictor 'xgbost': did you mean 'xgboost'?" in answer.err


@pytest.mark.parametrize("start", [["--train-tasks", 0], ["--train-tasks", 400], ["--gpus", 2]])
def test_learners_start_as_asked(hms: Hms, start: list[object]) -> None:
    answer = hms("compare", "--schedulers", "hybrid_ml,rl_agent,oracle", "--tasks", 200, *start, "--json", "-")
    assert answer.code == 0
    assert ("starts cold" in answer.err) == ("--gpus" in start)
    assert set(answer.document["schedulers"]) == {"hybrid_ml", "rl_agent", "oracle"}


def test_models_are_loaded_and_wrong_ones_refused(hms: Hms) -> None:
    trained = hms(
        "train", "--schedulers", "hybrid_ml,rl_agent", "--tasks", 400, "--out", "models", "--json", "-"
    ).document
    assert set(trained["models"]) == {"hybrid_ml", "rl_agent"}
    race = ("compare", "--schedulers", "hybrid_ml,rl_agent", "--tasks", 100)
    both = ("--model", "models/rl_agent.pth", "--model", "models/hybrid_ml.npz")
    assert hms(*race, *both).code == 0
    Path("cut.pth").write_bytes(Path("models/rl_agent.pth").read_bytes()[:3000])
    Path("foreign.npz").write_bytes(b"not a model")
    for options, says in (
        (("--model", "cut.pth"), "cut.pth"),
        (("--model", "foreign.npz"), "foreign.npz"),
        (("--model", "absent.pth"), "absent.pth"),
        (("--model", "model.txt"), "no learner in this race reads such a file"),
        ((*both, "--gpus", 2), "the node has 3"),
        ((*both, "--train-tasks", 10), "leave one out"),
    ):
        answer = hms(*race, *options)
        assert answer.code == 2, options
        assert answer.err.count("\n") == 1
        assert says in answer.err


def test_the_table(hms: Hms, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = hms("compare", "--tasks", 300, "--json", "result.json")
    assert (narrow.code, narrow.err) == (0, "")
    assert max(map(len, narrow.out.splitlines()[:12])) <= 80
    figures = json.loads(Path("result.json").read_text())["schedulers"]
    by_response = sorted(figures, key=lambda name: figures[name]["avg_response"])
    rows = [line.replace("★", "").replace("☆", "").split() for line in narrow.out.splitlines()]
    shown = [cells[0] for cells in rows if cells and cells[0] in figures]
    assert shown == by_response
    winner = next(line for line in narrow.out.splitlines() if "★" in line)
    assert by_response[0] in winner
    assert "lower bound: makespan" in narrow.out
    assert "load 0.6" in narrow.out
    for name, word in (("oracle", "truth"), ("mct", "estimates"), ("greedy", "queues")):
        assert word in next(line for line in narrow.out.splitlines() if f"{name} " in line)
    assert "decision µs" not in narrow.out
    monkeypatch.setenv("COLUMNS", "160")
    assert "decision µs" in hms("compare", "--tasks", 20).out


def test_isolated_is_ranked_by_total_time(hms: Hms) -> None:
    options = ("compare", "--isolated", "--preset", "cpu_favourable", "--tasks", 60, "--split", "serial")
    answer = hms(*options)
    assert "total s" in answer.out
    assert "each on an idle node" in answer.out
    document = hms(*options, "--json", "-").document
    assert document["workload"]["arrival_rate"] is None
    totals = {name: figures["total_time"] for name, figures in document["schedulers"].items()}
    # SPEC section 9: the CPU is optimal here, and the GPU about ten times as slow.
    assert totals["cpu_only"] == pytest.approx(totals["oracle"], rel=1e-12)
    assert 8 < totals["gpu_only"] / totals["cpu_only"] < 11
    assert "change nothing" in hms(*options, "--load", 0.5).err


def test_warmup_leaves_tasks_out(hms: Hms) -> None:
    document = hms("compare", "--tasks", 100, "--warmup", 40, "--schedulers", "mct", "--json", "-").document
    assert document["workload"]["warmup"] == 40
    assert document["schedulers"]["mct"]["tasks"] == 60


def test_settings_reach_the_physics(hms: Hms) -> None:
    options = {"--split": "serial", "--noise": 0.2, "--memory-policy": "fail", "--cost": "electricity"}
    flat = [word for pair in options.items() for word in pair]
    changed = hms("compare", "--tasks", 100, "--speedup", "amdahl", *flat, "--json", "-").document
    physics = changed["cluster"]["physics"]
    assert [physics[key] for key in ("speedup", "split", "noise", "memory_policy", "cost")] == [
        "amdahl", "serial", 0.2, "fail", "electricity",
    ]  # fmt: skip
    plain = hms("compare", "--tasks", 100, "--json", "-").document
    assert plain["schedulers"]["greedy"]["total_time"] != changed["schedulers"]["greedy"]["total_time"]


def test_command_line_beats_environment_beats_file(hms: Hms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gpus(*options: object) -> int:
        devices = hms("compare", "--schedulers", "mct", "--tasks", 5, "--json", "-", *options).document["cluster"]
        return sum(device["kind"] == "gpu" for device in devices["devices"])

    assert gpus() == 4
    (tmp_path / "config.yaml").write_text("simulation: {num_gpus: 1}")
    assert gpus() == 1
    monkeypatch.setenv("NUM_GPUS", "2")
    assert gpus() == 2
    assert gpus("--gpus", 3) == 3
    (tmp_path / "cluster.yaml").write_text("cluster: {devices: [{name: only, kind: cpu}]}")
    assert gpus("--cluster", "cluster.yaml") == 0


def test_defaults_from_the_file(hms: Hms, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "simulation: {seed: 5}\n"
        "workload: {preset: uniform, num_tasks: 30, load: 0.25, memory_range: [1, 2]}\n"
        "physics: {split: serial}\n"
        "schedulers: {random: {seed: 11}}\n"
    )
    ours = hms("compare", "--json", "-").document
    assert ours["seed"] == 5
    assert ours["cluster"]["physics"]["split"] == "serial"
    facts = {key: ours["workload"][key] for key in ("preset", "tasks", "memory_range")}
    assert facts == {"preset": "uniform", "tasks": 30, "memory_range": [1, 2]}
    assert ours["workload"]["load"] == pytest.approx(0.25, rel=1e-12)
    by_hand = hms("compare", "--preset", "mixed", "--rate", 2, "--tasks", 9, "--seed", 1, "--json", "-").document
    assert by_hand["seed"] == 1
    assert by_hand["workload"]["preset"] == "mixed"
    assert by_hand["workload"]["arrival_rate"] == 2
    assert "memory_range" not in by_hand["workload"], "the ranges belong to the file's own preset"
    (tmp_path / "other.yaml").write_text("simulation: {seed: 6}")
    assert hms("compare", "--tasks", 5, "--config", "other.yaml", "--json", "-").document["seed"] == 6


def test_parameters_of_a_scheduler(hms: Hms, tmp_path: Path) -> None:
    def total(seed: int | None) -> float:
        text = "" if seed is None else f"schedulers: {{random: {{seed: {seed}}}}}"
        (tmp_path / "config.yaml").write_text(text)
        document = hms("compare", "--schedulers", "random", "--tasks", 40, "--seed", 3, "--json", "-").document
        return float(document["schedulers"]["random"]["total_time"])

    assert total(3) == total(None)
    assert total(4) != total(None)


def test_devices_fail_and_nothing_is_lost(hms: Hms, tmp_path: Path) -> None:
    down = ", ".join(f"{{time: 0.5, device: {name}, speed: 0}}" for name in ("cpu_0", "gpu_0"))
    (tmp_path / "config.yaml").write_text(f"simulation: {{num_gpus: 1}}\ncluster: {{disturbances: [{down}]}}")
    answer = hms("compare", "--tasks", 40, "--json", "result.json")
    assert "failed" in answer.out
    document = json.loads(Path("result.json").read_text())
    assert len(document["cluster"]["disturbances"]) == 2
    for figures in document["schedulers"].values():
        assert figures["tasks"] == 40
        assert figures["failed"] > 20
