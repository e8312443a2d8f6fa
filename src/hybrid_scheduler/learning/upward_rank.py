"""How critical the tasks of a graph are: their upward ranks, relative to the graph they belong to."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray


@nb.njit(cache=True)
def upward_ranks(parent_start: IntArray, parents: IntArray, seconds: FloatArray) -> FloatArray:
    """The upward rank of every task over the largest of its graph, above 0 to 1; 0 for tasks that are in no graph.

    The upward rank is the work on the longest chain from a task to the end of its graph, its own included (Topcuoglu,
    Hariri and Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing", 2002,
    equation 6, here without the data between tasks). A graph is a connected component.

    Args:
        parent_start: Where the parents of each task begin in `parents`, and one more for the end.
        parents: Positions of parents; the edges form no cycle.
        seconds: The work of each task, above 0.
    """
    n = len(seconds)
    children, graph = np.zeros(n, np.int64), np.arange(n)
    for task in range(n):
        for edge in range(parent_start[task], parent_start[task + 1]):
            children[parents[edge]] += 1
            a, b = _root(graph, task), _root(graph, parents[edge])
            graph[max(a, b)] = min(a, b)
    alone = np.zeros(n, np.bool_)
    order, count = np.empty(n, np.int64), 0
    for task in range(n):
        alone[task] = children[task] == 0 and parent_start[task] == parent_start[task + 1]
        if children[task] == 0:
            order[count] = task
            count += 1
    ranks, longest, at = seconds.copy(), np.zeros(n), 0
    below = np.zeros(n)
    while at < count:
        task = order[at]
        at += 1
        ranks[task] = seconds[task] + below[task]
        root = _root(graph, task)
        longest[root] = max(longest[root], ranks[task])
        for edge in range(parent_start[task], parent_start[task + 1]):
            parent = parents[edge]
            below[parent] = max(below[parent], ranks[task])
            children[parent] -= 1
            if children[parent] == 0:
                order[count] = parent
                count += 1
    for task in range(n):
        ranks[task] = 0.0 if alone[task] else ranks[task] / longest[_root(graph, task)]
    return ranks


@nb.njit(cache=True)
def _root(graph: IntArray, task: int) -> int:
    """The first task of the graph that a task is in; paths are halved on the way."""
    while graph[task] != task:
        graph[task] = graph[graph[task]]
        task = graph[task]
    return task
