"""Heterogeneous earliest finish time."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import IntArray
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, put_earliest
from hybrid_scheduler.schedulers.graph_planner import GraphPlanner
from hybrid_scheduler.schedulers.task_graph import TaskGraph, by_priority, upward_rank


@nb.njit(cache=True)
def heft(graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
    """Plan the tasks by upward rank, each into the gap where it ends first."""
    nothing = np.zeros(graph.times.shape[1])
    for i in by_priority(graph, group, upward_rank(graph, group)):
        put_earliest(graph, plan, i, nothing)


class HeterogeneousEarliestFinishTime(GraphPlanner):
    """Plans graphs on estimates: the task with the longest way to the end first, where it finishes first (HEFT).

    Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing",
    IEEE Trans. Parallel Distrib. Syst. 13 (2002): tasks by upward rank, with insertion into gaps. See `GraphPlanner`
    for how the plan is carried out.
    """

    rule = "HEFT"

    def plan_group(self, graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
        """See `heft`."""
        heft(graph, plan, group)
