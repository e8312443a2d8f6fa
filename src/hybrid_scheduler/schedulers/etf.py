"""Earliest task first."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, data_ready, put, seconds_on
from hybrid_scheduler.schedulers.graph_planner import GraphPlanner
from hybrid_scheduler.schedulers.task_graph import TaskGraph, upward_rank


@nb.njit(cache=True)
def _choose(
    plan: GraphPlan, begins: FloatArray, takes: FloatArray, open_rows: IntArray, count: int, level: FloatArray
) -> tuple[int, int]:
    """Which of the open tasks starts first of all, and where; of equals the one of highest level, then first done."""
    best, device, first, highest, done = -1, -1, np.inf, 0.0, np.inf
    for n in range(count):
        k = open_rows[n]
        for d in range(begins.shape[1]):
            if takes[k, d] == np.inf:
                continue
            begin = max(begins[k, d], plan.free[d])
            if begin > first:
                continue
            end = begin + takes[k, d]
            if begin < first or level[k] > highest or (level[k] == highest and end < done):
                best, device, first, highest, done = n, d, begin, level[k], end
    return best, device


@nb.njit(cache=True)
def etf(graph: TaskGraph, plan: GraphPlan, group: IntArray, level: FloatArray) -> None:
    """Again and again, plan the task that can start first of those whose parents are planned, where it can."""
    count, devices = len(group), graph.times.shape[1]
    begins, takes = np.empty((count, devices)), np.empty((count, devices))
    missing, open_rows, size = np.zeros(count, np.int64), np.empty(count, np.int64), 0
    for k in range(count):
        i = group[k]
        for e in range(graph.parent_start[i], graph.parent_start[i + 1]):
            missing[k] += graph.group[graph.parents[e]] == graph.group[i]
        if missing[k] == 0:
            size = _opened(graph, plan, i, begins, takes, open_rows, size)
    for _ in range(count):
        n, d = _choose(plan, begins, takes, open_rows, size, level)
        k = open_rows[n]
        i = group[k]
        put(plan, i, d, max(begins[k, d], plan.free[d]), takes[k, d])
        size -= 1
        open_rows[n] = open_rows[size]
        for e in range(graph.child_start[i], graph.child_start[i + 1]):
            child = graph.children[e]
            if graph.group[child] == graph.group[i]:
                missing[graph.place[child]] -= 1
                if missing[graph.place[child]] == 0:
                    size = _opened(graph, plan, child, begins, takes, open_rows, size)


@nb.njit(cache=True)
def _opened(
    graph: TaskGraph,
    plan: GraphPlan,
    task: int,
    begins: FloatArray,
    takes: FloatArray,
    open_rows: IntArray,
    size: int,
) -> int:
    k = graph.place[task]
    for d in range(graph.times.shape[1]):
        takes[k, d] = seconds_on(graph, plan, task, d)
        begins[k, d] = data_ready(graph, plan, task, d)
    open_rows[size] = k
    return size + 1


class EarliestTaskFirst(GraphPlanner):
    """Plans graphs on estimates: again and again the task that can start first, on the device where it can (ETF).

    Hwang, Chow, Anger and Lee, "Scheduling precedence graphs in systems with interprocessor communication times", SIAM
    J. Comput. 18 (1989), which is for like devices. Of several that can start at the same moment the one with the
    longest way to the end goes first, without the data's way, and on unlike devices where it is done first. See
    `GraphPlanner` for how the plan is carried out.
    """

    rule = "ETF"

    def plan_group(self, graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
        """See `etf`."""
        etf(graph, plan, group, upward_rank(graph._replace(mean_link=0.0), group))
