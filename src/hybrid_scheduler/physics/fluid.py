"""The fluid optimum: the least time in which divisible tasks can be worked off by unlike devices.

The linear program ``min C`` subject to ``sum_d x_id = 1`` and ``sum_i x_id T_id <= C`` is the one behind preemptive
scheduling on unrelated machines (Lawler and Labetoulle, J. ACM 25, 1978), less the rule that a task is in one place at
a time. Its dual has one price per device: by weak duality every ``y >= 0`` with ``sum_d y_d = 1`` gives the lower bound
``sum_i min_d y_d T_id``. Prices are found by column generation (Dantzig and Wolfe, Operations Research 8, 1960): each
set of prices sends every task to its cheapest device, the loads that result are a column, and a small game over the
columns gives the best mixture of assignments, an upper bound, and the next prices. The bounds meet at the optimum.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray

ACCURACY = 1e-5
"""Relative distance of the two bounds at which `fluid_makespan` stops."""
MAX_COLUMNS = 2000
MAX_CLASSES = 32
"""Unlike devices with a price of their own."""
SAMPLE = 4096
STABILITY = 0.85
"""Weight of the best prices so far in the next ones (smoothing after Wentges 1997); without it prices jump about: 52
columns instead of 15 for 5 unlike devices, 364 instead of 77 for 16."""
TINY = 1e-12


@nb.njit(cache=True, nogil=True)
def assign(whole: FloatArray, prices: FloatArray, loads: FloatArray) -> float:
    """Send every task to its cheapest device; fills `loads` (seconds per device), returns the prices paid."""
    loads[:] = 0.0
    paid = 0.0
    for i in range(len(whole)):
        cheapest, least = 0, prices[0] * whole[i, 0]
        for d in range(1, len(prices)):
            price = prices[d] * whole[i, d]
            if price < least:
                cheapest, least = d, price
        loads[cheapest] += whole[i, cheapest]
        paid += least
    return paid


@nb.njit(cache=True, nogil=True)
def _dot(a: FloatArray, b: FloatArray) -> float:
    """Numba's own products call SciPy's BLAS, and SciPy is no dependency of the product."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@nb.njit(cache=True, nogil=True)
def _enter(column: FloatArray, gain: float, basis: FloatArray, weights: FloatArray, gains: FloatArray) -> int:
    """One pivot: the column takes the place of a row, which is returned; -1 when numbers are too small to pivot on."""
    count = len(weights)
    row, ratio = -1, np.inf
    for r in range(count):
        if column[r] > TINY and weights[r] / column[r] < ratio:
            row, ratio = r, weights[r] / column[r]
    if row < 0:
        return -1
    for d in range(count):
        basis[row, d] /= column[row]
    weights[row], gains[row] = ratio, gain
    for r in range(count):
        if r != row:
            for d in range(count):
                basis[r, d] -= column[r] * basis[row, d]
            weights[r] = max(weights[r] - column[r] * ratio, 0.0)
    return row


@nb.njit(cache=True, nogil=True)
def _mix(
    pool: FloatArray,
    size: int,
    basis: FloatArray,
    weights: FloatArray,
    gains: FloatArray,
    members: IntArray,
    prices: FloatArray,
) -> None:
    """Solve the game over the first `size` columns by the simplex method; fills `prices`, not normalised.

    ``max sum_k w_k`` subject to ``sum_k w_k pool_kd <= 1``: the mixture w / sum(w) is the best one. The last basis
    (inverse, values, gains, which column stands in which row, -1 for a slack) is where it starts and what it leaves.
    """
    count = len(weights)
    column = np.empty(count)
    for _ in range(50 * count + 50):
        for d in range(count):
            prices[d] = _dot(gains, basis[:, d])
        enter, slack, best = -1, -1, TINY
        for k in range(size):
            gain = 1.0 - _dot(pool[k], prices)
            if gain > best:
                enter, best = k, gain
        for d in range(count):
            if -prices[d] > best:
                enter, slack, best = -1, d, -prices[d]
        if enter < 0 and slack < 0:
            break
        for r in range(count):
            column[r] = basis[r, slack] if slack >= 0 else _dot(basis[r], pool[enter])
        row = _enter(column, 0.0 if slack >= 0 else 1.0, basis, weights, gains)
        if row < 0:
            break
        members[row] = enter
    for d in range(count):
        prices[d] = max(prices[d], 0.0)


@nb.njit(cache=True, nogil=True)
def _mixture_makespan(pool: FloatArray, weights: FloatArray, members: IntArray) -> float:
    """The longest load when assignments are mixed by weight: worked out anew, so it certifies whatever happened."""
    longest, total = 0.0, 0.0
    for d in range(len(weights)):
        load, total = 0.0, 0.0
        for row in range(len(weights)):
            if members[row] >= 0:
                load += weights[row] * pool[members[row], d]
                total += weights[row]
        longest = max(longest, load)
    return longest / total if total > 0.0 else np.inf


@nb.njit(cache=True, nogil=True)
def solve_prices(whole: FloatArray, start: FloatArray, accuracy: float) -> tuple[FloatArray, float, float]:
    """Prices of the devices that (nearly) maximise the dual.

    Args:
        whole: Seconds of each whole task on each device, above 0.
        start: Sets of prices to begin with, one per row.
        accuracy: Relative distance of the bounds at which to stop.

    Returns:
        Sets of prices, the best in the first row, the others those of the final mixture (good to start a similar
        problem from); the lower bound of the best; the upper bound of the mixture.
    """
    count = whole.shape[1]
    pool, points = np.empty((MAX_COLUMNS, count)), np.empty((MAX_COLUMNS, count))
    basis, weights, gains = np.eye(count), np.ones(count), np.zeros(count)
    members = np.full(count, -1)
    prices, loads = np.empty(count), np.empty(count)
    lower, upper, best, unit, stability = 0.0, np.inf, 0, 1.0, STABILITY
    for k in range(MAX_COLUMNS):
        if k < len(start):
            for d in range(count):
                points[k, d] = start[k, d]
        paid = assign(whole, points[k], loads)
        if paid > lower:
            lower, best = paid, k
        if k == 0:
            unit = loads.max()  # The game is played in units of this, so that tolerances mean the same everywhere.
        for d in range(count):
            pool[k, d] = loads[d] / unit
        if k + 1 < len(start):
            continue
        _mix(pool, k + 1, basis, weights, gains, members, prices)
        upper = min(upper, unit * _mixture_makespan(pool, weights, members))
        total = prices.sum()
        if upper - lower <= accuracy * lower or total == 0.0 or k + 1 == MAX_COLUMNS:
            break
        entered = False
        for row in range(count):
            entered = entered or members[row] == k
        # A column that does not enter the mixture means that the step was too timid.
        stability = STABILITY if entered else 0.5 * stability
        for d in range(count):
            points[k + 1, d] = stability * points[best, d] + (1.0 - stability) * prices[d] / total
    result = np.empty((count + 1, count))
    size = 0
    for row in range(-1, count):
        source = best if row < 0 else members[row]
        if source >= 0:
            for d in range(count):
                result[size, d] = points[source, d]
            size += 1
    return result[:size], lower, upper


@nb.njit(cache=True, nogil=True)
def classes(whole: FloatArray) -> IntArray:
    """Number each device by its class: devices on which every task takes equally long are one class."""
    label = np.zeros(whole.shape[1], np.int64)
    found = 0
    for d in range(whole.shape[1]):
        label[d] = found
        for other in range(d):
            i = 0
            while i < len(whole) and whole[i, d] == whole[i, other]:
                i += 1
            if i == len(whole):
                label[d] = label[other]
                break
        if label[d] == found:
            found += 1
    return label


def take_columns(whole: FloatArray, columns: IntArray, divisors: IntArray) -> FloatArray:
    """Some of the columns, each divided by its divisor."""
    taken = np.empty((len(whole), len(columns)))
    _fill_columns(whole, columns, divisors, taken)
    return taken


@nb.njit(cache=True, nogil=True)
def _fill_columns(whole: FloatArray, columns: IntArray, divisors: IntArray, taken: FloatArray) -> None:
    for i in range(len(whole)):
        for k in range(len(columns)):
            taken[i, k] = whole[i, columns[k]] / divisors[k]


@nb.njit(cache=True, nogil=True)
def _column_sums(whole: FloatArray) -> FloatArray:
    sums = np.zeros(whole.shape[1])
    for i in range(len(whole)):
        for d in range(whole.shape[1]):
            sums[d] += whole[i, d]
    return sums


def merge_columns(whole: FloatArray) -> FloatArray:
    """Fewer columns, each for devices that share one price: a group is as fast as its devices together.

    Equal devices lose nothing by it, since the dual is concave and symmetric in them. More than `MAX_CLASSES` unlike
    ones are grouped by their mean time, each group as fast as its best device for the task at hand: still a valid
    bound, no longer the tightest.
    """
    label = classes(whole)
    first, size = np.unique(label, return_index=True)[1], np.bincount(label)
    if len(first) > MAX_CLASSES:
        distinct = whole[:, first]
        groups = np.array_split(np.argsort(distinct.mean(axis=0), kind="stable"), MAX_CLASSES)
        distinct = np.stack([distinct[:, group].min(axis=1) for group in groups], axis=1)
        size = np.array([size[group].sum() for group in groups])
        return np.ascontiguousarray(distinct / size)
    return take_columns(whole, first, size)


def even_prices(whole: FloatArray) -> FloatArray:
    """Prices (one row) that are exact when one device is a multiple of the other, and a fair start otherwise."""
    prices = 1.0 / _column_sums(whole)
    return (prices / prices.sum())[None]  # type: ignore[no-any-return]


def sample_rows(whole: FloatArray, size: int = SAMPLE) -> FloatArray:
    """At most `size` rows, evenly spaced."""
    if len(whole) <= size:
        return whole
    return whole[((np.arange(size) + 0.5) * (len(whole) / size)).astype(np.int64)]


def fluid_makespan(whole_times: FloatArray) -> float:
    """Seconds the devices need at least for all tasks, available at once and divisible at will.

    Args:
        whole_times: Seconds of each whole task on each device, above 0; shape (tasks, devices).

    Returns:
        A lower bound on the optimum. Up to `MAX_CLASSES` unlike devices it is at most `ACCURACY` (relative) below it,
        which a mixture of assignments certifies.
    """
    if len(whole_times) == 0:
        return 0.0
    whole = merge_columns(whole_times)
    start, size = even_prices(whole), SAMPLE
    while size < len(whole):
        start = solve_prices(sample_rows(whole, size), start, ACCURACY)[0]
        size *= 16
    return float(solve_prices(whole, start, ACCURACY)[1])
