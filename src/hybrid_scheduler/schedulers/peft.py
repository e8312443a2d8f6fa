"""Predict earliest finish time."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import IntArray
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, put_earliest
from hybrid_scheduler.schedulers.graph_planner import GraphPlanner
from hybrid_scheduler.schedulers.task_graph import TaskGraph, by_priority, optimistic_cost


@nb.njit(cache=True)
def peft(graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
    """Plan the tasks by mean optimistic cost, each where its end and what follows at best are first."""
    table = optimistic_cost(graph, group)
    rank = np.empty(len(group))
    for k in range(len(group)):
        rank[k] = table[k][graph.times[group[k]] < np.inf].mean()
    for i in by_priority(graph, group, rank):
        put_earliest(graph, plan, i, table[graph.place[i]])


class PredictEarliestFinishTime(GraphPlanner):
    """Plans graphs on estimates: like HEFT, but looks ahead at what the rest would cost from each device on (PEFT).

    Arabnejad and Barbosa, "List scheduling algorithm for heterogeneous systems by an optimistic cost table", IEEE
    Trans. Parallel Distrib. Syst. 25 (2014). See `GraphPlanner` for how the plan is carried out.
    """

    rule = "PEFT"

    def plan_group(self, graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
        """See `peft`."""
        peft(graph, plan, group)
