"""The bounds against an exact linear program, against schedules, and by hand."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hybrid_scheduler.model.device_columns import AVAILABLE, GPU, KIND, MEMORY, NODE
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.bounds import LowerBound, fluid_bound, fluid_makespan, lower_bound
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.fluid import MAX_CLASSES

FACTS = np.array([0.0, 0.05, 0.0])
seeds = st.integers(0, 2**32 - 1)


def exact_fluid(whole: FloatArray) -> float:
    """The fluid linear program, solved as it stands."""
    count, devices = whole.shape
    goal = np.zeros(count * devices + 1)
    goal[-1] = 1.0
    work = np.zeros((devices, count * devices + 1))
    shares = np.zeros((count, count * devices + 1))
    for d in range(devices):
        work[d, d:-1:devices] = whole[:, d]
    for i in range(count):
        shares[i, i * devices : (i + 1) * devices] = 1.0
    work[:, -1] = -1.0
    answer = linprog(goal, A_ub=work, b_ub=np.zeros(devices), A_eq=shares, b_eq=np.ones(count)).fun
    assert answer is not None
    return float(answer)


def random_whole(rng: np.random.Generator, count: int, devices: int) -> FloatArray:
    """Unlike devices of several kinds: unrelated, related, related with noise, with equal ones, of wild magnitudes."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.uniform(1.0, 10.0, (count, devices))
    if kind == 1:
        return 10.0 ** rng.uniform(-4.0, 4.0, (count, devices))
    related = rng.lognormal(0.0, 1.5, (count, 1)) / rng.uniform(0.2, 5.0, (1, devices))
    if kind == 2:
        return related
    if kind == 3:
        return related * rng.lognormal(0.0, 0.4, (count, devices))
    unlike = rng.uniform(1.0, 10.0, (count, devices))
    return np.ascontiguousarray(unlike[:, rng.integers(0, devices, devices)])


@pytest.mark.slow
@settings(max_examples=80)
@given(seeds, st.integers(1, 200), st.integers(1, 6))
def test_fluid_optimum_is_that_of_the_linear_program(seed: int, count: int, devices: int) -> None:
    whole = random_whole(np.random.default_rng(seed), count, devices)
    exact = exact_fluid(whole)
    assert exact * (1.0 - 2e-5) <= fluid_makespan(whole) <= exact * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_fluid_optimum_of_sixteen_unlike_machines(seed: int) -> None:
    whole = np.random.default_rng(seed).uniform(1.0, 10.0, (150, 16))
    exact = exact_fluid(whole)
    assert exact * (1.0 - 2e-5) <= fluid_makespan(whole) <= exact * (1.0 + 1e-9)


def test_more_unlike_machines_than_prices_still_give_a_bound() -> None:
    rng = np.random.default_rng(3)
    whole = rng.lognormal(0.0, 0.5, (80, 1)) * rng.lognormal(0.0, 0.05, (80, MAX_CLASSES + 8))
    exact = exact_fluid(whole)
    assert 0.9 * exact <= fluid_makespan(whole) <= exact * (1.0 + 1e-9)


def test_a_sample_does_not_cost_accuracy() -> None:
    """Two kinds of tasks in blocks, of which a sample sees the right proportions only if it is spread."""
    rng = np.random.default_rng(5)
    whole = rng.uniform(1.0, 2.0, (30_000, 3))
    whole[:11_000, 0] *= 4.0
    makespan = fluid_makespan(whole)
    prices = np.array([rng.dirichlet(np.ones(3)) for _ in range(300)])
    assert all((whole * y).min(axis=1).sum() <= makespan * (1.0 + 1e-5) for y in prices)
    assert fluid_bound(whole, np.zeros(30_000)) == pytest.approx(makespan, rel=1e-4)


@settings(max_examples=30)
@given(seeds, st.integers(1, 40), st.integers(1, 5), st.floats(0.0, 3.0))
def test_fluid_bound_is_the_best_over_all_suffixes(seed: int, count: int, devices: int, gap: float) -> None:
    rng = np.random.default_rng(seed)
    whole = random_whole(rng, count, devices)
    arrival = 7.0 + np.cumsum(rng.exponential(gap + 1e-9, count) * whole.min(axis=1).mean() / devices)
    exact = max(arrival[k] - arrival[0] + exact_fluid(whole[k:]) for k in range(count))
    assert 0.995 * exact <= fluid_bound(whole, arrival) <= exact * (1.0 + 1e-9)


def test_a_late_burst_of_another_kind_gets_its_own_prices() -> None:
    """Prices for all tasks make the first device dear and the second cheap; the burst at the end needs the opposite."""
    whole = np.array([[1.0, 100.0]] * 200 + [[100.0, 1.0]] * 50)
    arrival = np.concatenate([np.linspace(0.0, 190.0, 200), np.full(50, 195.0)])
    exact = 195.0 + exact_fluid(whole[200:])
    assert exact > 1.1 * exact_fluid(whole)
    assert fluid_bound(whole, arrival) == pytest.approx(exact, rel=1e-4)


def simple_run(
    rng: np.random.Generator,
    times: FloatArray,
    memory: FloatArray,
    arrival: FloatArray,
    parent: IntArray,
    devices: FloatArray,
    facts: FloatArray,
) -> FloatArray:
    """Finish times under random decisions with any fraction, in order; `parent` of a task stands before it or is -1."""
    free, finish = np.zeros(len(devices)), np.zeros(len(arrival))
    cpus, gpus = np.flatnonzero(devices[:, KIND] != GPU), np.flatnonzero(devices[:, KIND] == GPU)
    for i in range(len(arrival)):
        ready = arrival[i] if parent[i] < 0 else max(arrival[i], finish[parent[i]])
        share = rng.choice([0.0, 1.0, rng.uniform(0.01, 0.99)]) if len(gpus) else 0.0
        gpu = int(rng.choice(gpus)) if len(gpus) else -1
        near = cpus[devices[cpus, NODE] == devices[gpu, NODE]]
        if (0.0 < share < 1.0 and not len(near)) or share * memory[i] > devices[gpu, MEMORY]:
            share = 0.0
        cpu = int(rng.choice(near if 0.0 < share < 1.0 else cpus))
        serial = facts[SPLIT] != 0.0
        stretch = 1.0 if serial or share in (0.0, 1.0) else 1.0 + facts[PENALTY]
        end = ready
        if share > 0.0:
            end = free[gpu] = max(ready, free[gpu]) + (times[i, FIXED, gpu] + share * times[i, SHARED, gpu]) * stretch
        if share < 1.0:
            start = max(ready, free[cpu], end if serial else 0.0)
            free[cpu] = start + (times[i, FIXED, cpu] + (1.0 - share) * times[i, SHARED, cpu]) * stretch
            end = max(end, free[cpu])
        finish[i] = end
    return finish


NO_PARENTS = np.zeros(0, np.int64)


@settings(max_examples=150)
@given(seeds, st.integers(1, 30), st.integers(1, 2), st.integers(0, 4), st.sampled_from([0.0, 1e9]))
def test_no_schedule_beats_the_bound(seed: int, count: int, cpus: int, gpus: int, clock: float) -> None:
    rng = np.random.default_rng(seed)
    devices = np.zeros((cpus + gpus, ClusterSpec.default(0).public_table().shape[1]))
    devices[cpus:, KIND], devices[:, AVAILABLE] = GPU, 1.0
    devices[:, NODE] = rng.integers(0, 2, len(devices))
    devices[:, MEMORY] = rng.choice([np.inf, 60.0, 20.0], len(devices))
    times = np.stack([rng.choice([0.0, 0.3]) * np.ones((count, cpus + gpus)), random_whole(rng, count, cpus + gpus)], 1)
    memory, arrival = rng.uniform(0.0, 100.0, count), clock + np.cumsum(rng.exponential(1.0, count))
    facts = np.array([rng.integers(2), rng.choice([0.0, 0.05, 1.0]), 0.0])
    parent = rng.integers(-1, np.arange(count)) if rng.integers(2) else np.full(count, -1)
    finish = simple_run(rng, times, memory, arrival, parent, devices, facts)
    bound = lower_bound(times, memory, arrival, np.arange(count + 1), parent, devices, facts, np.ones(cpus + gpus))
    assert bound.makespan <= finish.max() - arrival[0]
    assert bound.avg_response <= (finish - arrival).mean()


def default_bound(
    seconds: FloatArray,
    arrival: FloatArray,
    parents: list[list[int]] | None = None,
    speed: FloatArray | None = None,
    isolated: bool = False,
) -> LowerBound:
    """Bounds on the default node with one GPU; `seconds` has a column for the CPU and one for the GPU."""
    count = len(arrival)
    times = np.zeros((count, 2, 2))
    times[:, SHARED] = seconds
    rows = parents or [[] for _ in range(count)]
    start: IntArray = np.cumsum([0, *map(len, rows)])
    packed = np.array([p for row in rows for p in row], np.int64)
    devices = ClusterSpec.default(1).public_table()
    best = np.ones(2) if speed is None else speed
    return lower_bound(times, np.full(count, 10.0), arrival, start, packed, devices, FACTS, best, isolated)


def test_path_follows_parents_wherever_they_stand() -> None:
    """A task alone takes 1 / (1/4 + 1/1) * 1.05 = 0.84 s, split; 0 waits for 2, which waits for 1."""
    seconds = np.tile([4.0, 1.0], (3, 1))
    bound = default_bound(seconds, np.array([0.0, 5.0, 5.0]), [[2], [], [1]])
    assert bound.makespan == pytest.approx(5.0 + 3 * 0.84, rel=1e-7)
    assert bound.avg_response == pytest.approx((7.52 + 0.84 + 1.68) / 3, rel=1e-7)
    uncounted = default_bound(seconds, np.array([0.0, 5.0, 5.0]), [[2], [], [-1]])
    assert uncounted.makespan == pytest.approx(5.0 + 2 * 0.84, rel=1e-7)


def test_long_chain_in_reverse() -> None:
    """Deeper than any recursion limit."""
    count = 20_000
    chain = [[i + 1] for i in range(count - 1)] + [[]]
    bound = default_bound(np.tile([4.0, 1.0], (count, 1)), np.zeros(count), chain)
    assert bound.makespan == pytest.approx(0.84 * count, rel=1e-7)
    assert bound.avg_response == pytest.approx(0.84 * (count + 1) / 2, rel=1e-7)


def test_a_bound_is_reached_by_the_best_schedule() -> None:
    """One task: both figures are its best time. Equal tasks at once: the devices are busy all the time."""
    one = default_bound(np.array([[4.0, 1.0]]), np.array([3.0]))
    assert (one.makespan, one.avg_response) == pytest.approx((0.84, 0.84), rel=1e-7)
    many = default_bound(np.tile([4.0, 1.0], (100, 1)), np.zeros(100))
    assert many.makespan == pytest.approx(80.0, rel=1e-4)
    assert many.makespan < 80.0


def test_faster_devices_lower_the_bound() -> None:
    seconds = np.array([[4.0, 1.0]])
    disturbed = default_bound(seconds, np.zeros(1), speed=np.array([1.0, 2.0]))
    assert disturbed.makespan == pytest.approx(1.05 / (1 / 4 + 2), rel=1e-7)


def test_isolated_tasks_add_up() -> None:
    bound = default_bound(np.array([[4.0, 1.0], [1.0, 4.0], [1.0, 100.0]]), np.zeros(3), isolated=True)
    total = 0.84 + 0.84 + 1.0
    assert bound.makespan == pytest.approx(total, rel=1e-7)
    assert bound.avg_response == pytest.approx(total / 3, rel=1e-7)


@pytest.mark.parametrize("isolated", [False, True])
def test_no_tasks_take_no_time(isolated: bool) -> None:
    assert default_bound(np.zeros((0, 2)), np.zeros(0), isolated=isolated) == LowerBound(0.0, 0.0)
    assert fluid_makespan(np.zeros((0, 3))) == 0.0
    assert fluid_bound(np.zeros((0, 3)), np.zeros(0)) == 0.0


def test_many_tasks_are_bounded_quickly() -> None:
    """A million tasks on five unlike devices take about 0.1 s; here a fifth of that, with much room."""
    rng = np.random.default_rng(0)
    count = 200_000
    times = np.zeros((count, 2, 5))
    times[:, SHARED] = rng.lognormal(0.0, 1.0, (count, 1)) * rng.lognormal(0.0, 0.2, (count, 5))
    devices, arrival = ClusterSpec.default(4).public_table(), np.sort(rng.uniform(0.0, 1e4, count))
    rest = (np.zeros(count + 1, np.int64), NO_PARENTS, devices, FACTS, np.ones(5))
    lower_bound(times[:100], np.ones(100), arrival[:100], rest[0][:101], *rest[1:])
    start = time.process_time()
    bound = lower_bound(times, np.ones(count), arrival, *rest)
    assert time.process_time() - start < 1.5
    assert bound.makespan == pytest.approx(times[:, SHARED].min(axis=1).sum() / 5, rel=1e-3)
