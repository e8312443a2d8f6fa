"""A plan for task graphs: where each task runs and when, and what is still free on every device."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.schedulers.task_graph import TaskGraph

NARROWEST = 1e-12
"""Gaps narrower than this, relative to the time at which they are, are rounding."""


class GraphPlan(NamedTuple):
    """Where each task of a graph runs and when; what is free on a device is a linked list of gaps.

    Attributes:
        device: Of each task; -1 before it is planned.
        begin: When it starts there.
        end: When it ends.
        free: When the last task of each device ends.
        head: The first gap of each device.
        low: Where each gap begins.
        high: Where it ends; the last gap of a device does not.
        next_gap: The gap after it; -1 after the last.
        gaps: One number: how many gaps there are in all.
    """

    device: IntArray
    begin: FloatArray
    end: FloatArray
    free: FloatArray
    head: IntArray
    low: FloatArray
    high: FloatArray
    next_gap: IntArray
    gaps: IntArray


def empty_plan(tasks: int, free: FloatArray) -> GraphPlan:
    """A plan without tasks for devices that are free from these times on."""
    devices = len(free)
    low, high = np.zeros(tasks + devices), np.full(tasks + devices, np.inf)
    low[:devices] = free
    return GraphPlan(
        np.full(tasks, -1, np.int64),
        np.zeros(tasks),
        np.zeros(tasks),
        free.copy(),
        np.arange(devices),
        low,
        high,
        np.full(tasks + devices, -1, np.int64),
        np.array([devices]),
    )


@nb.njit(cache=True)
def data_ready(graph: TaskGraph, plan: GraphPlan, task: int, device: int) -> float:
    """When a task is known and everything it needs has come to a device."""
    ready = graph.release[task]
    for e in range(graph.parent_start[task], graph.parent_start[task + 1]):
        parent = graph.parents[e]
        way = graph.parent_mb[e] * graph.links[plan.device[parent], device]
        ready = max(ready, plan.end[parent] + way)
    return ready  # type: ignore[no-any-return]


@nb.njit(cache=True)
def seconds_on(graph: TaskGraph, plan: GraphPlan, task: int, device: int) -> float:
    """Seconds of a task on a device, less what it saves by the data that parents have left there."""
    seconds = graph.times[task, device]
    if graph.saved[device] == 0.0:
        return seconds  # type: ignore[no-any-return]
    resident = 0.0
    for e in range(graph.parent_start[task], graph.parent_start[task + 1]):
        if plan.device[graph.parents[e]] == device:
            resident += graph.parent_mb[e]
    return max(seconds - min(resident, graph.memory[task]) * graph.saved[device], 0.0)  # type: ignore[no-any-return]


@nb.njit(cache=True)
def earliest(plan: GraphPlan, device: int, ready: float, seconds: float) -> float:
    """When a device first has so many seconds free from `ready` on: insertion (Topcuoglu et al. 2002)."""
    gap = plan.head[device]
    while plan.next_gap[gap] >= 0 and max(ready, plan.low[gap]) + seconds > plan.high[gap]:
        gap = plan.next_gap[gap]
    return max(ready, plan.low[gap])  # type: ignore[no-any-return]


@nb.njit(cache=True)
def put(plan: GraphPlan, task: int, device: int, begin: float, seconds: float) -> None:
    """Plan a task for a time that is free."""
    end = begin + seconds
    plan.device[task], plan.begin[task], plan.end[task] = device, begin, end
    plan.free[device] = max(plan.free[device], end)
    before, gap = -1, plan.head[device]
    while plan.next_gap[gap] >= 0 and end > plan.high[gap]:
        before, gap = gap, plan.next_gap[gap]
    narrow = NARROWEST * end
    if begin - plan.low[gap] <= narrow:
        plan.low[gap] = end
        if plan.high[gap] - end <= narrow:  # it is full; the last gap never is
            if before < 0:
                plan.head[device] = plan.next_gap[gap]
            else:
                plan.next_gap[before] = plan.next_gap[gap]
        return
    if plan.high[gap] - end > narrow:
        new = plan.gaps[0]
        plan.gaps[0] += 1
        plan.low[new], plan.high[new], plan.next_gap[new] = end, plan.high[gap], plan.next_gap[gap]
        plan.next_gap[gap] = new
    plan.high[gap] = begin


@nb.njit(cache=True)
def put_earliest(graph: TaskGraph, plan: GraphPlan, task: int, after: FloatArray) -> None:
    """Plan a task where it ends first, counting the seconds `after` its end on each device; the lowest of equals."""
    best, least, begins, takes = -1, np.inf, 0.0, 0.0
    for d in range(graph.times.shape[1]):
        if graph.times[task, d] == np.inf:
            continue
        seconds = seconds_on(graph, plan, task, d)
        begin = earliest(plan, d, data_ready(graph, plan, task, d), seconds)
        if begin + seconds + after[d] < least:
            best, least, begins, takes = d, begin + seconds + after[d], begin, seconds
    put(plan, task, best, begins, takes)


@nb.njit(cache=True)
def forget_gaps(plan: GraphPlan, now: float) -> None:
    """Drop the gaps that end before a moment from which on everything is planned."""
    for d in range(len(plan.head)):
        while plan.high[plan.head[d]] <= now:
            plan.head[d] = plan.next_gap[plan.head[d]]


@nb.njit(cache=True)
def keep(graph: TaskGraph, plan: GraphPlan, tasks: IntArray, device: IntArray, release: FloatArray) -> None:
    """Plan tasks that were planned before on the same devices and in the same order, at the times that are left."""
    for k in range(len(tasks)):
        i, d = tasks[k], device[k]
        begin = max(plan.free[d], max(release[i], data_ready(graph, plan, i, d)))
        put(plan, i, d, begin, seconds_on(graph, plan, i, d))
