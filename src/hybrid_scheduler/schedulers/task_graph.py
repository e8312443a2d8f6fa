"""Task graphs for planners: who depends on whom, what each task takes where, and the ranks of the classics.

A graph is planned group by group: a group is what becomes known at one moment, usually a whole graph. Ranks look at a
group alone, because nobody knows at its moment what will come later.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

import numba as nb
import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.graph_facts import parents_first

EQUAL = 1e-12
"""Priorities that differ by less than this, relative to the largest, are equal: sums of the same figures in another
order."""


class TaskGraph(NamedTuple):
    """Tasks, their parents and their times, as arrays; tasks are known by their rows.

    Attributes:
        parent_start: The parents of row i are ``parents[parent_start[i]:parent_start[i + 1]]``.
        parents: Their rows.
        parent_mb: Megabytes that come from each of them.
        child_start: The same the other way round.
        children: The children's rows.
        child_mb: Megabytes that go to each of them.
        times: Seconds of each task on each device, infinite where it may not go.
        links: Seconds a megabyte takes from one device (row) to another (column).
        saved: On each device, the seconds a task saves for every megabyte that its parents have left there.
        memory: Megabytes of each task: it saves no more than for these.
        release: When each task and all it depends on are known; nothing is planned before that.
        group: The tasks of equal release have equal numbers, from 0 on in order of release.
        place: The place of each task within its group, parents before children.
        mean_seconds: Of each task, over the devices where it may go.
        mean_link: Seconds a megabyte takes between two devices, the mean over all pairs of unlike ones.
    """

    parent_start: IntArray
    parents: IntArray
    parent_mb: FloatArray
    child_start: IntArray
    children: IntArray
    child_mb: FloatArray
    times: FloatArray
    links: FloatArray
    saved: FloatArray
    memory: FloatArray
    release: FloatArray
    group: IntArray
    place: IntArray
    mean_seconds: FloatArray
    mean_link: float


def task_graph(
    parent_start: IntArray,
    parents: IntArray,
    parent_mb: FloatArray,
    times: FloatArray,
    links: FloatArray,
    *,
    arrival: FloatArray | None = None,
    saved: FloatArray | None = None,
    memory: FloatArray | None = None,
) -> tuple[TaskGraph, list[IntArray]]:
    """Make a graph ready to be planned; returns it and its groups in order, each with parents before children.

    Args:
        parent_start: See `TaskGraph`.
        parents: See `TaskGraph`.
        parent_mb: See `TaskGraph`; empty when nothing is moved.
        times: See `TaskGraph`; every task may go somewhere.
        links: See `TaskGraph`; empty when nothing takes time.
        arrival: When each task arrives; 0 unless given. A task is planned when its parents are known, too.
        saved: See `TaskGraph`; 0 unless given.
        memory: See `TaskGraph`; no limit unless given.

    Raises:
        InvalidInputError: The parents form a cycle.
    """
    count, devices = times.shape
    parent_mb = parent_mb if len(parent_mb) else np.zeros(len(parents))
    links = links if links.size else np.zeros((devices, devices))
    child_start, children, child_mb = _turned(parent_start, parents, parent_mb)
    order = parents_first(np.diff(parent_start), child_start, children)
    if len(order) < count:
        raise InvalidInputError(f"{count - len(order)} of {count} tasks depend on themselves; remove the cycle")
    release = np.zeros(count) if arrival is None else arrival.astype(np.float64)
    _release(parent_start, parents, order, release)
    moments, group = np.unique(release, return_inverse=True)
    order = order[np.argsort(group[order], kind="stable")]
    bounds = np.searchsorted(group[order], np.arange(len(moments) + 1))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count) - bounds[group[order]]
    used = np.isfinite(times).any(axis=0)
    between = links[np.ix_(used, used)][~np.eye(int(used.sum()), dtype=bool)]
    graph = TaskGraph(
        parent_start,
        parents,
        parent_mb,
        child_start,
        children,
        child_mb,
        times,
        links,
        np.zeros(devices) if saved is None else saved,
        np.full(count, np.inf) if memory is None else memory,
        release,
        group.astype(np.int64),
        place,
        np.where(np.isfinite(times), times, 0.0).sum(axis=1) / np.isfinite(times).sum(axis=1),
        float(between.mean()) if len(between) else 0.0,
    )
    return graph, [order[start:stop] for start, stop in pairwise(bounds)]


@nb.njit(cache=True)
def _turned(parent_start: IntArray, parents: IntArray, parent_mb: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    count = len(parent_start) - 1
    start = np.zeros(count + 1, np.int64)
    for parent in parents:
        start[parent + 1] += 1
    start = np.cumsum(start)
    at, children, child_mb = start[:-1].copy(), np.empty(len(parents), np.int64), np.empty(len(parents))
    for i in range(count):
        for k in range(parent_start[i], parent_start[i + 1]):
            parent = parents[k]
            children[at[parent]], child_mb[at[parent]] = i, parent_mb[k]
            at[parent] += 1
    return start, children, child_mb


@nb.njit(cache=True)
def _release(parent_start: IntArray, parents: IntArray, order: IntArray, release: FloatArray) -> None:
    for i in order:
        for k in range(parent_start[i], parent_start[i + 1]):
            release[i] = max(release[i], release[parents[k]])


@nb.njit(cache=True)
def upward_rank(graph: TaskGraph, group: IntArray) -> FloatArray:
    """Mean seconds from the start of each task of a group to the end of its graph (Topcuoglu et al. 2002, eq. 8)."""
    rank = np.empty(len(group))
    for k in range(len(group) - 1, -1, -1):
        i, longest = group[k], 0.0
        for e in range(graph.child_start[i], graph.child_start[i + 1]):
            child = graph.children[e]
            if graph.group[child] == graph.group[i]:
                longest = max(longest, graph.child_mb[e] * graph.mean_link + rank[graph.place[child]])
        rank[k] = graph.mean_seconds[i] + longest
    return rank


@nb.njit(cache=True)
def downward_rank(graph: TaskGraph, group: IntArray) -> FloatArray:
    """Mean seconds from the start of the graph to the start of each task (Topcuoglu et al. 2002, eq. 10)."""
    rank = np.zeros(len(group))
    for k in range(len(group)):
        i = group[k]
        for e in range(graph.parent_start[i], graph.parent_start[i + 1]):
            parent = graph.parents[e]
            if graph.group[parent] == graph.group[i]:
                way = graph.mean_seconds[parent] + graph.parent_mb[e] * graph.mean_link
                rank[k] = max(rank[k], rank[graph.place[parent]] + way)
    return rank


@nb.njit(cache=True)
def optimistic_cost(graph: TaskGraph, group: IntArray) -> FloatArray:
    """Seconds from the end of each task on each device to the end of its graph, were no device ever busy.

    The optimistic cost table of Arabnejad and Barbosa (2014, eq. 2): every child goes where it and what follows it take
    least; its data takes the mean time of a link, none on the same device.
    """
    devices = graph.times.shape[1]
    table = np.zeros((len(group), devices))
    for k in range(len(group) - 1, -1, -1):
        i = group[k]
        for e in range(graph.child_start[i], graph.child_start[i + 1]):
            child = graph.children[e]
            if graph.group[child] != graph.group[i]:
                continue
            after, way = table[graph.place[child]] + graph.times[child], graph.child_mb[e] * graph.mean_link
            apart = after.min() + way
            for d in range(devices):
                table[k, d] = max(table[k, d], min(after[d], apart))
    return table


@nb.njit(cache=True)
def by_priority(graph: TaskGraph, group: IntArray, priority: FloatArray) -> IntArray:
    """Rows of a group, again and again the one of highest priority of those whose parents are in the list already."""
    count = len(group)
    scale = max(np.abs(priority).max(), 1e-300) * EQUAL
    missing, order, ready = np.zeros(count, np.int64), np.empty(count, np.int64), [(0.0, np.int64(0)) for _ in range(0)]
    for k in range(count):
        i = group[k]
        for e in range(graph.parent_start[i], graph.parent_start[i + 1]):
            missing[k] += graph.group[graph.parents[e]] == graph.group[i]
        if missing[k] == 0:
            heappush(ready, (-np.round(priority[k] / scale), np.int64(k)))
    for n in range(count):
        i = group[heappop(ready)[1]]
        order[n] = i
        for e in range(graph.child_start[i], graph.child_start[i + 1]):
            child = graph.children[e]
            if graph.group[child] == graph.group[i]:
                k = graph.place[child]
                missing[k] -= 1
                if missing[k] == 0:
                    heappush(ready, (-np.round(priority[k] / scale), np.int64(k)))
    return order
