"""What is known of task graphs before anybody schedules them: which tasks belong together, and their shortest times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.device_columns import MEMORY
from hybrid_scheduler.model.outcome import GraphFacts
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.bounds import earliest_finishes

if TYPE_CHECKING:
    from hybrid_scheduler.physics.world import TimedTasks


def graph_facts(timed: TimedTasks) -> GraphFacts:
    """The facts of these tasks, in a world where each takes its realised time."""
    tasks, alone = timed.tasks, _alone_seconds(timed)
    graph = graph_numbers(tasks.parent_start, tasks.parents)
    # The least time knows of splits, the time alone of data that need not move.
    least = np.minimum(timed.least_seconds(), alone.min(axis=1))
    path, _ = earliest_finishes(least, np.zeros(len(tasks)), tasks.parent_start, tasks.parents)
    return GraphFacts(graph, np.bincount(graph)[graph], path, alone)


def _alone_seconds(timed: TimedTasks) -> FloatArray:
    """Seconds of each task on each device if all ran there: nothing comes from elsewhere but a graph's first data."""
    tasks, world = timed.tasks, timed.world
    whole: FloatArray = timed.realised.sum(axis=1)
    if len(tasks.parent_mb):
        child = np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start))
        there = np.minimum(np.bincount(child, tasks.parent_mb, len(tasks)), tasks.memory_required)
        # Noise stretches a task as a whole.
        whole *= 1.0 - there[:, None] * world.resident_seconds() / timed.nominal.sum(axis=1)
    whole[tasks.memory_required[:, None] > world.cluster.public_table()[:, MEMORY]] = np.inf
    return whole


@nb.njit(cache=True)
def parents_first(missing: NDArray[Any], child_start: NDArray[Any], children: NDArray[Any]) -> NDArray[Any]:
    """Tasks, parents before children and otherwise in their order; those on a cycle are missing.

    Kahn's algorithm (CACM 5(11), 1962).

    Args:
        missing: How many parents each task has; used up.
        child_start: The children of task i are ``children[child_start[i]:child_start[i + 1]]``.
        children: Their positions.
    """
    order, known = np.empty_like(missing), 0
    for i in range(len(missing)):
        if missing[i] == 0:
            order[known] = i
            known += 1
    done = 0
    while done < known:
        i = order[done]
        done += 1
        for k in range(child_start[i], child_start[i + 1]):
            child = children[k]
            missing[child] -= 1
            if missing[child] == 0:
                order[known] = child
                known += 1
    return order[:known]


@nb.njit(cache=True)
def graph_numbers(parent_start: IntArray, parents: IntArray) -> IntArray:
    """For each task the number of its graph: tasks that dependencies join, in whatever direction.

    Disjoint sets with path halving (Tarjan and van Leeuwen, J. ACM 31(2), 1984).
    """
    count = len(parent_start) - 1
    root = np.arange(count)
    for task in range(count):
        for parent in parents[parent_start[task] : parent_start[task + 1]]:
            one, other = task, parent
            while root[one] != one:
                root[one] = root[root[one]]
                one = root[one]
            while root[other] != other:
                root[other] = root[root[other]]
                other = root[other]
            root[max(one, other)] = min(one, other)
    number, graphs = np.empty(count, np.int64), 0
    for task in range(count):
        if root[task] == task:
            number[task] = graphs
            graphs += 1
        else:  # the root comes before, and so has its number; those between lead there
            number[task] = number[root[task]]
    return number
