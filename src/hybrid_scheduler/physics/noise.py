"""Noise on durations: log-normal with mean 1, one draw per (seed, task, device).

Counter-based: the draw is a hash of the three numbers, so it is the same for every scheduler, every fraction and every
order of decisions, and needs no state (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, IntArray


@nb.njit(cache=True)
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): 64 bits in, 64 well-mixed bits out."""
    z = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@nb.njit(cache=True)
def uniform(seed: int | np.int64, counter: int | np.int64, stream: int) -> float:
    """A uniform number in [0, 1) that depends on nothing but its arguments."""
    bits = mix(mix(mix(np.uint64(seed)) ^ np.uint64(counter)) ^ np.uint64(stream))
    return (bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True)
def _factors(seed: int, task_id: IntArray, devices: int, sigma: float) -> FloatArray:
    result = np.empty((len(task_id), devices))
    for i in range(len(task_id)):
        for d in range(devices):
            u = 1.0 - uniform(seed, task_id[i], 2 * d)
            v = uniform(seed, task_id[i], 2 * d + 1)
            normal = math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)
            result[i, d] = math.exp(sigma * normal - 0.5 * sigma * sigma)
    return result


def noise_factors(seed: int, task_id: IntArray, devices: int, sigma: float) -> FloatArray:
    """Multiplicative factors, one row per task, one column per device; all 1 when `sigma` is 0."""
    if not (math.isfinite(sigma) and sigma >= 0):
        raise InvalidInputError(f"noise is {sigma}, but it must be a number, at least 0")
    if sigma == 0.0:
        return np.ones((len(task_id), devices))
    result: FloatArray = _factors(seed, task_id, devices, sigma)
    return result
