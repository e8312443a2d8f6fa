"""Learners and what they care for: time, energy and money."""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hybrid_scheduler.api.start import Start, prepare
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.agent_layout import GOALS, TRUST
from hybrid_scheduler.learning.packaged import FOLDER
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.device_columns import PRICE
from hybrid_scheduler.model.objective import BALANCED, Objective
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Load, PresetTasks, Scenario
from hybrid_scheduler.schedulers.base import Learner
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.rl_agent import DQNScheduler
from hybrid_scheduler.schedulers.static_forest import StaticForest
from hybrid_scheduler.testing import CheckedRace
from hybrid_scheduler.training.train import train_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

SMALL = {"rl_agent": {"hidden": 16}, "hybrid_ml": {"n_estimators": 4}, "static_forest": {"n_estimators": 4}}
LEARNERS = tuple(SMALL)
UNLIKE = World(
    ClusterSpec(
        (
            Device("cpu_0", "cpu"),
            Device("dear", "gpu", speed=2.0, dollars_per_second=0.0008),
            Device("cheap", "gpu", dollars_per_second=0.00001, watts=400.0),
        )
    ),
    Physics(noise=0.1),
)


@cache
def scenario(load: float = 0.25, tasks: int = 400) -> Scenario:
    return Scenario(PresetTasks("mixed"), UNLIKE, tasks, Load(load), 3)


def raced(name: str, *, train: int = 500, **objective: Any) -> OutcomeBatch:
    """A learner trained and raced for an objective."""
    scheduler = create_scheduler(name, 3, **SMALL[name], **objective)
    train_scheduler(scheduler, scenario().training(train))
    return CheckedRace(scenario().batch(), UNLIKE, seed=3).run(scheduler)


def same(one: OutcomeBatch, other: OutcomeBatch) -> bool:
    columns = ("part_device", "part_share", "part_expected", "finish_time", "energy", "cost")
    return all(np.array_equal(getattr(one, column), getattr(other, column)) for column in columns)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", LEARNERS)
def test_an_energy_weight_is_these_weights_bit_for_bit(name: str, weight: float) -> None:
    weights = {"time": 1.0 - weight, "energy": weight, "money": 0.0}
    assert same(raced(name, energy_weight=weight), raced(name, weights=weights))


@pytest.mark.parametrize("name", ["static_forest", "rl_agent"])
def test_the_compiled_race_decides_as_decide_does_where_money_counts(name: str) -> None:
    scheduler = create_scheduler(name, 3, **SMALL[name], weights="time=0.4,energy=0.2,money=0.4")
    train_scheduler(scheduler, scenario().training(500))
    if isinstance(scheduler, DQNScheduler):
        scheduler.learning = False
    race = CheckedRace(scenario().batch(), UNLIKE, seed=3)
    assert scheduler.active_kernel() is not None
    assert same(race.run(scheduler), race.run(scheduler, compiled=False))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_goal_is_met_best_by_its_own_weight(name: str) -> None:
    found = {goal: raced(name, train=1500, weights={goal: 1.0}) for goal in ("time", "energy", "money")}
    figures = {
        "time": {goal: outcomes.response_time.mean() for goal, outcomes in found.items()},
        "energy": {goal: outcomes.energy.sum() for goal, outcomes in found.items()},
        "money": {goal: outcomes.cost.sum() for goal, outcomes in found.items()},
    }
    for goal, each in figures.items():
        assert min(each, key=lambda other: each[other]) == goal, (goal, each)
    assert figures["money"]["money"] < 0.8 * figures["money"]["time"]


def test_for_money_alone_the_forest_takes_the_cheapest_device() -> None:
    """With trees that know every label, the device of the least price times seconds, never a split."""
    tasks = WorkloadGenerator(5).generate("mixed", 60, 1.0)
    world = World(UNLIKE.cluster)
    labels = world.timed(tasks).labels()
    forest = StaticForest(weights="money=1", n_estimators=1, max_depth=30, min_samples_leaf=1)
    forest.fit(labels)
    assert forest.model is not None
    outcomes = Race(tasks, world, isolated=True).run(forest)
    told = np.exp(forest.model.predict(np.array([_features(task) for task in tasks])))
    bills = told * world.public_table()[:, PRICE]
    fits = tasks.memory_required[:, None] <= world.cluster.column("memory_mb")
    assert outcomes.part_device.tolist() == np.where(fits, bills, np.inf).argmin(axis=1).tolist()
    assert (outcomes.part_share == 1.0).all()


def _features(task: Any) -> list[float]:
    from hybrid_scheduler.learning.features import FEATURES, write_features

    x = np.empty(FEATURES)
    write_features(task.size, task.compute_intensity, task.memory_required, x)
    return x.tolist()


def test_cost_falls_step_by_step_with_its_weight() -> None:
    training = scenario().training(2000)
    labels = UNLIKE.timed(training.batch(), 1).labels()
    bills = []
    for weight in (0.0, 0.25, 0.5, 0.75, 1.0):
        forest = StaticForest(weights={"time": 1.0 - weight, "money": weight}, n_estimators=8)
        forest.fit(labels)
        bills.append(float(Race(scenario().batch(), UNLIKE, seed=3).run(forest).cost.sum()))
    assert bills == sorted(bills, reverse=True)
    assert bills[-1] < 0.5 * bills[0]


def test_learners_see_the_prices_that_are_paid() -> None:
    """Where electricity is paid for, the price of a second is that of its joules."""
    world = World(UNLIKE.cluster, Physics(pricing="electricity"))
    seen: list[list[float]] = []

    class Looking(StaticForest):
        def decide(self, task: Any, view: Any) -> Any:
            seen.append(view.price.tolist())
            return super().decide(task, view)

    outcomes = Race(WorkloadGenerator(5).generate("mixed", 3, 1.0), world).run(Looking(), compiled=False)
    assert seen[0] == world.physics.busy_price(world.cluster).tolist()
    assert outcomes.cost.sum() == pytest.approx(outcomes.energy.sum() * 0.15 / 3.6e6)
    assert World().public_table()[:, PRICE].tolist() == [0.00002, *[0.0001] * 4]


@pytest.mark.parametrize("name", LEARNERS)
def test_parameters_rebuild_the_learner(name: str) -> None:
    plain, told = create_scheduler(name), create_scheduler(name, weights="time=1,money=3")
    assert (plain.parameters()["energy_weight"], plain.parameters()["weights"]) == (0.5, None)
    assert told.parameters()["energy_weight"] is None
    assert told.parameters()["weights"] == {"time": 0.25, "energy": 0.0, "money": 0.75}
    for learner, goals in ((plain, BALANCED), (told, Objective(0.25, 0.0, 0.75))):
        assert learner.clone().goals == goals  # type: ignore[attr-defined]
    with pytest.raises(InvalidInputError, match="leave one out"):
        create_scheduler(name, energy_weight=0.5, weights="time=1")


def test_the_forest_says_what_counts() -> None:
    forest = StaticForest(weights="time=0.6,energy=0.2,money=0.2", n_estimators=2)
    tasks = WorkloadGenerator(5).generate("mixed", 20, 1.0)
    forest.fit(World().timed(tasks).labels())
    from hybrid_scheduler.training.pretrained import idle_view

    assert "energy counts 20%, money counts 20%" in forest.explain(tasks[0], idle_view(World())).reason


def test_the_packaged_agent_serves_every_objective() -> None:
    start = Scenario(PresetTasks("mixed"), World(), 10, Load(0.3), 1)
    for weights in ("time=0.5,energy=0.5", "time=0.6,energy=0.2,money=0.2", "money=1"):
        agent = DQNScheduler(weights=weights)
        assert prepare({"rl_agent": agent}, Start(), start) == []
        state = agent.kernel_state()
        assert state[TRUST] == 1.0
        assert tuple(state[GOALS : GOALS + 3]) == astuple(agent.goals)


def test_an_agent_for_money_is_saved_and_continued(tmp_path: Path) -> None:
    agent = DQNScheduler(weights="time=0.5,money=0.5", hidden=16, seed=3)
    train_scheduler(agent, scenario().training(400))
    agent.save_model(tmp_path / "agent.pth")
    loaded = DQNScheduler(weights="time=0.5,money=0.5", seed=9)
    loaded.load_model(tmp_path / "agent.pth")
    assert loaded.loaded_note() == ""
    race = Race(scenario().batch(), UNLIKE, seed=3)
    assert same(race.run(agent), race.run(loaded))


def test_a_damaged_replay_is_refused(tmp_path: Path) -> None:
    agent = DQNScheduler(energy_weight=0.3, hidden=16, seed=3)
    train_scheduler(agent, scenario().training(400))
    agent.save_model(tmp_path / "agent.pth")
    contents = torch.load(tmp_path / "agent.pth", weights_only=True)
    deep = contents["agent"]["deep"]
    deep["transitions"]["rows"] = deep["transitions"]["rows"][:, :5].clone()
    torch.save(contents, tmp_path / "damaged.pth")
    with pytest.raises(InvalidInputError, match="rows have 5 columns"):
        DQNScheduler(energy_weight=0.3).load_model(tmp_path / "damaged.pth")


@pytest.mark.parametrize("name", LEARNERS)
def test_the_packaged_models_fit_whatever_is_paid(name: str) -> None:
    learner = create_scheduler(name)
    assert isinstance(learner, Learner)
    from hybrid_scheduler.training.pretrained import idle_view

    path = learner.packaged_model(idle_view(World(physics=Physics(pricing="electricity"))))
    assert path is not None
    assert path.parent == FOLDER
