"""The experiment on order: every setting is what it says, and what noise costs is told by one's own seconds."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.experiments.base import Record, Unit
from hybrid_scheduler.experiments.order import BANDS, LOADS, NODE_SEEDS, NOISES, NOISY_LOAD, Order, at_load, with_noise
from hybrid_scheduler.experiments.result import PointResult
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import Load
from hybrid_scheduler.scenario.random_nodes import random_world
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.registry import scheduler_class

ORDER = Order(tasks=100)


def test_the_settings() -> None:
    assert list(ORDER.points()) == [
        "load=0.3",
        "load=0.6",
        "load=0.8",
        "nodes=0.20-0.45",
        "nodes=0.45-0.70",
        "nodes=0.70-0.85",
        "noise=0.25",
        "noise=0.5",
        "noise=1",
    ]
    rows: Any = ORDER.facts()["rows"]
    assert {setting for row in rows.values() for setting in row.values()} == set(ORDER.points())


@pytest.mark.parametrize("load", LOADS)
def test_a_load_on_the_default_node(load: float) -> None:
    scenario = ORDER.scenario_in(at_load(load), 3)
    assert (scenario.world, scenario.arrivals, scenario.seed, scenario.warmup) == (World(), Load(load), 3, 20)


@pytest.mark.parametrize("noise", NOISES)
def test_noise_is_the_only_difference(noise: float) -> None:
    scenario, exact = (ORDER.scenario_in(with_noise(each), 3) for each in (noise, 0.0))
    assert scenario.world.physics.noise == noise
    assert scenario.world.cluster == exact.world.cluster
    assert scenario.arrivals == exact.arrivals == Load(NOISY_LOAD)
    assert (scenario.batch().size == exact.batch().size).all()
    assert (scenario.batch().arrival_time == exact.batch().arrival_time).all()


@pytest.mark.parametrize("band", BANDS)
def test_every_seed_has_a_node_of_its_own_in_a_band(band: Any) -> None:
    seen = []
    for seed in range(1, 11):
        scenario = ORDER.scenario_in(f"nodes={band.name}", seed)
        node = NODE_SEEDS[band.name] + seed
        assert node < 5000, "from there on nodes are for tuning and training"
        assert scenario.world == random_world(node)
        assert isinstance(scenario.arrivals, Load)
        assert band.low <= scenario.arrivals.share <= band.high
        seen.append(scenario.world)
    assert all(world not in seen[:k] for k, world in enumerate(seen))


def test_forests_know_the_default_node_and_no_other() -> None:
    known, new = (ORDER.entrant("hybrid_ml", 1, world) for world in (World(), random_world(1001)))
    assert isinstance(known, HybridML)
    assert isinstance(new, HybridML)
    assert known.model is not None
    assert new.model is None
    assert known.energy_weight == new.energy_weight == 0.0


def test_one_race_in_a_setting() -> None:
    record = Order(tasks=60).run(Unit(2, "nodes=0.45-0.70"))
    assert {*record.figures} == {*Order.schedulers, "lower_bound"}
    for name in Order.schedulers:
        figures = record.figures[name]
        assert figures["tasks"] == 48, "the first fifth does not count"
        assert {*Order.shown, *Order.compared} <= set(figures)
        assert figures["p50_slowdown"] <= figures["p99_slowdown"] <= figures["max_slowdown"]
        assert 0.0 < figures["fairness"] <= 1.0
    assert record.figures["oracle"]["p99_times_oracle"] == 1.0


def test_what_noise_costs() -> None:
    def result(point: str, seconds: float) -> PointResult:
        figures = {name: {"avg_response": seconds * (rank + 1)} for rank, name in enumerate(Order.schedulers)}
        return PointResult(ORDER, point, tuple(Record(seed, figures, point=point) for seed in (1, 2)))

    points = [result(str(point), 3.0 if point == "noise=1" else 2.0) for point in ORDER.points()]
    costs: Any = ORDER.findings(points)["noise_costs"]
    assert set(costs) == {"0.25", "0.5", "1"}
    assert {each["mean"] for each in costs["0.5"].values()} == {1.0}
    assert {name: each["mean"] for name, each in costs["1"].items()} == dict.fromkeys(Order.schedulers, 1.5)


def test_the_pairs_a_doubter_asks_for() -> None:
    pairs = set(ORDER.pairs())
    assert {("rl_agent", "hybrid_ml"), ("rl_agent", "mct"), ("hybrid_queue", "sjf")} <= pairs
    assert {name for pair in pairs for name in pair} <= set(Order.schedulers)
    assert all(scheduler_class(name) for name in Order.schedulers)
