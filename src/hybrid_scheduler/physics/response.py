"""A lower bound on the sum of response times that knows the load.

Every task alone on an idle node is a bound, but one that says nothing about waiting. Three relaxations know that a
device does one thing at a time. They hold for divided tasks too (``time(f) >= f * time(1)``), for any order, and for
schedulers that know the future. Throughout, a task is released when it can start at the earliest, T_id is its whole
time on device d, and a device that spends dt on it does at most dt / T_id of it.

*One fast machine* (`SRPT`). Let prices y_d add up to 1 and let p_i = min_d y_d T_id. A device that spends dt on task i
spends y_d dt >= p_i (dt / T_id) of an aggregate that all devices together make at rate 1. So every schedule turns into
a preemptive one of a single machine with works p_i and the same completion times, and no such schedule has a smaller
sum of completion times than shortest remaining time first (Schrage, Operations Research 16, 1968).

*Mean busy times* (`HALF`). Let x_i(t) be the rate of progress of task i and M_i the mean of t weighted with it. No task
goes on faster than 1 / b_i, b_i being its least time with a node to itself, so C_i >= M_i + b_i / 2. The works p_i
share the aggregate, and the sum of M_i is least when the smallest p_i that is there goes first, preemptively (Goemans,
Queyranne, Schulz, Skutella and Wang, SIAM J. Discrete Math. 15, 2002, for the single machine). Together: the sum of C_i
is at least that sum plus the halves of b_i.

*Prices of device seconds* (`PRICES`). Charge c_d >= 0 for every second of device d until H. Without the charges a
schedule pays at least what it pays with them, less what all seconds together cost: c_d (H - r) summed over devices, r
being the first release. With the charges every task decides by itself: it ends until H and pays its time and all its
device seconds, V_i = min over whole devices and divisions, or it ends after H and responds in H - r_i or more. So the
sum of responses is at least sum_i min(V_i, max(H - r_i, b_i)) - (H - r) sum_d c_d, for any prices: the Lagrangian
relaxation of the capacity. A division between g and c pays max(l_g, l_c) + c_g l_g + c_c l_c, where the parts take
l_g = f (1 + penalty) T_g and l_c likewise; that is convex and piecewise linear in f, so least at an end, where a whole
device is cheaper, or where both parts are equally long.

A bound for each of several groups of tasks is a bound for all of them, because each holds in every schedule. So the
tasks are also cut into windows of `WINDOW` releases, and each takes its best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np

from hybrid_scheduler.compiled import hot, inlined
from hybrid_scheduler.model.device_columns import GPU, KIND
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.fluid import classes, even_prices, merge_columns, sample_rows, solve_prices, take_columns

WINDOW = 4096
PRICE_SAMPLE = 2048
WINDOW_SAMPLE = 512
PRICE_STEPS = 80
WINDOW_STEPS = 20
FLUID_ACCURACY = 1e-3
MOST_PAIRS = 256
"""Pairs of unlike devices up to which divisions have their own place in `PRICES`; beyond, that bound is left out."""


@inlined
def _before(key: float, task: int, other_key: float, other_task: int) -> bool:
    return key < other_key or (key == other_key and task < other_task)


@hot
def _push(keys: FloatArray, tasks: IntArray, size: int, key: float, task: int) -> None:
    """Add a task to a heap of so many, least key first, of equals the lowest number."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if not _before(key, task, keys[up], tasks[up]):
            break
        keys[at], tasks[at] = keys[up], tasks[up]
        at = up
    keys[at], tasks[at] = key, task


@hot
def _drop_first(keys: FloatArray, tasks: IntArray, size: int) -> None:
    """Remove the first of so many."""
    size -= 1
    key, task, at = keys[size], tasks[size], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(keys[child + 1], tasks[child + 1], keys[child], tasks[child]):
            child += 1
        if not _before(keys[child], tasks[child], key, task):
            break
        keys[at], tasks[at] = keys[child], tasks[child]
        at = child
    keys[at], tasks[at] = key, task


@nb.njit(cache=True, nogil=True)
def _one_machine(work: FloatArray, release: FloatArray, remaining_first: bool) -> float:
    """Sum over tasks of completion (shortest remaining first) or mean busy time (shortest first), less the release.

    Args:
        work: What each task takes.
        release: When it can start, ascending.
        remaining_first: Who goes first is decided by what is left of a task, not by all of it.
    """
    count = len(work)
    left, keys, tasks = work.copy(), np.empty(count), np.empty(count, np.int64)
    size, now, following, total = 0, release[0], 0, 0.0
    while following < count or size > 0:
        if size == 0:
            i = following
            now = max(now, release[i])
            alone = i + 1 == count or (now < release[i + 1] and now + work[i] <= release[i + 1])
            if alone:  # nobody waits, and nobody comes before it ends
                total += 0.0 if remaining_first else now - release[i] + 0.5 * work[i]
                now += work[i]
                total += now - release[i] if remaining_first else 0.0
                following += 1
                continue
        while following < count and release[following] <= now:
            _push(keys, tasks, size, work[following], following)
            size += 1
            following += 1
        i = tasks[0]
        ends = following == count or now + left[i] <= release[following]
        spent = left[i] if ends else release[following] - now
        if not remaining_first:
            total += spent / work[i] * (now - release[i] + 0.5 * spent)
        now = now + spent if ends else release[following]
        left[i] -= spent
        if ends:
            _drop_first(keys, tasks, size)
            size -= 1
            if remaining_first:
                total += now - release[i]
        elif remaining_first:
            keys[0] = left[i]  # less than before: it stays the first
    return total


@nb.njit(cache=True, nogil=True)
def _charged(
    whole: FloatArray,
    work: FloatArray,
    pairs: IntArray,
    stretch: float,
    wait: FloatArray,
    prices: FloatArray,
    used: FloatArray,
) -> float:
    """Sum of what tasks pay that decide by themselves; adds their device seconds to `used`.

    Args:
        whole: Seconds of each task on each class of devices.
        work: Device seconds it takes there.
        pairs: Classes between which tasks may be divided, one pair a row.
        stretch: Factor on the times of the parts of a divided task.
        wait: What each pays at most: it ends after the prices do.
        prices: Of a second of each class.
        used: Seconds by class.
    """
    total = 0.0
    for i in range(len(whole)):
        least, at = wait[i], -1
        for d in range(whole.shape[1]):
            paid = whole[i, d] + prices[d] * work[i, d]
            if paid < least:
                least, at = paid, d
        for k in range(len(pairs)):
            g, c = pairs[k]
            share = whole[i, c] / (whole[i, g] + whole[i, c])
            both = prices[g] * share * work[i, g] + prices[c] * (1.0 - share) * work[i, c]
            paid = stretch * (share * whole[i, g] + both)
            if paid < least:
                least, at = paid, len(prices) + k
        total += least
        if at >= len(prices):
            g, c = pairs[at - len(prices)]
            share = whole[i, c] / (whole[i, g] + whole[i, c])
            used[g] += stretch * share * work[i, g]
            used[c] += stretch * (1.0 - share) * work[i, c]
        elif at >= 0:
            used[at] += work[i, at]
    return total


@nb.njit(cache=True, nogil=True)
def _best_prices(
    whole: FloatArray,
    work: FloatArray,
    pairs: IntArray,
    stretch: float,
    wait: FloatArray,
    seconds: FloatArray,
    start: FloatArray,
    steps: int,
) -> FloatArray:
    """Prices found by ascent along the supergradient (seconds used less seconds there), from `start`."""
    prices, best_prices, best = start.copy(), start.copy(), -np.inf
    used = np.empty(len(prices))
    for step in range(steps):
        used[:] = 0.0
        value = _charged(whole, work, pairs, stretch, wait, prices, used)
        for d in range(len(prices)):
            value -= prices[d] * seconds[d]
        if value > best:
            best = value
            best_prices[:] = prices
        for d in range(len(prices)):
            ascent = min(used[d] / seconds[d] - 1.0, 1.0)
            prices[d] = max(0.0, prices[d] + 0.4 / (1.0 + 0.2 * step) * ascent)
    return best_prices


def _least_paid(seconds: FloatArray, prices: FloatArray) -> FloatArray:
    """What each task pays on its cheapest device."""
    least = np.empty(len(seconds))
    _fill_least_paid(seconds, prices, least)
    return least


@nb.njit(cache=True, nogil=True)
def _fill_least_paid(seconds: FloatArray, prices: FloatArray, least: FloatArray) -> None:
    for i in range(len(seconds)):
        least[i] = prices[0] * seconds[i, 0]
        for d in range(1, len(prices)):
            least[i] = min(least[i], prices[d] * seconds[i, d])


@nb.njit(cache=True, nogil=True)
def _even_division(whole: FloatArray, g: int, c: int, stretch: float, least: FloatArray) -> None:
    """Take in what each task takes when both parts of a division are equally long."""
    for i in range(len(whole)):
        a, b = whole[i, g], whole[i, c]
        least[i] = min(least[i], stretch * a * (b / (a + b)))


@dataclass(frozen=True)
class _Devices:
    """The devices as the bounds see them: equal ones of a kind are one class."""

    whole: FloatArray
    work: FloatArray
    counts: FloatArray
    pairs: IntArray
    stretch: float

    @staticmethod
    def of(whole: FloatArray, work: FloatArray, devices: FloatArray, facts: FloatArray) -> _Devices:
        gpu = devices[:, KIND] == GPU
        label = classes(whole) * 2 + gpu
        _, first, counts = np.unique(label, return_index=True, return_counts=True)
        kinds = gpu[first]
        # A division one part after the other takes the mean of two whole times: it needs no place of its own.
        divided = facts[SPLIT] == 0.0
        pairs = [(g, c) for g in np.flatnonzero(kinds) for c in np.flatnonzero(~kinds)] if divided else []
        ones = np.ones_like(first)
        distinct = take_columns(whole, first, ones)
        return _Devices(
            distinct,
            distinct if work is whole else take_columns(work, first, ones),
            counts.astype(np.float64),
            np.array(pairs, dtype=np.int64).reshape(-1, 2),
            1.0 + float(facts[PENALTY]),
        )

    def rows(self, kept: slice) -> _Devices:
        return _Devices(self.whole[kept], self.work[kept], self.counts, self.pairs, self.stretch)

    def sample(self, size: int) -> _Devices:
        return _Devices(
            sample_rows(self.whole, size), sample_rows(self.work, size), self.counts, self.pairs, self.stretch
        )

    def least(self) -> FloatArray:
        """The reciprocal of each task's fastest progress."""
        least = _least_paid(self.whole, np.ones(len(self.counts)))
        for g, c in self.pairs:
            _even_division(self.whole, g, c, self.stretch, least)
        return least


def response_bound(
    release: FloatArray,
    seconds: FloatArray,
    whole: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    work: FloatArray | None = None,
    merged: FloatArray | None = None,
) -> float:
    """The sum over tasks of completion less release is at least this.

    Args:
        release: When each task can start at the earliest.
        seconds: The least time of each on an idle node.
        whole: Seconds of each whole task on each device, above 0; shape (tasks, devices).
        devices: The device table (`KIND`).
        facts: The public facts (`SPLIT`, `PENALTY`).
        work: Device seconds each whole task takes on each device; those of `whole` when it occupies one device.
        merged: What `merge_columns` makes of `work`, if somebody has asked already.
    """
    if len(release) == 0:
        return 0.0
    work = whole if work is None else work
    if (np.diff(release) < 0.0).any():
        order = np.argsort(release, kind="stable")
        release, seconds, whole, work = release[order], seconds[order], whole[order], work[order]
        merged = None
    if merged is None:
        merged = merge_columns(work)
    release = release - release[0]
    even = even_prices(merged)
    prices = solve_prices(sample_rows(merged), even, FLUID_ACCURACY)[0][:1]
    nodes = _Devices.of(whole, work, devices, facts)
    paid, half = _least_paid(merged, prices[0]), 0.5 * nodes.least()
    bound, charges = _group_bound(release, seconds, half, paid, nodes, np.zeros(len(nodes.counts)), PRICE_STEPS)
    bound = max(bound, _one_machine(paid, release, True))
    count = len(release)
    if count < 2 * WINDOW:
        other = _least_paid(merged, even[0])
        return max(bound, _one_machine(other, release, True), _one_machine(other, release, False) + float(half.sum()))
    total = 0.0
    for first in range(0, count, WINDOW):
        rows = slice(first, first + WINDOW)
        window = release[rows], seconds[rows], half[rows], paid[rows], nodes.rows(rows)
        total += _group_bound(*window, charges, WINDOW_STEPS)[0]
    return max(bound, total)


def _group_bound(
    release: FloatArray,
    seconds: FloatArray,
    half: FloatArray,
    work: FloatArray,
    nodes: _Devices,
    charges: FloatArray,
    steps: int,
) -> tuple[float, FloatArray]:
    """The best of idle node, `HALF` and `PRICES` for a group of tasks, and the prices of device seconds found."""
    bounds = [float(seconds.sum()), _one_machine(work, release, False) + float(half.sum())]
    if len(nodes.pairs) <= MOST_PAIRS:
        size = PRICE_SAMPLE if steps == PRICE_STEPS else WINDOW_SAMPLE
        # Who may wait until nothing costs anything would: the prices go on for a while after the last release.
        length = float(release[-1] - release[0] + 2.0 * seconds.mean())
        wait = np.maximum(release[0] + length - release, seconds)
        sampled, part = nodes.sample(size), min(1.0, size / len(release))
        few = sample_rows(wait[:, None], size)[:, 0]
        charges = _best_prices(
            sampled.whole,
            sampled.work,
            nodes.pairs,
            nodes.stretch,
            few,
            part * length * nodes.counts,
            charges,
            steps,
        )
        used = np.zeros(len(charges))
        paid = _charged(nodes.whole, nodes.work, nodes.pairs, nodes.stretch, wait, charges, used)
        bounds.append(paid - length * float(charges @ nodes.counts))
    return max(bounds), charges
