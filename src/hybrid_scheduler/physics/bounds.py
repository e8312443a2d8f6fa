"""Lower bounds: what no scheduler can beat, for the tasks it finished and the durations they really had.

They hold for every cost model with ``time(f) >= f * time(1)``, either split model, any noise, memory policy and node:
the fluid bound only uses that the shares of a task add up to 1 and that a device does one second of work a second, the
path only that a task takes at least its best time on an idle node, after its arrival and after its parents. For the
response see `physics.response`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.fluid import (
    ACCURACY,
    even_prices,
    fluid_makespan,
    merge_columns,
    sample_rows,
    solve_prices,
)
from hybrid_scheduler.physics.optimum import least_seconds
from hybrid_scheduler.physics.response import response_bound

__all__ = ["LowerBound", "fluid_bound", "fluid_makespan", "lower_bound"]

EPSILON = float(np.finfo(np.float64).eps)
ALLOWANCE = 3e-9
"""Relative allowance: a sum over ten million tasks rounds by about as much."""
SCAN_ACCURACY = 1e-3
REFINEMENTS = 2
FINE_SAMPLE = 65_536


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No schedule of these tasks has a smaller makespan or mean response time, in seconds."""

    makespan: float
    avg_response: float


@nb.njit(cache=True, nogil=True)
def _best_suffix(
    whole: FloatArray, arrival: FloatArray, origin: float, prices: FloatArray, first: int
) -> tuple[float, int]:
    """The best bound these prices give over all suffixes that start at `first` or later, and where that one starts."""
    paid, earliest, best, at = 0.0, np.inf, 0.0, len(whole) - 1
    for i in range(len(whole) - 1, first - 1, -1):
        least = prices[0] * whole[i, 0]
        for d in range(1, len(prices)):
            least = min(least, prices[d] * whole[i, d])
        paid += least
        earliest = min(earliest, arrival[i])
        if earliest - origin + paid > best:
            best, at = earliest - origin + paid, i
    return best, at


def fluid_bound(whole_times: FloatArray, arrival: FloatArray) -> float:
    """Fluid bound on the makespan with arrivals, the best over every suffix of arrivals.

    The tasks from k on cannot start before the k-th arrival, so by weak duality (see `physics.fluid`) the makespan is
    at least ``a_k - a_0 + sum_{i >= k} min_d y_d T_id`` for any prices y. Prices are made for suffixes of 1, 2, 4, ...
    tasks and for all tasks (on a sample when there are many), each tried on the suffixes of up to four times that
    length; then they are made again for the suffix that came out best. Measured: within 4e-4 of the optimum for a
    million tasks with noise on 5 or 17 devices, 1e-5 where no sample is needed.

    Args:
        whole_times: Seconds of each whole task on each device, above 0; shape (tasks, devices).
        arrival: Arrival of each task, ascending.
    """
    return 0.0 if len(arrival) == 0 else _suffix_bound(merge_columns(whole_times), arrival)


def _suffix_bound(whole: FloatArray, arrival: FloatArray) -> float:
    """`fluid_bound` of at least one task, for devices that are merged already."""
    count, origin = len(arrival), float(arrival.min())
    start = even_prices(whole)
    best, at = 0.0, 0
    lengths = [2**j for j in range(count.bit_length()) if 2**j < count] + [count]
    for length in lengths:
        start = solve_prices(sample_rows(whole[count - length :]), start, SCAN_ACCURACY)[0]
        value, position = _best_suffix(whole, arrival, origin, start[0], max(0, count - 4 * length))
        if value > best:
            best, at = value, position
    for _ in range(REFINEMENTS):
        start = solve_prices(sample_rows(whole[at:], FINE_SAMPLE), start, ACCURACY)[0]
        value, position = _best_suffix(whole, arrival, origin, start[0], 0)
        if value <= best * (1.0 + ACCURACY):
            return max(best, value)
        best, at = value, position
    return best


@nb.njit(cache=True, nogil=True)
def earliest_finishes(
    seconds: FloatArray, arrival: FloatArray, parent_start: IntArray, parents: IntArray
) -> tuple[FloatArray, int]:
    """Earliest finish of every task, parents first wherever they stand, and the length of the longest chain."""
    count = len(arrival)
    finish, depth = np.empty(count), np.zeros(count, np.int64)
    pending, stack = parent_start[:-1].copy(), np.empty(count, np.int64)
    for root in range(count):
        stack[0] = root
        height = 0 if depth[root] > 0 else 1
        while height > 0:
            i = stack[height - 1]
            while pending[i] < parent_start[i + 1] and (parents[pending[i]] < 0 or depth[parents[pending[i]]] > 0):
                pending[i] += 1
            if pending[i] < parent_start[i + 1]:
                stack[height] = parents[pending[i]]
                height += 1
                continue
            ready, longest = arrival[i], 0
            for parent in parents[parent_start[i] : parent_start[i + 1]]:
                if parent >= 0:
                    ready, longest = max(ready, finish[parent]), max(longest, depth[parent])
            finish[i], depth[i] = ready + seconds[i], longest + 1
            height -= 1
    return finish, depth.max()


def _allow(bound: float, additions: int, latest: float) -> float:
    """Take off what rounding may have taken off a schedule: an addition rounds by half a unit of the latest time."""
    return max(0.0, bound * (1.0 - ALLOWANCE) - additions * EPSILON * latest)


def lower_bound(
    times: FloatArray,
    memory: FloatArray,
    arrival: FloatArray,
    parent_start: IntArray,
    parents: IntArray,
    devices: FloatArray,
    facts: FloatArray,
    best_speed: FloatArray,
    isolated: bool = False,
    width: IntArray | None = None,
    least: FloatArray | None = None,
) -> LowerBound:
    """Bounds for a set of tasks.

    Makespan: the larger of fluid bound and critical path. Mean response: the larger of each task's earliest finish and
    what the load allows (`response_bound`), where a task can start when its parents can have ended.

    A bound is never above what a schedule reached by accident of rounding: `ALLOWANCE` of it is taken off, and a
    rounding unit of the latest time for every addition on the way (one per task for the makespan, one per task of the
    longest chain for the earliest finishes), which matters only when the clock does not start near 0.

    Args:
        times: Realised `FIXED` and `SHARED` seconds of the tasks, shape (tasks, 2, devices).
        memory: Megabytes of each task.
        arrival: Arrival of each task, ascending.
        parent_start: The parents of task i are ``parents[parent_start[i]:parent_start[i + 1]]``.
        parents: Positions among these tasks, in any order; a negative one is passed over (a parent not counted here).
        devices: The device table of the idle, undisturbed node (`ClusterSpec.public_table`).
        facts: The public facts (`SPLIT`, `PENALTY`).
        best_speed: For each device the largest factor on its speed that disturbances ever give.
        isolated: Every task meets an idle node: the next arrives when the last has ended.
        width: How many devices each task occupies together; none or empty: one each. A gang takes its time on each of
            them.
        least: `least_seconds` of the tasks at these times, if somebody has asked already.
    """
    if len(arrival) == 0:
        return LowerBound(0.0, 0.0)
    changed = (best_speed != 1.0).any()
    if changed:
        times = times / best_speed
    if least is None or changed:
        least = least_seconds(times, memory, devices, facts, width)
    whole = work = times[:, FIXED] + times[:, SHARED]
    if width is not None and len(width):
        work = whole * width[:, None]
    if isolated:
        total = float(least.sum())
        latest = float(arrival[0]) + total
        return LowerBound(_allow(total, len(arrival) + 4, latest), _allow(total / len(arrival), 4, latest))
    finish, chain = arrival + least, 1
    if len(parents):
        finish, chain = earliest_finishes(least, arrival, parent_start, parents)
    path = float(finish.max() - arrival.min())
    merged = merge_columns(work)
    makespan = max(path, _suffix_bound(merged, arrival))
    latest = float(arrival.max()) + makespan
    alone = float((finish - arrival).mean())
    release = finish - least
    late = response_bound(release, least, whole, devices, facts, work, merged)
    loaded = (late + float((release - arrival).sum())) / len(arrival)
    response = max(_allow(alone, chain + 4, latest), _allow(loaded, len(arrival) + chain + 4, latest))
    return LowerBound(_allow(makespan, len(arrival) + 4, latest), response)
