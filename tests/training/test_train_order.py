"""Training of the order: the same bits from the same seed, however many work at it and however often it stops."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.learning.order.network import N_WEIGHTS, initial_weights, load_weights
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.schedulers.sjf import ShortestJobFirst
from hybrid_scheduler.training.order import FIRST_SEED, OrderScenario, OrderTraining, Rehearsal, train_order

SMALL = OrderTraining(generations=3, pairs=2, scenarios=3, tasks=120, warm_up=20)


def test_same_seed_same_bits_and_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole, parts, alone = (tmp_path / name for name in ("whole", "parts", "alone"))
    for folder in (whole, parts, alone):
        folder.mkdir()
    one = train_order(SMALL, whole, jobs=2)
    stopped: list[int] = []

    class StopError(Exception):
        pass

    def stop(done: int) -> None:
        stopped.append(done)
        raise StopError

    every = replace(SMALL, save_every=1)
    with pytest.raises(StopError):
        train_order(every, parts, jobs=1, tell=stop)
    other = train_order(every, parts, jobs=1)
    assert stopped == [1]
    assert np.array_equal(one.average, other.average)
    assert np.array_equal(load_weights(whole / "order.npy"), one.average)
    assert not np.array_equal(one.average, initial_weights(SMALL.seed))
    rows = list(csv.DictReader((parts / "order.csv").read_text().splitlines()))
    assert [row["generation"] for row in rows] == ["1.0", "2.0", "3.0"]
    with pytest.raises(InvalidInputError, match="say --fresh"):
        train_order(replace(every, sigma=0.2), parts, jobs=1)
    third = train_order(replace(SMALL, seed=2), alone, jobs=1)
    assert not np.array_equal(third.average, one.average)


def test_a_scenario_of_a_seed_is_always_the_same_and_others_differ() -> None:
    one, same, other = (OrderScenario.drawn(FIRST_SEED + i, 50) for i in (0, 0, 1))
    assert np.array_equal(one.timed.nominal, same.timed.nominal)
    assert one.timed.nominal.shape != other.timed.nominal.shape or not np.array_equal(
        one.timed.nominal, other.timed.nominal
    )


def test_figures_are_over_those_of_sjf() -> None:
    """The same policy scores 0 against itself, and weights that never start anything in time score above 0."""
    scenario = OrderScenario.drawn(FIRST_SEED + 3, 400)
    usual = scenario.figures(ShortestJobFirst(), 0)
    reluctant = np.zeros(N_WEIGHTS)
    reluctant[-1] = -1.0
    judged = scenario.judged(np.stack([initial_weights(), reluctant]), replace(SMALL, warm_up=0))
    mine = scenario.figures(Rehearsal(initial_weights(), scenario.energy, scenario.money), 0)
    time = 1.0 - scenario.energy - scenario.money
    counts = np.array([time, time * SMALL.tail, scenario.energy, scenario.money])
    assert judged[0] == pytest.approx((mine - usual) @ counts)
    assert judged[1] > judged[0]
