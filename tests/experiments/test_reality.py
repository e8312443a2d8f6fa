"""`reality`: what is compared with what, by made-up figures; and once on this machine, with small kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_scheduler.cli import main
from hybrid_scheduler.experiments.base import Record
from hybrid_scheduler.experiments.reality import CALIBRATION, RIVALS, Reality, in_turn, kendall_tau
from hybrid_scheduler.experiments.result import ExperimentResult
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.hardware.workers import LocalWorkers
from hybrid_scheduler.model.errors import InvalidInputError


def exactly(*means: float) -> dict[str, Estimate]:
    return {name: Estimate(mean, None, None, ()) for name, mean in zip("abcd", means, strict=False)}


def within(*ends: tuple[float, float]) -> dict[str, Estimate]:
    return {name: Estimate((low + high) / 2, low, high, ()) for name, (low, high) in zip("abcd", ends, strict=False)}


def test_kendalls_tau_counts_pairs() -> None:
    assert kendall_tau(exactly(1, 2, 3, 4), exactly(10, 20, 30, 40)) == 1.0
    assert kendall_tau(exactly(1, 2, 3, 4), exactly(40, 30, 20, 10)) == -1.0
    assert kendall_tau(exactly(1, 2, 3, 4), exactly(1, 2, 4, 3)) == pytest.approx(4 / 6)
    assert kendall_tau(exactly(1), exactly(1)) is None
    real, twin = within((1, 2), (1.5, 3), (5, 6)), exactly(2, 1, 3)
    assert kendall_tau(real, twin) == 1.0, "nobody knows who of the first two is better"
    assert kendall_tau(twin, real) == 1.0
    assert kendall_tau(real, twin, overlapping_agree=False) == pytest.approx(1 / 3)


def test_everybody_runs_first_and_last_equally_often() -> None:
    names = ("a", "b", "c")
    assert in_turn(names, 0, 0) == ["a", "b", "c"]
    assert in_turn(names, 0, 1) == ["c", "b", "a"]
    assert in_turn(names, 1, 0) == ["b", "c", "a"]
    first = [in_turn(names, seed, 0)[0] for seed in range(6)]
    assert sorted(first) == sorted(names * 2)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A calibrated node without GPU, whatever this machine has."""
    rows = [f"sort,{size},cpu_0,0.001,{size / 1000},0,0.1,0" for size in (8, 64)]
    (tmp_path / "node.csv").write_text(
        "kind,size,device,launch_s,compute_s,transfer_s,scatter,slowdown\n" + "\n".join(rows)
    )
    path = tmp_path / "node.yaml"
    path.write_text("devices:\n  - {name: cpu_0, kind: cpu}\ncalibration: node.csv\n")
    return path


def made_up(node: Path, energy: bool) -> ExperimentResult:
    """The twin is 5 % below the machine, but 25 % below for the last; measured figures rise along the names."""
    experiment, records = Reality(cluster=node), []
    for seed in (1, 2):
        figures: dict[str, dict[str, float]] = {}
        for rank, name in enumerate(RIVALS):
            own = 1.0 + rank + 0.05 * seed
            wrong = 0.75 if name == RIVALS[-1] else 0.95
            figures[name] = {}
            for metric in ("avg_response", "makespan", *(["energy"] if energy else [])):
                figures[name] |= {metric: own, f"predicted_{metric}": wrong * own, f"{metric}_error": wrong - 1.0}
        clock = {"experiment": {"wall_seconds": 1.0}}
        records.append(Record(seed, {**figures, CALIBRATION: {"noise": 0.1}}, clock=clock))
    return ExperimentResult(experiment, tuple(records), 1.0)


def test_errors_and_order_stand_in_the_document(node: Path) -> None:
    document = json.loads(json.dumps(made_up(node, energy=False).to_json()))
    for name in RIVALS:
        assert document["errors"][name]["avg_response"]["of_means"] == pytest.approx(
            -0.25 if name == RIVALS[-1] else -0.05
        )
        assert document["errors"][name]["energy"] is None
    assert document["kendall_tau"] == 1.0
    # 0.75 times the last is less than 0.95 times the one before.
    assert document["kendall_tau_strict"] == pytest.approx((15 - 2) / 15)
    response, makespan, energy, order = document["remarks"]
    assert "within 10% of the machine for 5 of 6 schedulers; the worst is rl_agent with -25.0%" in response
    assert makespan.startswith("makespan: the twin is within 10%")
    assert energy == "energy: this machine does not tell it."
    assert "by the means alone 0.87" in order
    assert document["repeatable"] is False
    assert document["calibration"]["noise"]["mean"] == pytest.approx(0.1)
    assert "within 10%" in made_up(node, energy=True).remarks[2]


def test_it_runs_alone_on_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInputError, match="measures this machine, where parts would disturb each other"):
        run_experiment(Reality(), [1], jobs=2)
    with LocalWorkers(1) as workers, pytest.raises(InvalidInputError, match="without other workers"):
        run_experiment(Reality(), [1], workers=workers)
    assert main(["experiment", "reality", "--node", "ray", "--out", str(tmp_path / "out"), "--no-store"]) == 2
    assert "node is 'ray', but experiment 'reality' measures this machine" in capsys.readouterr().err


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    for wrong, said in (
        ({"load": 1.0}, "load is 1, but it must be above 0 and below 1"),
        ({"rounds": 0}, "rounds is 0"),
        ({"draws": 0}, "draws is 0"),
        ({"sizes": (5,)}, "at least two different ones"),
        ({"cluster": tmp_path / "node.yaml", "cpu_lanes": 1}, "both say how many there are"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            Reality(**wrong)
    plain = tmp_path / "plain.yaml"
    plain.write_text("devices:\n  - {name: cpu_0, kind: cpu}\n")
    with pytest.raises(InvalidInputError, match="the node is not calibrated"):
        Reality(cluster=plain)


@pytest.mark.slow
def test_small_kernels_in_both_worlds(tmp_path: Path) -> None:
    experiment = Reality(kinds=("matmul", "sort"), sizes=(8, 32), tasks=15, train_tasks=0, rounds=1, cpu_lanes=1)
    result = run_experiment(experiment, [3], folder=tmp_path)
    (record,) = result.records
    assert set(record.figures) == {*experiment.schedulers, CALIBRATION}
    for name in experiment.schedulers:
        figures = record.figures[name]
        assert figures["failed"] == 0.0
        assert figures["makespan_error"] == pytest.approx(figures["predicted_makespan"] / figures["makespan"] - 1.0)
        assert record.clock[name]["decision_us"] > 0.0
    assert record.figures[CALIBRATION]["rate"] == pytest.approx(0.6 * record.figures[CALIBRATION]["capacity"])
    assert [path.name for path in experiment.write_files(result.records, tmp_path)] == ["node.yaml", "node.yaml.csv"]
    again = Reality(cluster=tmp_path / "node.yaml")
    assert again.world.cluster.names == ("cpu_0",)
    assert again.configuration()["options"] == {"load": 0.6, "cluster": str(tmp_path / "node.yaml")}
