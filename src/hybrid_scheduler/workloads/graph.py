"""How deep and how wide the graph of dependencies is."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model import IntArray
from hybrid_scheduler.physics.graph_facts import parents_first

Positions = NDArray[np.int32]
"""Half the memory of the usual integers; there are never more tasks than they can count."""


@dataclass(frozen=True, slots=True)
class GraphShape:
    """How tasks depend on each other.

    Attributes:
        dependencies: Number of edges.
        depth: Tasks on the longest chain.
        width: Most tasks that have equally many tasks before them on their longest chain.
        roots: Tasks without a parent.
        megabytes: Data that all parents together hand to their children.
        mean_megabytes: The same for each dependency.
    """

    dependencies: int
    depth: int
    width: int
    roots: int
    megabytes: float = 0.0
    mean_megabytes: float = 0.0


def shape_of(child: IntArray, parent: IntArray, tasks: int, megabytes: float = 0.0) -> GraphShape | None:
    """The shape of a graph; None when it has a cycle.

    Args:
        child: Positions of tasks that wait.
        parent: Positions of the tasks they wait for, one edge each.
        tasks: How many tasks there are.
        megabytes: What all edges together move.
    """
    at_each = _levels(child.astype(np.int32), parent.astype(np.int32), tasks)
    if at_each.sum() < tasks:
        return None
    mean = megabytes / len(child) if len(child) else 0.0
    return GraphShape(len(child), len(at_each), int(at_each.max()), int(at_each[0]), megabytes, mean)


@nb.njit(cache=True)
def _levels(child: Positions, parent: Positions, tasks: int) -> IntArray:
    """How many tasks have a longest chain of 0, 1, 2, ... tasks before them, of those that no cycle holds up."""
    first, missing = np.zeros(tasks + 1, np.int32), np.zeros(tasks, np.int32)
    for edge in range(len(child)):
        first[parent[edge] + 1] += 1
        missing[child[edge]] += 1
    for task in range(tasks):
        first[task + 1] += first[task]
    at, children = first.copy(), np.empty(len(child), np.int32)
    for edge in range(len(child)):
        children[at[parent[edge]]] = child[edge]
        at[parent[edge]] += 1
    level, order = np.zeros(tasks, np.int32), parents_first(missing, first, children)
    for task in order:
        for one in children[first[task] : first[task + 1]]:
            level[one] = max(level[one], level[task] + 1)
    at_each = np.zeros(level.max() + 1, np.int64)
    for task in order:
        at_each[level[task]] += 1
    return at_each
