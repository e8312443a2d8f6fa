"""A short `shift`: the control fails, the learners recover, and nobody hides a constant policy."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.experiments.shift import REFERENCE, Shift
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World

TASKS = 150


@pytest.fixture(scope="module")
def short() -> PointResult:
    return run_experiment(
        Shift(tasks=TASKS, train_tasks=200, world=World(physics=Physics(split="serial"))), [1, 2]
    ).points[0]


def test_the_published_workload_and_physics(short: PointResult) -> None:
    published = REFERENCE["total_time"]
    assert isinstance(published, dict)
    for name in ("cpu_only", "gpu_only"):
        per_task = short.estimates[name]["total_time"].mean / TASKS
        assert per_task == pytest.approx(published[name] / 500, rel=0.15), name
    assert short.values("cpu_only", "total_time") == pytest.approx(short.values("oracle", "total_time"))


def test_who_recovers(short: PointResult) -> None:
    times = {name: figures["times_optimal"].mean for name, figures in short.estimates.items()}
    assert times["oracle"] == 1.0
    assert times["static_forest"] >= 5
    assert times["hybrid_ml"] <= 1.5
    assert times["rl_agent"] <= 1.5


def test_the_regret_adds_up_to_the_total(short: PointResult) -> None:
    for name in short.experiment.schedulers:
        curve = short.curve("regret", name)
        assert curve.shape == (2, TASKS)
        for row, total, best in zip(
            curve, short.values(name, "total_time"), short.values("oracle", "total_time"), strict=True
        ):
            assert row[-1] == pytest.approx(total - best, abs=1e-9)


def test_shares_of_the_devices(short: PointResult) -> None:
    names = ["cpu_0", "gpu_0", "gpu_1", "gpu_2", "gpu_3"]
    for figures in short.estimates.values():
        shares = [figures[f"share_{device}"].mean for device in names]
        assert sum(shares) == pytest.approx(1.0)
        assert figures["gpu_share"].mean == pytest.approx(sum(shares[1:]))
    assert short.estimates["round_robin"]["gpu_share"].mean == pytest.approx(0.25)
    assert short.estimates["static_forest"]["gpu_share"].mean > 0.9
    assert 0 < short.estimates["hybrid_ml"]["gpu_share"].mean < 0.2


def test_the_same_seed_gives_the_same_rows_on_any_node() -> None:
    experiment = Shift(tasks=30, train_tasks=80, world=World(ClusterSpec.default(2), Physics(noise=0.2)))
    first, second = (list(run_experiment(experiment, [5]).rows()) for _ in range(2))
    assert first == second
    assert list(run_experiment(experiment, [6]).rows()) != first


def test_learners_care_for_time_unless_told_otherwise() -> None:
    parameters: Any = Shift().configuration()["parameters"]
    assert parameters["rl_agent"] == {"energy_weight": 0.0}
    told = Shift(parameters={"rl_agent": {"energy_weight": 1.0, "hidden": 8}}).create("rl_agent", 3)
    assert (told.parameters()["energy_weight"], told.parameters()["hidden"], told.parameters()["seed"]) == (1.0, 8, 3)
