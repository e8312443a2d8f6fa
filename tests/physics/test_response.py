"""The bound on responses that knows the load: against every schedule of small sets, and by hand."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.response import WINDOW, response_bound

CONCURRENT, SERIAL = np.array([0.0, 0.05, 0.0]), np.array([1.0, 0.05, 0.0])
DEVICES = ClusterSpec.default(2).public_table()
ONE = ClusterSpec.default(0).public_table()


def bound_of(release: FloatArray, whole: FloatArray, devices: FloatArray, facts: FloatArray = CONCURRENT) -> float:
    """The bound, with the least time that a rate of progress allows as that on an idle node."""
    least = whole.min(axis=1)
    if facts is CONCURRENT and whole.shape[1] > 1:
        gpu = whole[:, 1:].min(axis=1)
        least = np.minimum(least, 1.05 / (1.0 / gpu + 1.0 / whole[:, 0]))
    return response_bound(release, least, whole, devices, facts)


def best_schedule(release: FloatArray, whole: FloatArray, serial: bool) -> float:
    """The least sum of responses over all orders, devices and a grid of divisions, by trying all of them."""
    options = [(0, 0.0), (1, 1.0), (2, 1.0), (1, 0.5), (2, 0.7)]
    best, penalty = np.inf, 1.0 if serial else 1.05
    for order in permutations(range(len(release))):
        for chosen in product(options, repeat=len(release)):
            free, total = [0.0, 0.0, 0.0], 0.0
            for i in order:
                gpu, share = chosen[i]
                stretch = penalty if 0.0 < share < 1.0 else 1.0
                end = release[i]
                if share > 0.0:
                    end = free[gpu] = max(free[gpu], release[i]) + stretch * share * whole[i, gpu]
                if share < 1.0:
                    free[0] = max(free[0], end if serial else release[i]) + stretch * (1.0 - share) * whole[i, 0]
                    end = max(end, free[0])
                total += end - release[i]
                if total >= best:
                    break
            best = min(best, total)
    return float(best)


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, 0.3, 3.0]))
def test_below_every_schedule_of_four_tasks(seed: int, serial: bool, gap: float) -> None:
    rng = np.random.default_rng(seed)
    release = np.cumsum(rng.exponential(gap, 4) if gap else np.zeros(4))
    whole = rng.lognormal(0.0, 1.0, (4, 1)) * rng.lognormal(0.0, rng.choice([0.0, 1.0]), (4, 3))
    best = best_schedule(release, whole, serial)
    bound = bound_of(release, whole, DEVICES, SERIAL if serial else CONCURRENT)
    assert 0.3 * best <= bound <= best * (1.0 + 1e-9)


def test_one_device_is_exact_where_nobody_is_interrupted() -> None:
    """Ready together: the shortest first. Later a task comes that is shorter than what is left: it goes first."""
    together = np.array([[3.0], [1.0], [2.0]])
    assert bound_of(np.zeros(3), together, ONE) == pytest.approx(1.0 + 3.0 + 6.0)
    # 5 s of work from 0; at 1 a second of work comes and ends at 2, the first at 6.
    assert bound_of(np.array([0.0, 1.0]), np.array([[5.0], [1.0]]), ONE) == pytest.approx(6.0 + 1.0)


def test_late_releases_in_any_order() -> None:
    whole = np.array([[1.0], [2.0], [4.0]])
    assert bound_of(np.array([20.0, 10.0, 0.0]), whole, ONE) == pytest.approx(7.0)
    assert bound_of(np.zeros(0), np.zeros((0, 1)), ONE) == 0.0


def test_equal_devices_share_the_load() -> None:
    """Two GPUs, a CPU of no use, 2n tasks of a second at once: n at each, done after 1, 2, ..., n seconds."""
    whole = np.tile([1e6, 1.0, 1.0], (40, 1))
    exact = 2.0 * sum(range(1, 21))
    assert 0.95 * exact <= bound_of(np.zeros(40), whole, DEVICES) <= exact


def test_one_cpu_cannot_help_everybody() -> None:
    """Divided, a task takes 0.84 s, but only one at a time has the CPU; four GPUs are nowhere near full."""
    devices = ClusterSpec.default(4).public_table()
    count = 400
    whole = np.tile([4.0, 1.0, 1.0, 1.0, 1.0], (count, 1))
    release = np.arange(count) / 3.0
    # At three tasks a second the CPU can take part in 1 / 0.84 / 3 = 40 % of them.
    helped = 1.0 / 0.84 / 3.0
    wanted = count * (helped * 0.84 + (1.0 - helped) * 1.0)
    assert 0.98 * wanted <= bound_of(release, whole, devices) <= wanted
    assert bound_of(release, whole, devices, SERIAL) == pytest.approx(count)


def test_wide_tasks_take_more_of_the_devices() -> None:
    """Each occupies both GPUs: they go one after the other."""
    whole, release = np.tile([1e6, 1.0, 1.0], (30, 1)), np.zeros(30)
    wide = response_bound(release, np.ones(30), whole, DEVICES, SERIAL, work=2.0 * whole)
    assert 0.95 * sum(range(1, 31)) <= wide <= sum(range(1, 31))


def test_a_quiet_time_does_not_hide_a_busy_one() -> None:
    """A window of batches at once and a long calm: together at least what both are by themselves."""
    rng = np.random.default_rng(2)
    busy, calm = np.zeros(WINDOW), 1e7 + 50.0 * np.arange(2 * WINDOW, dtype=np.float64)
    whole = rng.lognormal(0.0, 1.0, (3 * WINDOW, 1)) * np.array([3.0, 1.0, 1.0])
    release = np.concatenate([busy, calm])
    apart = bound_of(busy, whole[:WINDOW], DEVICES) + bound_of(calm, whole[WINDOW:], DEVICES)
    assert bound_of(release, whole, DEVICES) >= 0.99 * apart
