"""Sufferage: who would lose most without its best device gets it."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, first_to_finish


@nb.njit(cache=True)
def _two_best(seconds: FloatArray, free: FloatArray) -> tuple[int, int, float]:
    """The two devices that finish a task first, and how much later the second does; infinite where there is none."""
    best, second = first_to_finish(seconds, free), -1
    for d in range(len(free)):
        if d != best and (second < 0 or free[d] + seconds[d] < free[second] + seconds[second]):
            second = d
    if second < 0:
        return best, second, np.inf
    return best, second, free[second] + seconds[second] - (free[best] + seconds[best])


@nb.njit(cache=True)
def sufferage(times: FloatArray, ready: FloatArray) -> Mapping:
    """Again and again, map the task that would lose most on its second best device, to its best one."""
    count = len(times)
    free, order, device = ready.copy(), np.empty(count, np.int64), np.full(count, -1)
    best, second, loss = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    for i in range(count):
        best[i], second[i], loss[i] = _two_best(times[i], free)
    for k in range(count):
        chosen = -1
        for i in range(count):
            if device[i] < 0 and (chosen < 0 or loss[i] > loss[chosen]):
                chosen = i
        taken = best[chosen]
        order[k], device[chosen] = chosen, taken
        free[taken] += times[chosen, taken]
        for i in range(count):
            if device[i] < 0 and (best[i] == taken or second[i] == taken):
                best[i], second[i], loss[i] = _two_best(times[i], free)
    return order, device


class Sufferage(BatchScheduler):
    """Sufferage on estimates: a device goes to the waiting task that would lose most on its second best device.

    The heuristic of Maheswaran, Ali, Siegel, Hensgen and Freund, "Dynamic mapping of a class of independent tasks onto
    heterogeneous computing systems", J. Parallel Distrib. Comput. 59 (1999), one task at a time: of all tasks the one
    that would lose most. The rounds printed there, in which every device gets a task before they look again, are worse
    on the instances of Braun et al. (2001). See `BatchScheduler` for when tasks are mapped.
    """

    rule = "A device goes to the task that would lose most on its second best one"

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """See `sufferage`."""
        return sufferage(times, ready)
