"""What a disturbance does: a device slows down, fails or comes back, and every end behind it moves."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.cluster.data import data_on
from hybrid_scheduler.cluster.heap import push
from hybrid_scheduler.cluster.queues import advance, last_end, set_head
from hybrid_scheduler.cluster.state import (
    DISTURBED,
    DONE,
    DOOMED,
    DOWN,
    FAILED,
    NEXT,
    PLACED,
    READY,
    TASKS,
    UNDECIDED,
    State,
)
from hybrid_scheduler.model.device_columns import AVAILABLE, QUEUED


@nb.njit(cache=True)
def disturb(sim: State, observing: bool, isolated: bool) -> None:
    """Apply the next disturbance: a device changes its speed; at speed 0 it has failed and its tasks start over."""
    event = sim.disturbances[sim.counters[DISTURBED]]
    at, device, speed = event.time, event.device, event.speed
    sim.counters[DISTURBED] += 1
    advance(sim.devices, sim.device_queues, sim.parts, at)
    before = sim.device_queues[device].speed
    sim.device_queues[device].speed = speed
    sim.counters[DOWN] += int(speed == 0.0) - int(before == 0.0)
    sim.devices[device, AVAILABLE] = 1.0 if speed > 0.0 else 0.0
    if speed == 0.0:
        p = sim.device_queues[device].head
        while p >= 0:
            take_back(sim, sim.parts[p].task, at)
            p = sim.parts[p].next
        drop_lost(sim)
    project(sim, at, device, before)
    rebuild(sim, observing, isolated)


@nb.njit(cache=True)
def take_back(sim: State, task: int, at: float) -> None:
    """Void all parts of a task: it will be decided again, from zero."""
    if sim.tasks[task].status != PLACED:
        return
    for p in range(sim.tasks[task].first_part, sim.tasks[task].first_part + sim.tasks[task].part_count):
        sim.parts[p].lost = 1
        sim.parts[p].start = min(sim.parts[p].start, at)
        sim.parts[p].end = min(sim.parts[p].end, at)
    sim.tasks[task].status = UNDECIDED
    sim.tasks[task].earliest = at


@nb.njit(cache=True)
def drop_lost(sim: State) -> None:
    """Unlink the lost parts from every queue and recount what is left."""
    for d in range(sim.devices.shape[0]):
        p = sim.device_queues[d].head
        sim.device_queues[d].head = -1
        sim.device_queues[d].tail = -1
        sim.device_queues[d].expected = 0.0
        sim.devices[d, QUEUED] = 0.0
        while p >= 0:
            following = sim.parts[p].next
            if sim.parts[p].lost == 0:
                sim.parts[p].next = -1
                if sim.device_queues[d].head < 0:
                    sim.device_queues[d].head = p
                else:
                    sim.parts[sim.device_queues[d].tail].next = p
                sim.device_queues[d].tail = p
                sim.device_queues[d].expected += sim.parts[p].expected
                sim.devices[d, QUEUED] += 1.0
            p = following


@nb.njit(cache=True)
def project(sim: State, at: float, device: int, before: float) -> None:
    """Work out start and end of every unfinished part anew, in the order the parts were decided.

    A part depends only on parts decided before it: the one ahead in its queue and, for a serial split, its GPU part.
    The data it waits for comes from tasks that have finished.
    Part numbers grow with the decisions, so taking the smallest number among the queues' cursors is that order.
    """
    count = sim.devices.shape[0]
    cursor = np.empty(count, dtype=np.int64)
    for d in range(count):
        cursor[d] = sim.device_queues[d].head
        # A device whose queue is empty stays free since its last part's end, or since its work was taken back.
        sim.free[d] = min(sim.free[d], at)
    while True:
        p = -1
        for d in range(count):
            if cursor[d] >= 0 and (p < 0 or cursor[d] < p):
                p = cursor[d]
        if p < 0:
            break
        d = sim.parts[p].device
        cursor[d] = sim.parts[p].next
        if sim.parts[p].start <= at:
            if d == device:
                sim.parts[p].end = at + (sim.parts[p].end - at) * (before / sim.device_queues[d].speed)
        else:
            start = max(at, sim.free[d])
            if sim.parts[p].after >= 0:
                start = max(start, sim.parts[sim.parts[p].after].end)
            if sim.tasks[sim.parts[p].task].first_data >= 0:
                start = max(start, data_on(sim.tasks, sim.parts, sim.data, sim.links, sim.parts[p].task, d)[0])
            sim.parts[p].start = start
            sim.parts[p].end = start + sim.parts[p].work / sim.device_queues[d].speed
        sim.free[d] = sim.parts[p].end
    for d in range(count):
        p = sim.device_queues[d].head
        set_head(sim.devices, sim.device_queues, sim.parts, d, p)
        while p >= 0:
            task = sim.parts[p].task
            sim.tasks[task].finish = last_end(sim.parts, sim.tasks[task].first_part, sim.tasks[task].part_count)
            p = sim.parts[p].next


@nb.njit(cache=True)
def rebuild(sim: State, observing: bool, isolated: bool) -> None:
    """Fill both heaps again: finishes moved, so children become ready at other times, and some tasks came back."""
    c = sim.counters
    n = c[TASKS]
    for t in range(n):
        sim.tasks[t].waiting = 0
        # In an isolated race a task keeps its place in the stream, also when it starts over.
        if not isolated and (sim.tasks[t].status == UNDECIDED or sim.tasks[t].status == DOOMED):
            sim.tasks[t].due = max(sim.tasks[t].arrival, sim.tasks[t].earliest)
    for t in range(n):
        settled = sim.tasks[t].status == PLACED or sim.tasks[t].status == FAILED
        edge = sim.tasks[t].first_edge
        while edge >= 0:
            child = sim.edges[edge].child
            if not settled:
                sim.tasks[child].waiting += 1
            elif not isolated:
                sim.tasks[child].due = max(sim.tasks[child].due, sim.tasks[t].finish)
            edge = sim.edges[edge].next
    undelivered = np.zeros(n, dtype=np.bool_)
    for i in range(c[DONE]):
        undelivered[sim.done[i].task] = True
    c[READY] = 0
    c[DONE] = 0
    for t in range(n):
        if sim.tasks[t].status == UNDECIDED or sim.tasks[t].status == DOOMED:
            if sim.tasks[t].waiting == 0 and (sim.tasks[t].parents > 0 or t < c[NEXT]):
                c[READY] = push(sim.ready, c[READY], sim.tasks[t].due, sim.tasks[t].id, t)
        elif observing and undelivered[t]:
            c[DONE] = push(sim.done, c[DONE], sim.tasks[t].finish, sim.tasks[t].id, t)
