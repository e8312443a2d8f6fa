"""Critical path on a processor."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, data_ready, earliest, put, put_earliest, seconds_on
from hybrid_scheduler.schedulers.graph_planner import GraphPlanner
from hybrid_scheduler.schedulers.task_graph import EQUAL, TaskGraph, by_priority, downward_rank, upward_rank


@nb.njit(cache=True)
def critical_path(graph: TaskGraph, group: IntArray, priority: FloatArray) -> IntArray:
    """Rows of a longest path of a group: from a first task on, again and again a child of the same priority."""
    k, path = int(priority.argmax()), [np.int64(0) for _ in range(0)]
    length, slack = priority[k], priority[k] * EQUAL
    for first in range(len(group)):  # parents come before children, so the first of the longest has no parent on it
        if priority[first] >= length - slack:
            k = first
            break
    while k >= 0:
        i = group[k]
        path.append(i)
        k = -1
        for e in range(graph.child_start[i], graph.child_start[i + 1]):
            child = graph.children[e]
            if graph.group[child] != graph.group[i] or priority[graph.place[child]] < length - slack:
                continue
            if k < 0 or graph.place[child] < k:
                k = graph.place[child]
    return np.array(path)


@nb.njit(cache=True)
def critical_device(graph: TaskGraph, path: IntArray) -> int:
    """The device that takes least for all tasks of a path, of those where as many of them as possible may go."""
    best, most, least = -1, -1, np.inf
    for d in range(graph.times.shape[1]):
        allowed, total = 0, 0.0
        for i in path:
            if graph.times[i, d] < np.inf:
                allowed, total = allowed + 1, total + graph.times[i, d]
        if allowed > most or (allowed == most and total < least):
            best, most, least = d, allowed, total
    return best


@nb.njit(cache=True)
def cpop(graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
    """Plan the tasks by the length of the longest path through them; one longest path stays on one device."""
    priority = upward_rank(graph, group) + downward_rank(graph, group)
    path = critical_path(graph, group, priority)
    device = critical_device(graph, path)
    critical, nothing = np.zeros(len(group), np.bool_), np.zeros(graph.times.shape[1])
    for i in path:
        critical[graph.place[i]] = graph.times[i, device] < np.inf
    for i in by_priority(graph, group, priority):
        if critical[graph.place[i]]:
            seconds = seconds_on(graph, plan, i, device)
            put(plan, i, device, earliest(plan, device, data_ready(graph, plan, i, device), seconds), seconds)
        else:
            put_earliest(graph, plan, i, nothing)


class CriticalPathOnProcessor(GraphPlanner):
    """Plans graphs on estimates: a critical path stays on the device that is best for it, the rest as HEFT (CPOP).

    Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing",
    IEEE Trans. Parallel Distrib. Syst. 13 (2002): tasks by upward plus downward rank. See `GraphPlanner` for how the
    plan is carried out.
    """

    rule = "CPOP"

    def plan_group(self, graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
        """See `cpop`."""
        cpop(graph, plan, group)
