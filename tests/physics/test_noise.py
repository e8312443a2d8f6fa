"""Noise: log-normal with mean 1, one draw per (seed, task, device), the same for everybody."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import InvalidInputError, OutcomeBatch, TaskBatch
from hybrid_scheduler.physics.noise import mix, noise_factors, uniform
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

MANY = np.arange(200_000)


def test_splitmix64() -> None:
    """The first outputs of the published generator for seed 0 (it adds its increment before each)."""
    increment = 0x9E3779B97F4A7C15
    states = [(k * increment) % 2**64 for k in range(3)]
    assert [int(mix(np.uint64(s))) for s in states] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0])
def test_distribution(sigma: float) -> None:
    factors = noise_factors(7, MANY, 2, sigma)
    logs = np.log(factors)
    error = math.sqrt((math.exp(sigma**2) - 1.0) / factors.size)
    assert abs(factors.mean() - 1.0) < 4.0 * error
    assert logs.std() == pytest.approx(sigma, rel=0.01)
    for device in range(2):
        scaled = (logs[:20_000, device] + 0.5 * sigma**2) / sigma
        assert stats.kstest(scaled, "norm").pvalue > 0.001


def test_tasks_devices_and_seeds_are_independent() -> None:
    one, other = np.log(noise_factors(1, MANY, 2, 0.5)), np.log(noise_factors(2, MANY, 2, 0.5))
    for a, b in [(one[:, 0], one[:, 1]), (one[:, 0], other[:, 0]), (one[:-1, 0], one[1:, 0])]:
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.01


def test_depends_on_nothing_else() -> None:
    whole = noise_factors(3, np.arange(100), 5, 0.4)
    some = noise_factors(3, np.array([70, 3, 41]), 3, 0.4)
    assert np.array_equal(some, whole[[70, 3, 41], :3])


def test_no_noise_is_exactly_one() -> None:
    assert (noise_factors(3, np.arange(10), 2, 0.0) == 1.0).all()
    tasks = WorkloadGenerator(1).generate("mixed", 20)
    times = np.ones((20, 2, 5))
    assert Physics().realised_times(times, tasks, 3) is times


@pytest.mark.parametrize("sigma", [-0.1, math.nan, math.inf])
def test_bad_sigma(sigma: float) -> None:
    with pytest.raises(InvalidInputError, match="noise is"):
        noise_factors(0, np.arange(3), 1, sigma)


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.integers(0, 100))
def test_uniform_is_in_its_range(seed: int, counter: int, stream: int) -> None:
    assert 0.0 <= uniform(seed, counter, stream) < 1.0
    assert uniform(seed, counter, stream) == uniform(seed, counter, stream)


def durations(outcomes: OutcomeBatch, tasks: TaskBatch) -> dict[tuple[int, str], float]:
    """Whole-task seconds by (task, device), from parts of any share; the penalty is taken off."""
    result = {}
    for outcome in outcomes:
        stretch = 1.05 if len(outcome.parts) == 2 else 1.0
        for part in outcome.parts:
            result[outcome.task_id, part.device] = (part.end - part.start) / (part.share * stretch)
    return result


def test_same_for_every_scheduler_and_fraction() -> None:
    tasks = WorkloadGenerator(2).generate("mixed", 300, 4.0)
    race = Race(tasks, World(physics=Physics(noise=0.6)), seed=5)
    names = ["greedy", "round_robin", "random", "gpu_only", "cpu_only"]
    seen = [durations(race.run(create_scheduler(name)), tasks) for name in names]
    compared = 0
    for one in seen:
        for other in seen:
            for key in one.keys() & other.keys():
                # Ends are rounded at the size of the clock, and a share of 1 % magnifies that.
                assert one[key] == pytest.approx(other[key], rel=1e-6)
                compared += one is not other
    assert compared > 1000
    other_seed = Race(tasks, World(physics=Physics(noise=0.6)), seed=6).run(create_scheduler("cpu_only"))
    same = [durations(other_seed, tasks)[key] == pytest.approx(value) for key, value in seen[-1].items()]
    assert not any(same)
