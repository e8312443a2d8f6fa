"""The hybrid of ranks and balanced minimum completion time."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, data_ready, put, seconds_on
from hybrid_scheduler.schedulers.graph_planner import GraphPlanner
from hybrid_scheduler.schedulers.task_graph import TaskGraph, by_priority, upward_rank

WORTH = 1e-9
"""A move must gain more than this part of the time it shortens, so that rounding cannot keep the search going."""


@nb.njit(cache=True)
def independent(graph: TaskGraph, order: IntArray) -> IntArray:
    """Where each set of independent tasks begins in a list with parents before children; behind it, the list's length.

    A task that depends on one of the present set begins the next. Only parents need to be looked at: a grandparent in
    the set would have a child in the set.
    """
    starts, member = [0], np.full(len(order), -1)
    for n in range(len(order)):
        i = order[n]
        for e in range(graph.parent_start[i], graph.parent_start[i + 1]):
            parent = graph.parents[e]
            if graph.group[parent] == graph.group[i] and member[graph.place[parent]] == len(starts):
                starts.append(n)
                break
        member[graph.place[i]] = len(starts)
    starts.append(len(order))
    return np.array(starts)


class Queues(NamedTuple):
    """A set of independent tasks on devices, each in the order in which its data is there; one row for each device.

    What a queue would do with one task more or less follows from three sums at each place, without going through it.

    Attributes:
        tasks: Places of the tasks in the set.
        size: How many there are on each device.
        before: The end of those before each place.
        after: The seconds of those from it on.
        alone: The end of those from it on if the device were free all the time.
    """

    tasks: IntArray
    size: IntArray
    before: FloatArray
    after: FloatArray
    alone: FloatArray


@nb.njit(cache=True)
def _place(queues: Queues, device: int, ready: FloatArray, task: int) -> int:
    """Where a task belongs in a queue: behind those whose data is there no later."""
    low, high = 0, queues.size[device]
    while low < high:
        middle = (low + high) // 2
        if ready[queues.tasks[device, middle], device] <= ready[task, device]:
            low = middle + 1
        else:
            high = middle
    return low


@nb.njit(cache=True)
def _insert(queues: Queues, device: int, ready: FloatArray, task: int) -> None:
    at = _place(queues, device, ready, task)
    for n in range(queues.size[device], at, -1):
        queues.tasks[device, n] = queues.tasks[device, n - 1]
    queues.tasks[device, at] = task
    queues.size[device] += 1


@nb.njit(cache=True)
def _remove(queues: Queues, device: int, at: int) -> None:
    queues.size[device] -= 1
    for n in range(at, queues.size[device]):
        queues.tasks[device, n] = queues.tasks[device, n + 1]


@nb.njit(cache=True)
def _sum_up(queues: Queues, device: int, free: FloatArray, ready: FloatArray, takes: FloatArray) -> None:
    size = queues.size[device]
    queues.before[device, 0] = free[device]
    for n in range(size):
        k = queues.tasks[device, n]
        queues.before[device, n + 1] = max(queues.before[device, n], ready[k, device]) + takes[k, device]
    queues.after[device, size] = queues.alone[device, size] = 0.0
    for n in range(size - 1, -1, -1):
        k = queues.tasks[device, n]
        queues.after[device, n] = queues.after[device, n + 1] + takes[k, device]
        queues.alone[device, n] = max(ready[k, device] + queues.after[device, n], queues.alone[device, n + 1])


@nb.njit(cache=True)
def _best_move(queues: Queues, last: int, ready: FloatArray, takes: FloatArray) -> tuple[int, int]:
    """Which task of the device that ends last moves, by its place there, and where to; -1 when no move helps."""
    latest = queues.before[last, queues.size[last]]
    moved, to, least = -1, -1, latest - WORTH * abs(latest)
    for n in range(queues.size[last]):
        k = queues.tasks[last, n]
        without = max(queues.before[last, n] + queues.after[last, n + 1], queues.alone[last, n + 1])
        if without >= least:
            continue
        for d in range(len(queues.size)):
            if d == last or takes[k, d] == np.inf:
                continue
            at = _place(queues, d, ready, k)
            begin = max(queues.before[d, at], ready[k, d])
            there = max(begin + takes[k, d] + queues.after[d, at], queues.alone[d, at])
            if max(without, there) < least:
                moved, to, least = n, d, max(without, there)
    return moved, to


@nb.njit(cache=True)
def balance(free: FloatArray, ready: FloatArray, takes: FloatArray) -> Queues:
    """Balanced minimum completion time of a set of independent tasks.

    Every task goes to its fastest device. Then, as long as that helps, a task of the device that ends last moves to
    another one: the move after which the later of the two ends earliest.

    Args:
        free: When each device is free.
        ready: When the data of each task is on each device.
        takes: Seconds of each task on each device, infinite where it may not go.
    """
    count, devices = takes.shape
    sums = (np.zeros((devices, count + 1)), np.zeros((devices, count + 1)), np.zeros((devices, count + 1)))
    queues = Queues(np.zeros((devices, count), np.int64), np.zeros(devices, np.int64), *sums)
    for k in range(count):
        _insert(queues, takes[k].argmin(), ready, k)
    for d in range(devices):
        _sum_up(queues, d, free, ready, takes)
    for _ in range(10 * count):
        last = 0
        for d in range(1, devices):
            if queues.before[d, queues.size[d]] > queues.before[last, queues.size[last]]:
                last = d
        n, to = _best_move(queues, last, ready, takes)
        if n < 0:
            break
        k = queues.tasks[last, n]
        _remove(queues, last, n)
        _insert(queues, to, ready, k)
        _sum_up(queues, last, free, ready, takes)
        _sum_up(queues, to, free, ready, takes)
    return queues


@nb.njit(cache=True)
def hbmct(graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
    """Plan the tasks by upward rank, set by set of independent ones, each set balanced over the devices."""
    order = by_priority(graph, group, upward_rank(graph, group))
    starts = independent(graph, order)
    devices = graph.times.shape[1]
    for s in range(len(starts) - 1):
        tasks = order[starts[s] : starts[s + 1]]
        ready, takes = np.empty((len(tasks), devices)), np.empty((len(tasks), devices))
        for k in range(len(tasks)):
            for d in range(devices):
                ready[k, d] = data_ready(graph, plan, tasks[k], d)
                takes[k, d] = seconds_on(graph, plan, tasks[k], d)
        queues = balance(plan.free, ready, takes)
        for d in range(devices):
            for n in range(queues.size[d]):
                k = queues.tasks[d, n]
                put(plan, tasks[k], d, max(ready[k, d], plan.free[d]), takes[k, d])


class HybridBalancedMinimumCompletionTime(GraphPlanner):
    """Plans graphs on estimates: sets of independent tasks by rank, each balanced over the devices (HBMCT).

    Sakellariou and Zhao, "A hybrid heuristic for DAG scheduling on heterogeneous systems", Proc. 18th Int. Parallel and
    Distributed Processing Symposium (2004): tasks in order of upward rank are cut into sets of independent ones, and
    each set is mapped by balanced minimum completion time. On a device, the tasks of a set go in the order in which
    their data is there, after the sets before. See `GraphPlanner` for how the plan is carried out.
    """

    rule = "HBMCT"

    def plan_group(self, graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
        """See `hbmct`."""
        hbmct(graph, plan, group)
