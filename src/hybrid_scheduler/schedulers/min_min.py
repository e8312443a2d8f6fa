"""Min-min: of the waiting tasks, the one that can be done soonest goes first."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping


@nb.njit(cache=True)
def min_min(times: FloatArray, ready: FloatArray) -> Mapping:
    """Again and again, map the task that would finish first, of all tasks on all devices.

    On each device that is the shortest task left, so every device has its tasks in order of length: n log n steps and
    not n².
    """
    count, devices = times.shape
    shortest, at = np.empty((devices, count), np.int64), np.zeros(devices, np.int64)
    for d in range(devices):
        shortest[d] = np.argsort(times[:, d].copy(), kind="mergesort")
    free, order, device = ready.copy(), np.empty(count, np.int64), np.full(count, -1)
    for k in range(count):
        best, least = -1, np.inf
        for d in range(devices):
            while device[shortest[d, at[d]]] >= 0:
                at[d] += 1
            end = free[d] + times[shortest[d, at[d]], d]
            if end < least:
                best, least = d, end
        order[k] = shortest[best, at[best]]
        device[order[k]], free[best] = best, least
    return order, device


class MinMin(BatchScheduler):
    """Min-min on estimates: of the waiting tasks the one that can finish first goes first, where it finishes first.

    Algorithm D of Ibarra and Kim, "Heuristic algorithms for scheduling independent tasks on nonidentical processors",
    J. ACM 24 (1977); called Min-min by Braun et al. (2001). See `BatchScheduler` for when tasks are mapped.
    """

    rule = "Of the tasks that wait, the one that can finish first goes first"

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """See `min_min`."""
        return min_min(times, ready)
