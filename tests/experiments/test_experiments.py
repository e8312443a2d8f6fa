"""The experiments, small: everybody takes part, learners are no constant policies, files and findings are there."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.experiments.ablation import Ablation
from hybrid_scheduler.experiments.base import Unit
from hybrid_scheduler.experiments.energy import FIGURES, LADDERS, LOAD, WEIGHTED, WEIGHTS, Energy, Ladder
from hybrid_scheduler.experiments.heavy import DECISIONS, Heavy
from hybrid_scheduler.experiments.load import LOADS, Load
from hybrid_scheduler.experiments.mixed import Mixed
from hybrid_scheduler.experiments.racing import EVERYBODY
from hybrid_scheduler.experiments.runner import run_experiment
from hybrid_scheduler.model.objective import Objective
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler

CONSTANT = {"cpu_only": 0.0, "gpu_only": 1.0}


def test_heavy(tmp_path: Path) -> None:
    result = run_experiment(Heavy(tasks=300), [1, 2], folder=tmp_path)
    (point,) = result.points
    assert tuple(point.estimates) == (*EVERYBODY, "lower_bound")
    for name, figures in point.estimates.items():
        if name != "lower_bound":
            assert figures["makespan"].mean >= point.estimates["lower_bound"]["makespan"].mean - 1e-9
            assert figures["tasks"].values == (300.0, 300.0)
            assert figures["failed"].mean == 0.0
    assert {name: point.estimates[name]["gpu_share"].mean for name in CONSTANT} == CONSTANT
    for name in ("rl_agent", "hybrid_ml"):
        assert 0.2 < point.estimates[name]["gpu_share"].mean < 0.99
        assert point.estimates[name]["avg_response"].mean < point.estimates["gpu_only"]["avg_response"].mean
    assert point.estimates["rl_agent"]["updates"].mean > 100, "all learning is on"
    assert point.estimates["hybrid_ml"]["refit_checks"].mean >= 1
    assert point.estimates["round_robin"]["speedup"].values == (1.0, 1.0)
    assert point.estimates["oracle"]["times_oracle"].values == (1.0, 1.0)


def test_the_decisions_of_heavy_add_up_to_its_figures(tmp_path: Path) -> None:
    result = run_experiment(Heavy(tasks=200), [4, 5], folder=tmp_path)
    rows = list(csv.DictReader((tmp_path / DECISIONS).read_text().splitlines()))
    assert len(rows) == 200 * len(EVERYBODY)
    for name in EVERYBODY:
        own = [row for row in rows if row["scheduler_name"] == name]
        figures = result.records[0].figures[name]
        assert result.records[0].seed == 4, "the decisions are those of the first seed"
        assert np.mean([float(row["response_time"]) for row in own]) == pytest.approx(figures["avg_response"])
        assert np.sum([float(row["execution_cost"]) for row in own]) == pytest.approx(figures["cost"])
        sample = result.records[0].samples["gpu_fraction"][name]
        assert [float(row["gpu_fraction"]) for row in own] == pytest.approx(sample.tolist())


def test_mixed_trains_a_forest_beside_the_race() -> None:
    result = run_experiment(Mixed(tasks=200, train_tasks=800), [1])
    document = result.to_json()
    assert "forest" not in document["schedulers"]  # type: ignore[operator]
    forest = result.points[0].estimates["forest"]
    assert 0.5 < forest["test_r2"].mean <= 1.0
    importances = [each.mean for metric, each in forest.items() if metric.startswith("importance_")]
    assert sum(importances) == pytest.approx(1.0)
    judged = result.records[0].samples["confusion"]
    assert judged["optimal"].shape == judged["predicted"].shape == (200,)
    assert np.abs(judged["optimal"] - judged["predicted"]).mean() < 0.1


def test_load(tmp_path: Path) -> None:
    result = run_experiment(Load(tasks=300, train_tasks=300), [1], folder=tmp_path)
    assert [point.point for point in result.points] == list(LOADS)
    assert result.points[0].estimates["oracle"]["tasks"].mean == 240, "the first fifth does not count"
    light, heavy = (result.points[k].estimates["mct"]["avg_response"].mean for k in (0, -1))
    assert light < heavy
    breaks = result.to_json()["breaks_at"]
    assert isinstance(breaks, dict)
    assert set(breaks) == set(EVERYBODY)
    for name, load in breaks.items():
        flags = [point.estimates[name]["overloaded"].mean for point in result.points]
        assert load == next((at for at, flag in zip(LOADS, flags, strict=True) if flag >= 0.5), None)
    assert "lower_bound" in result.points[0].to_json()


def test_a_scheduler_that_never_keeps_up_is_overloaded_whatever_the_warmup() -> None:
    experiment = Load(tasks=3000)
    contestants = {name: experiment.create(name, 1) for name in ("cpu_only", "oracle")}
    record = experiment.race(Unit(1, 0.4), contestants, experiment.scenario(1, 0.4, warmup=1000))
    assert {name: record.figures[name]["overloaded"] for name in contestants} == {"cpu_only": 1.0, "oracle": 0.0}


def test_the_learners_of_load_are_trained_once_per_seed(tmp_path: Path) -> None:
    experiment = Load(tasks=50, train_tasks=80)
    experiment.prepare(3, tmp_path)
    learners = ("rl_agent", "hybrid_ml", "hybrid_queue", "static_forest")
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(learners)
    first, second = (experiment.run(Unit(3, 0.6, tmp_path)).figures for _ in range(2))
    assert first == second
    agent = experiment.create("rl_agent", 3)
    assert agent.parameters()["energy_weight"] == 0.0


def test_energy(tmp_path: Path) -> None:
    result = run_experiment(Energy(tasks=200, train_tasks=200), [1, 2], folder=tmp_path)
    points = {point.point: point for point in result.points}
    assert list(points) == list(WEIGHTS)
    assert len(points) == 11
    assert {Objective.of(str(each)) for each in points} >= {Objective(1), Objective(0, 1), Objective(0, 0, 1)}

    def means(name: str, metric: str, ladder: Ladder) -> list[float]:
        return [points[each].estimates[name][metric].mean for each in ladder.points]

    document: Any = result.to_json()
    for found, ladder in zip(document["ladders"], LADDERS, strict=True):
        metric = FIGURES[ladder.goal]
        assert (found["goal"], found["metric"], found["points"]) == (ladder.goal, metric, list(ladder.points))
        assert len(set(means("oracle", metric, ladder))) == 1, "the weights are the learners' alone"
        own = means("hybrid_ml", metric, ladder)
        assert own[-1] < own[0]
        differences = [step["difference"] for step in found["learners"]["hybrid_ml"]["steps"]]
        assert differences == [pytest.approx(b - a) for a, b in pairwise(own)]
        assert isinstance(found["learners"]["rl_agent"]["falls"], bool)
    front = document["front"]
    assert len(front) == len(WEIGHTED) * 11 + len(Energy.schedulers) - len(WEIGHTED)
    for place in front:
        others = [other for other in front if other is not place]
        own = [place[goal] for goal in FIGURES]
        beaten = any([o[g] for g in FIGURES] != own and all(o[g] <= place[g] for g in FIGURES) for o in others)
        assert place["on_front"] is not beaten


def test_the_forests_of_energy_are_those_trained_for_each_weight(tmp_path: Path) -> None:
    """They learn times, whatever counts: trained once per seed they decide as if trained for their weights."""
    experiment = Energy(tasks=120, train_tasks=300)
    experiment.prepare(3, tmp_path)
    weights = "time=0.5,money=0.5"
    shared = experiment.run(Unit(3, weights, tmp_path)).figures
    scenario = experiment.scenario(3, LOAD, warmup=24)
    names = ("hybrid_ml", "static_forest")
    own = {name: experiment.trained(name, 3, scenario.training(300), weights=weights) for name in names}
    alone = experiment.race(Unit(3, weights), own, scenario).figures
    for name in names:
        assert {key: shared[name][key] for key in FIGURES.values()} == {
            key: alone[name][key] for key in FIGURES.values()
        }


def test_a_step_that_raises_a_goal_is_found() -> None:
    from hybrid_scheduler.experiments.base import Record
    from hybrid_scheduler.experiments.result import PointResult

    def points(goal: str, sign: float) -> list[PointResult]:
        found = []
        for weights in WEIGHTS:
            share = getattr(Objective.of(weights), goal)
            metrics = dict.fromkeys(FIGURES.values(), 1.0) | {FIGURES[goal]: 10.0 + sign * share}
            figures = dict.fromkeys(Energy.schedulers, metrics)
            records = tuple(Record(seed, figures, point=weights) for seed in (1, 2, 3))
            found.append(PointResult(Energy(), weights, records))
        return found

    for goal in FIGURES:
        for sign in (-1.0, 1.0):
            ladders: Any = Energy().findings(points(goal, sign))["ladders"]
            mine = [ladder for ladder in ladders if ladder["goal"] == goal]
            assert mine
            assert all(ladder["learners"]["rl_agent"]["falls"] is (sign < 0) for ladder in mine)


def test_what_one_seed_does_not_know_is_in_no_mean_and_no_comparison() -> None:
    """As the energy of a real node whose machine does not tell it."""
    from hybrid_scheduler.experiments.base import Record
    from hybrid_scheduler.experiments.result import PointResult

    metrics = dict.fromkeys(FIGURES.values(), 1.0)
    untold = {name: value for name, value in metrics.items() if name != "energy"}
    whole = Record(1, dict.fromkeys(Energy.schedulers, metrics), point=WEIGHTS[0])
    partly = Record(2, {**whole.figures, "hybrid_ml": untold}, point=WEIGHTS[0])
    known, unknown = (PointResult(Energy(), WEIGHTS[0], (whole, other)).to_json() for other in (whole, partly))
    schedulers: Any = unknown["schedulers"]
    assert "energy" not in schedulers["hybrid_ml"]
    assert "energy" in schedulers["mct"]
    comparisons: Any = known["comparisons"]
    left = [each for each in comparisons if each["metric"] != "energy" or "hybrid_ml" not in (each["a"], each["b"])]
    assert len(left) < len(comparisons)
    assert unknown["comparisons"] == left


def test_ablation() -> None:
    result = run_experiment(Ablation(tasks=200, train_tasks=400), [1])
    assert [point.point for point in result.points] == ["busy", "shifted"]
    busy, shifted = (point.estimates for point in result.points)
    assert busy["hybrid_ml_no_queues"]["avg_response"].mean > busy["hybrid_ml"]["avg_response"].mean
    assert shifted["static_forest"]["avg_response"].mean > 3 * shifted["hybrid_ml"]["avg_response"].mean
    assert {(each.a, each.b) for each in result.points[0].comparisons} == {
        ("rl_agent", "rl_agent_no_backlog"),
        ("rl_agent", "rl_agent_no_target"),
        ("rl_agent", "rl_agent_gamma_0"),
        ("rl_agent", "rl_agent_myopic"),
        ("hybrid_ml", "hybrid_ml_no_queues"),
        ("hybrid_ml", "hybrid_ml_no_drift"),
        ("hybrid_ml", "static_forest"),
    }


def test_the_variants_lack_what_they_should() -> None:
    experiment = Ablation(parameters={"rl_agent": {"hidden": 32}})
    agent = experiment.create("rl_agent_gamma_0", 1)
    assert isinstance(agent, DQNScheduler)
    assert (agent.gamma, agent.use_target, agent.hidden, agent.energy_weight) == (0.0, True, 32, 0.0)
    assert experiment.create("rl_agent_myopic", 1).parameters()["count_waiting"] is False
    assert experiment.create("rl_agent_no_target", 1).parameters()["use_target"] is False
    assert experiment.create("rl_agent_no_backlog", 1).parameters()["use_backlog"] is False
    assert experiment.create("hybrid_ml_no_queues", 1).parameters()["use_queues"] is False
    assert experiment.create("hybrid_ml_no_drift", 1).parameters()["drift"] is False


def test_another_node_trains_what_the_package_lacks() -> None:
    heavy = Heavy(tasks=40, train_tasks=60, world=World(ClusterSpec.default(2)))
    assert "trained on 60 tasks" in str(heavy.facts()["start"])
    assert "models in the package" in str(Heavy().facts()["start"])
    record = heavy.run(Unit(1))
    assert record.figures["rl_agent"]["tasks"] == 40


@pytest.mark.parametrize("kind", [Heavy, Mixed])
def test_the_same_seed_gives_the_same_record(kind: type[Heavy | Mixed]) -> None:
    experiment = kind(tasks=60, train_tasks=200)
    first, second = (experiment.run(Unit(2)) for _ in range(2))
    assert first.figures == second.figures
    for name, columns in first.samples.items():
        for column, values in columns.items():
            assert np.array_equal(values, second.samples[name][column])
