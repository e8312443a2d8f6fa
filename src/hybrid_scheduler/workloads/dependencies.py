"""Random parents for synthetic tasks: always earlier ones, so that no cycle can arise."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.model import IntArray
from hybrid_scheduler.workloads.streams import Streams

WINDOW = 100
"""A parent is at most this many tasks back."""


def draw_parents(streams: Streams, first: int, count: int, probability: float, most: int) -> tuple[IntArray, IntArray]:
    """Parents of the next tasks.

    With the given probability a task has 1 to `most` parents (as many as there are, near the start), distinct and
    uniform among the tasks up to `WINDOW` before it.

    Args:
        streams: Where random numbers come from.
        first: Number of the first task.
        count: How many tasks.
        probability: That a task has parents.
        most: The largest number of parents.

    Returns:
        How many parents each task has, and their numbers, task after task, ascending.
    """
    chosen = np.flatnonzero(streams.of("has parents").random(count) < probability)
    tasks = first + chosen
    window = np.minimum(tasks, WINDOW)
    wanted = 1 + (most * streams.of("number of parents").random(len(tasks))).astype(np.int64)
    wanted = np.minimum(wanted, window)
    lots = streams.of("parents").random((len(tasks), most))
    # Floyd's sampling without replacement (Bentley, CACM 30(9), 1987), for all tasks at once. The task's own number
    # stands for "none": it is above every parent's, so sorting moves it to the end of the row.
    picks = np.repeat(tasks[:, None], most, axis=1)
    for j in range(most):
        last = window - wanted + j
        pick = tasks - 1 - (lots[:, j] * (last + 1)).astype(np.int64)
        taken = (picks[:, :j] == pick[:, None]).any(axis=1)
        picks[:, j] = np.where(j < wanted, np.where(taken, tasks - 1 - last, pick), tasks)
    picks.sort(axis=1)
    real = picks < tasks[:, None]
    counts = np.zeros(count, dtype=np.int64)
    counts[chosen] = real.sum(axis=1)
    return counts, picks[real]
