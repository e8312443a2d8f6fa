"""What the benchmark of order and the tuning script promise: nodes of their own, honest ratios, no idle changes."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.experiments.order import BANDS, NODE_SEEDS, Order
from hybrid_scheduler.physics.world import World

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def _load(name: str) -> Any:
    found = spec_from_file_location(f"{name}_benchmark", BENCHMARKS / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def order() -> Any:
    return _load("order")


@pytest.fixture(scope="module")
def tuning() -> Any:
    return _load("tuning")


def test_nobody_is_judged_by_nodes_of_tuning_or_training(order: Any, tuning: Any) -> None:
    judged = {seed for seeds in order.NODES.values() for seed in seeds} | {*order.SEEDS, *order.SHIFT_SEEDS}
    claimed = {NODE_SEEDS[band.name] + seed for band in BANDS for seed in range(1, Order.default_seeds + 1)}
    tuned = {*tuning.DEFAULT_SEEDS, *tuning.NODE_SEEDS}
    assert all(5000 <= seed < 6000 for seed in tuned)
    assert all(seed < 5000 for seed in judged | claimed)
    assert [len(seeds) for seeds in order.NODES.values()] == [8, 8, 8, 4]


def test_figures_are_over_the_oracles_of_the_same_race(order: Any) -> None:
    races = [
        {"oracle": order.Figures(2.0, 4.0, 8.0), "sjf": order.Figures(1.0, 4.0, 2.0)},
        {"oracle": order.Figures(1.0, 1.0, 1.0), "sjf": order.Figures(2.0, 3.0, 4.0)},
    ]
    table = order.over_oracle(races)
    assert table["sjf"] == {"mean": [0.5, 2.0], "p99": [1.0, 3.0], "slowdown_p99": [0.25, 4.0]}
    assert order.geometric(table["sjf"]["mean"]) == pytest.approx(1.0)
    assert order.average(table["sjf"]["mean"]) == 1.25


def test_a_limit_is_kept_or_not(order: Any) -> None:
    assert order.Limit("part", "what", 1.0, 1.0).kept
    assert not order.Limit("part", "what", 1.1, 1.0).kept
    assert not order.Limit("part", "what", float("nan"), 1.0).kept


def test_who_is_told_nothing_learns_nothing(order: Any) -> None:
    world = World()
    race = Race(order.stream(1, 300, 0.6, world), world, seed=1)
    told, deaf = (order.entrant("hybrid_ml", 1, world) for _ in range(2))
    race.run(told)
    race.run(order.without_learning(deaf))
    assert told.refit_checks > 0
    assert deaf.refit_checks == 0


def test_a_value_changes_only_for_a_reason(tuning: Any) -> None:
    constant = tuning.CONSTANTS["congestion"]
    values, groups = constant.candidates, ["a"] * 30 + ["b"] * 30
    now, other = values.index(constant.present), len(values) - 1
    draw = np.random.default_rng(1)

    def choice(shares: dict[int, float], noise: float) -> float:
        ratios = np.ones((60, len(values))) * np.exp(noise * draw.standard_normal((60, len(values))))
        for column, share in shares.items():
            ratios[:, column] *= share
        both = np.stack([ratios, ratios], axis=-1)
        return float(tuning.chosen(constant, tuning.candidates(constant, groups, both))[0])

    assert choice({now: 0.9}, 0.01) == constant.present, "the best"
    assert choice({other: 0.8}, 0.01) == values[other], "clearly behind"
    assert choice({other: 0.995}, 0.0001) == constant.present, "behind, but by less than a hundredth"
    assert choice({other: 0.97}, 1.0) == constant.present, "not shown"


def test_no_tail_pays_for_a_mean(tuning: Any) -> None:
    constant = tuning.CONSTANTS["congestion"]
    ratios = np.ones((10, len(constant.candidates), 2))
    ratios[:, -1] = 0.95, 2.0
    found = tuning.candidates(constant, ["a"] * 10, ratios)
    assert (found[-1].mean, found[-1].p99) == pytest.approx((0.95, 2.0))
    assert found[-1].over_best.mean == pytest.approx(0.95 * 2.0**0.2 - 1.0)
    assert tuning.chosen(constant, found)[0] != constant.candidates[-1]
