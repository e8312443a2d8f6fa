"""Local search for the least makespan of independent tasks on unlike devices, compiled.

Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983) over three changes: a task moves to another
device; it changes places with a task there; or it pushes a task there on to a third device, an ejection chain of two
(Glover, Discrete Applied Mathematics 65, 1996). The makespan itself is flat nearly everywhere, so the search goes by
the prices y of the fluid optimum (`physics.fluid`). They say what a task costs above its cheapest device, its reduced
cost ``y_d T_id - min_e y_e T_ie``, and for every mapping

    makespan = fluid optimum + sum of reduced costs + sum_d y_d (makespan - load_d).

Its energy is the sum of reduced costs plus a quadratic charge, at the same prices, for loads away from the optimum.
Changes prefer devices of small reduced cost. The mapping with the least makespan on the way is what it returns.
"""

from __future__ import annotations

import math
from time import monotonic
from typing import NamedTuple

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.fluid import ACCURACY, even_prices, solve_prices
from hybrid_scheduler.physics.noise import mix
from hybrid_scheduler.schedulers.batch import makespan

COLD = 0.005
"""Temperature at the end, in units of the fluid optimum over the number of tasks."""
AGAIN = 0.1
"""Temperature at which later cycles begin, as a share of that of the first."""
CYCLE = 20_000
"""Steps for each task from hot to cold; longer searches begin again from the best mapping so far."""
SLICE = 4_000_000
"""Steps between two looks at the clock."""
LEAST_PRICE = 0.01
"""Of a device, in units of the mean price: one that is busy for longer than the optimum has none."""
UNREACHABLE = 1e3
"""Where a task may not go it takes so many times the longest time, which keeps the fluid optimum a bound."""
NEAR = 1024
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Step of the counter of SplitMix64, whose finaliser `mix` makes it random numbers."""


class Problem(NamedTuple):
    """Tasks to map, and what guides the search.

    Attributes:
        times: Seconds of each task on each device, infinite where it may not go.
        ready: In how many seconds each device is free.
        prices: Of a second on each device; they add up to 1.
        reduced: Reduced cost of each task on each device.
        ranked: The devices of each task, from the least reduced cost to the largest.
        optimum: The fluid optimum.
        charge: For a squared second of a load away from the optimum, on each device.
        bound: No mapping has a lesser makespan.
    """

    times: FloatArray
    ready: FloatArray
    prices: FloatArray
    reduced: FloatArray
    ranked: IntArray
    optimum: float
    charge: FloatArray
    bound: float


def posed(times: FloatArray, ready: FloatArray) -> Problem:
    """The problem with its prices; work that is queued already counts as tasks that are bound to their devices."""
    far = UNREACHABLE * max(float(times[np.isfinite(times)].max()), float(ready.max()))
    bound_work = np.where(np.diag(ready > 0.0), np.diag(ready), far)[ready > 0.0]
    whole = np.concatenate([np.where(np.isfinite(times), times, far), bound_work])
    found, optimum, _ = solve_prices(whole, even_prices(whole), ACCURACY)
    prices = np.maximum(found[0], LEAST_PRICE * found[0].mean())
    prices /= prices.sum()
    paid = prices * times
    reduced = paid - paid.min(axis=1, keepdims=True)
    ranked = np.argsort(reduced, axis=1, kind="stable")
    charge = prices * (len(times) / (2.0 * len(ready) * optimum))
    bound = max(optimum, float((ready + times).min(axis=1).max()), float(ready.max()))
    return Problem(times, ready.copy(), prices, reduced, ranked, optimum, charge, bound)


def improve(problem: Problem, start: IntArray, steps: int, deadline: float, seed: int) -> IntArray:
    """Search from a mapping; the devices of the best one found, which is never worse than the start.

    Args:
        problem: What to map.
        start: The device of each task.
        steps: Steps in all.
        deadline: Stop when `time.monotonic` is past this.
        seed: The same gives the same, unless the deadline passes.
    """
    device, best = start.copy(), start.copy()
    least = makespan(problem.times, problem.ready, start)
    cold, cycle, done = COLD * problem.optimum / len(start), CYCLE * len(start), 0
    # Hot enough at first for the longest task to move.
    hottest = max(float((problem.charge * problem.times**2).min(axis=1).max()), 1.0 / AGAIN * cold)
    while done < steps and least > problem.bound:
        hot = hottest if done == 0 else AGAIN * hottest
        length, at = min(cycle, steps - done), 0
        device[:] = best
        while at < length and least > problem.bound and monotonic() < deadline:
            count = min(SLICE, length - at)
            first, last = (hot * (cold / hot) ** (step / length) for step in (at, at + count))
            least = _anneal(problem, device, best, least, first, last, count, seed % 2**62 + done + at)
            at += count
        if at < length:
            break
        done += length
    return best


@nb.njit(cache=True)
def _below(bits: np.uint64, shift: int, limit: int) -> int:
    """A number from 0 to `limit` - 1, from 24 of the bits."""
    drawn = (bits >> np.uint64(shift)) & np.uint64(0xFFFFFF)
    return np.int64((drawn * np.uint64(limit)) >> np.uint64(24))  # type: ignore[return-value]


@nb.njit(cache=True)
def _transfer(members: IntArray, size: IntArray, place: IntArray, device: IntArray, task: int, to: int) -> None:
    """Take a task from the members of its device and put it behind those of another."""
    old = device[task]
    size[old] -= 1
    last = members[old, size[old]]
    members[old, place[task]], place[last] = last, place[task]
    members[to, size[to]], place[task] = task, size[to]
    size[to] += 1
    device[task] = to


@nb.njit(nogil=True, cache=True)
def _anneal(
    problem: Problem,
    device: IntArray,
    best: IntArray,
    least: float,
    hot: float,
    cold: float,
    steps: int,
    seed: int,
) -> float:
    """Anneal `device` from hot to cold; notes the best mapping in `best` and returns its makespan, or `least`."""
    times, ready, _, reduced, ranked, optimum, charge, bound = problem
    count, devices = times.shape
    members, place = np.empty((devices, count), np.int64), np.empty(count, np.int64)
    load, size = ready.copy(), np.zeros(devices, np.int64)
    for i in range(count):
        d = device[i]
        load[d] += times[i, d]
        members[d, size[d]], place[i] = i, size[d]
        size[d] += 1
    near = np.empty(NEAR, np.int64)
    for k in range(NEAR):
        near[k] = int(devices * (k / NEAR) ** 2)
    temperature, cooling = hot, (cold / hot) ** (1.0 / steps)
    state = mix(np.uint64(seed))
    for _ in range(steps):
        temperature *= cooling
        state += GOLDEN
        bits = mix(state)
        i = _below(bits, 40, count)
        x, y = device[i], ranked[i, near[_below(bits, 14, NEAR)]]
        if x == y:
            continue
        load_x, load_y, load_z = load[x] - times[i, x], load[y] + times[i, y], 0.0
        energy = reduced[i, y] - reduced[i, x]
        j, z = -1, x
        if bits & np.uint64(7) != 0 and size[y] > 0:
            state += GOLDEN
            bits = mix(state)
            j = members[y, _below(bits, 40, size[y])]
            if bits & np.uint64(1) != 0:
                z = ranked[j, near[_below(bits, 14, NEAR)]]
            if z == y:
                continue
            energy += reduced[j, z] - reduced[j, y]
            load_y -= times[j, y]
            if z == x:
                load_x += times[j, x]
            else:
                load_z = load[z] + times[j, z]
                energy += charge[z] * ((load_z - optimum) ** 2 - (load[z] - optimum) ** 2)
        energy += charge[x] * ((load_x - optimum) ** 2 - (load[x] - optimum) ** 2)
        energy += charge[y] * ((load_y - optimum) ** 2 - (load[y] - optimum) ** 2)
        if energy > 0.0:
            if energy > 8.0 * temperature:
                continue
            state += GOLDEN
            if (mix(state) >> np.uint64(11)) * 2.0**-53 >= math.exp(-energy / temperature):
                continue
        _transfer(members, size, place, device, i, y)
        if j >= 0:
            _transfer(members, size, place, device, j, z)
            if z != x:
                load[z] = load_z
        load[x], load[y] = load_x, load_y
        if load_x < least and load_y < least and load_z < least:
            longest = load.max()
            if longest < least:
                least = longest
                best[:] = device
                if least <= bound:
                    break
    return least
