"""Max-min: of the waiting tasks, the one that takes longest to be done goes first."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, first_to_finish


@nb.njit(cache=True)
def max_min(times: FloatArray, ready: FloatArray) -> Mapping:
    """Again and again, map the task whose earliest finish is the latest, to the device of that finish."""
    count = len(times)
    free, order, device = ready.copy(), np.empty(count, np.int64), np.full(count, -1)
    best = np.empty(count, np.int64)
    for i in range(count):
        best[i] = first_to_finish(times[i], free)
    for k in range(count):
        chosen, latest = -1, -np.inf
        for i in range(count):
            end = free[best[i]] + times[i, best[i]]
            if device[i] < 0 and end > latest:
                chosen, latest = i, end
        taken = best[chosen]
        order[k], device[chosen], free[taken] = chosen, taken, latest
        for i in range(count):
            if device[i] < 0 and best[i] == taken:
                best[i] = first_to_finish(times[i], free)
    return order, device


class MaxMin(BatchScheduler):
    """Max-min on estimates: of the waiting tasks the one that finishes last at best goes first, where that is soonest.

    Algorithm E of Ibarra and Kim, "Heuristic algorithms for scheduling independent tasks on nonidentical processors",
    J. ACM 24 (1977); called Max-min by Braun et al. (2001). See `BatchScheduler` for when tasks are mapped.
    """

    rule = "Of the tasks that wait, the one that finishes last at best goes first"

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """See `max_min`."""
        return max_min(times, ready)
