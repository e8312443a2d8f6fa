"""One device and Poisson arrivals: the mean wait by formula, and Little's law by an event sweep of its own."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_races import Anything, races
from scipy import stats

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.metrics.avg_wait import AverageWait
from hybrid_scheduler.model import OutcomeBatch, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace
from hybrid_scheduler.workloads import WorkloadGenerator

REPLICATIONS, TASKS, WARMUP = 20, 100_000, 10_000
MEAN_SERVICE = 2.0


def single_server(service: Literal["exponential", "constant"], load: float, seed: int) -> Race:
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(MEAN_SERVICE / load, TASKS))
    seconds = draw.exponential(MEAN_SERVICE, TASKS) if service == "exponential" else np.full(TASKS, MEAN_SERVICE)
    ones = np.ones(TASKS)
    # Estimates that have nothing to do with the table: the table alone must count.
    tasks = TaskBatch.from_columns(ones, ones, ones, arrival_time=arrival, duration_estimate=7.0 * ones)
    cost = TableCost(seconds[:, None], tuple(range(TASKS)), ("cpu_0",))
    return Race(tasks, World(ClusterSpec.default(num_gpus=0), Physics(cost)), warmup=WARMUP)


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("service", ["exponential", "constant"])
def test_mean_wait(service: Literal["exponential", "constant"], load: float) -> None:
    """Pollaczek and Khinchine: W = rho / (1 - rho) * E[S] for M/M/1, half of that for M/D/1."""
    waits = []
    for seed in range(REPLICATIONS):
        race = single_server(service, load, seed)
        metric = AverageWait()
        metric.update(race.counted(race.run(create_scheduler("cpu_only"))))
        waits.append(metric.get() or 0.0)
    formula = load / (1.0 - load) * MEAN_SERVICE * (1.0 if service == "exponential" else 0.5)
    half_width = stats.t.ppf(0.995, REPLICATIONS - 1) * np.std(waits, ddof=1) / math.sqrt(REPLICATIONS)
    assert half_width < 0.05 * formula, "the interval is too wide to prove anything"
    assert abs(np.mean(waits) - formula) < half_width


def time_average_in_system(outcomes: OutcomeBatch) -> float:
    """The number of tasks between arrival and finish, integrated over events, divided by the whole time."""
    events = sorted([(float(t), 1) for t in outcomes.arrival_time] + [(float(t), -1) for t in outcomes.finish_time])
    area, inside, last = 0.0, 0, events[0][0]
    for time, step in events:
        area += inside * (time - last)
        inside, last = inside + step, time
    assert inside == 0
    return area / (events[-1][0] - events[0][0])


@pytest.mark.parametrize("scheduler", ["greedy", "mct", "random"])
def test_littles_law(scheduler: str) -> None:
    tasks = WorkloadGenerator(4).generate("mixed", 3000, 8.0, dependency_prob=0.2)
    outcomes = CheckedRace(tasks, World(physics=Physics(noise=0.3))).run(create_scheduler(scheduler))
    span = float(outcomes.finish_time.max() - outcomes.arrival_time.min())
    rate, response = len(outcomes) / span, float(outcomes.response_time.mean())
    assert time_average_in_system(outcomes) == pytest.approx(rate * response, rel=1e-9)


@settings(max_examples=40)
@given(races(), st.integers(0, 1000))
def test_littles_law_anywhere(race: CheckedRace, seed: int) -> None:
    outcomes = race.run(Anything(seed))
    span = float(outcomes.finish_time.max() - outcomes.arrival_time.min())
    if span > 0:
        rate, response = len(outcomes) / span, float(outcomes.response_time.mean())
        assert time_average_in_system(outcomes) == pytest.approx(rate * response, rel=1e-9)
