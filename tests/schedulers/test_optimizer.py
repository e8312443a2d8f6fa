"""The optimizer: the optimum where it can be known, never worse than the classics, the same for the same seed."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.batch import makespan
from hybrid_scheduler.schedulers.local_search import improve, posed
from hybrid_scheduler.schedulers.lpt import lpt
from hybrid_scheduler.schedulers.min_min import min_min
from hybrid_scheduler.schedulers.optimizer import Optimizer
from hybrid_scheduler.schedulers.sufferage import sufferage
from hybrid_scheduler.testing import CheckedRace


def drawn(tasks: int, devices: int, seed: int) -> FloatArray:
    """Times that are unlike in tasks and devices, as Braun et al. (2001) draw them."""
    generator = np.random.default_rng(seed)
    return generator.uniform(1.0, 100.0, (tasks, 1)) * generator.uniform(1.0, 10.0, (tasks, devices))


def reached(times: FloatArray, ready: FloatArray, **parameters: Any) -> float:
    return makespan(times, ready, Optimizer(**parameters).assign_batch(times, ready)[1])


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 10**6), st.booleans())
def test_small_batches_are_optimal(tasks: int, devices: int, seed: int, busy: bool) -> None:
    times = drawn(tasks, devices, seed)
    times[np.random.default_rng(seed).random(times.shape) < 0.2] = np.inf
    times[:, 0] = np.where(np.isinf(times).all(axis=1), 7.0, times[:, 0])
    ready = np.random.default_rng(seed).uniform(0.0, 300.0, devices) * busy
    every = (makespan(times, ready, np.array(each)) for each in itertools.product(range(devices), repeat=tasks))
    assert reached(times, ready, steps=2000) == pytest.approx(min(every), rel=1e-12)


@settings(max_examples=15)
@given(st.integers(2, 60), st.integers(2, 8), st.integers(0, 10**6))
def test_between_the_bound_and_the_classics(tasks: int, devices: int, seed: int) -> None:
    times, ready = drawn(tasks, devices, seed), np.zeros(devices)
    order, device = Optimizer(steps=500, restarts=1, seed=seed).assign_batch(times, ready)
    assert sorted(order.tolist()) == list(range(tasks))
    classics = min(makespan(times, ready, rule(times, ready)[1]) for rule in (min_min, lpt, sufferage))
    assert posed(times, ready).bound * (1.0 - 1e-9) <= makespan(times, ready, device) <= classics
    for d in range(devices):
        own = [times[i, d] for i in order if device[i] == d]
        assert own == sorted(own), "on each device the shortest goes first"


def test_near_the_fluid_optimum() -> None:
    times, ready = drawn(256, 8, 1), np.zeros(8)
    found = reached(times, ready, steps=5000, restarts=2)
    assert found < 1.01 * posed(times, ready).bound
    assert found < 0.985 * min(makespan(times, ready, rule(times, ready)[1]) for rule in (min_min, lpt, sufferage))


def test_the_same_seed_on_any_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    times, ready = drawn(80, 5, 2), np.zeros(5)
    found = {}
    for cores in (1, 4, 4):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        mapping = Optimizer(steps=1000, restarts=3, seed=7).assign_batch(times, ready)
        found[mapping[1].tobytes()] = cores
    assert len(found) == 1
    assert Optimizer(steps=1000, restarts=3, seed=8).assign_batch(times, ready)[1].tobytes() not in found


def test_more_restarts_are_no_worse() -> None:
    times, ready = drawn(60, 6, 3), np.zeros(6)
    one, four = (reached(times, ready, steps=300, restarts=restarts) for restarts in (1, 4))
    assert four <= one


def test_the_race_takes_as_long_as_planned() -> None:
    times = drawn(100, 4, 4)
    names = tuple(f"cpu_{d}" for d in range(4))
    world = World(
        ClusterSpec(tuple(Device(name, "cpu") for name in names)), Physics(TableCost(times, tuple(range(100)), names))
    )
    ones = np.ones(100)
    outcomes = CheckedRace(TaskBatch.from_columns(ones, ones, ones), world).run(Optimizer(steps=500, seed=5))
    assert outcomes.finish_time.max() == pytest.approx(reached(times, np.zeros(4), steps=500, seed=5), rel=1e-12)


def test_the_clock_ends_the_search() -> None:
    times, ready = drawn(50, 4, 6), np.zeros(4)
    reached(times, ready, steps=100)  # compiled by now
    began = time.monotonic()
    reached(times, ready, steps=10**8, restarts=1, seconds=0.1)
    assert time.monotonic() - began < 10.0, "all steps would take minutes"


def test_a_deadline_that_has_passed_leaves_the_start() -> None:
    times, ready = drawn(50, 4, 6), np.zeros(4)
    start = lpt(times, ready)[1]
    assert improve(posed(times, ready), start, 10**6, time.monotonic() - 1.0, 0).tolist() == start.tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"steps": -1}, "steps is -1, but it must be from 0 to 1000000000"),
        ({"restarts": 0}, "restarts is 0, but it must be from 1 to 1000000000"),
        ({"room_steps": -5}, "room_steps is -5, but it must be from 0 to 1000000000"),
        ({"seconds": 0.0}, "seconds is 0.0, but it must be a number above 0"),
        ({"seconds": float("nan")}, "seconds is nan, but it must be a number above 0"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Optimizer(**parameters)
