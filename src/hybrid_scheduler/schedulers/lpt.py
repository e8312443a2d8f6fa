"""Longest processing time first."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, first_to_finish


@nb.njit(cache=True)
def lpt(times: FloatArray, ready: FloatArray) -> Mapping:
    """Map the tasks from the longest to the shortest, each to the device that finishes it first."""
    count = len(times)
    shortest = np.empty(count)
    for i in range(count):
        shortest[i] = times[i].min()
    order = np.argsort(-shortest, kind="mergesort")
    free, device = ready.copy(), np.empty(count, np.int64)
    for i in order:
        device[i] = first_to_finish(times[i], free)
        free[device[i]] += times[i, device[i]]
    return order, device


class LongestProcessingTime(BatchScheduler):
    """Longest processing time first on estimates: long waiting tasks go first, each where it finishes first.

    The LPT rule of Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969), which is for
    like devices; on unlike ones a task is as long as on its fastest device. See `BatchScheduler` for when tasks are
    mapped.
    """

    rule = "Of the tasks that wait, the longest goes first, where it finishes first"

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """See `lpt`."""
        return lpt(times, ready)
