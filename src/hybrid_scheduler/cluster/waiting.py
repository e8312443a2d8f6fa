"""The waiting room in compiled form: tasks that are ready and not started, by expected seconds and by age.

A binary heap orders them by (expected seconds, id) and a linked list by the time they entered, so that a task enters
and leaves in the logarithm of the room, and the few shortest and the few oldest are found without a look at the rest.
Where many wait, a tree of sums (Fenwick 1994) counts those who are older than a task, which says how often it was
overtaken: the number its decision has, plus those who were before it and still wait, less the number it would have had
in its turn.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_scheduler.cluster.heap import before, put
from hybrid_scheduler.cluster.state import (
    AGES,
    DECISIONS,
    ENTERED,
    NEWEST,
    OLDEST,
    ROOM_LOGS,
    WAITING_TASKS,
    WAITS,
    Records,
)
from hybrid_scheduler.compiled import hot, inlined
from hybrid_scheduler.model.device_columns import GPU, KIND, MEMORY
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_RANK
from hybrid_scheduler.physics.optimum import gang_optimum

SHORTEST = 1e-9
"""Seconds below which two tasks count as equally short."""
FEW = 32
"""While no more tasks wait, those older than one of them are counted by going from one to the next."""
FEW_AGES = 512
"""A tree of sums that is short stays in the fastest memory."""


@hot
def shortest_seconds(times: FloatArray, devices: FloatArray, memory: float, width: float) -> float:
    """What a whole task takes on the fastest device for it, of those it fits on, or of all when it fits on none.

    A wide task takes what it takes on the slowest of as many devices of a kind. Devices of which nothing is known (NaN)
    do not count; infinite when nothing is known at all.
    """
    if width > 1.0:
        fitting = gang_optimum(times, devices, memory / width, int(width))
        return fitting if fitting < np.inf else gang_optimum(times, devices, 0.0, int(width))
    best, anywhere = np.inf, np.inf
    for d in range(devices.shape[0]):
        seconds = times[FIXED, d] + times[SHARED, d]
        if not seconds < np.inf:
            continue
        anywhere = min(anywhere, seconds)
        if devices[d, KIND] != GPU or memory <= devices[d, MEMORY]:
            best = min(best, seconds)
    return best if best < np.inf else anywhere


@hot
def enter(
    tasks: Records,
    room: Records,
    heap: Records,
    ages: IntArray,
    c: IntArray,
    clocks: FloatArray,
    task: int,
    key: float,
) -> None:
    """Let a task wait; `key` is what it is expected to take."""
    tasks[task].status = WAITS
    room[task].turn = c[DECISIONS] + c[WAITING_TASKS]
    room[task].older = c[NEWEST]
    room[task].newer = -1
    if c[NEWEST] >= 0:
        room[c[NEWEST]].newer = task
    else:
        c[OLDEST] = task
    c[NEWEST] = task
    size = c[WAITING_TASKS]
    c[WAITING_TASKS] = size + 1
    if c[ENTERED] < c[AGES]:
        room[task].age = c[ENTERED]
        _count(ages, c[AGES], c[ENTERED], 1)
        c[ENTERED] += 1
    elif c[AGES] > 0 or size >= FEW:
        number_anew(room, ages, c)
    room[task].log = math.log(max(key, SHORTEST))
    clocks[ROOM_LOGS] += room[task].log
    _rise(room, heap, size, key, tasks[task].id, task)


@hot
def leave(room: Records, heap: Records, ages: IntArray, c: IntArray, clocks: FloatArray, task: int) -> None:
    """Take a task out, wherever it stands, before its decision is counted; of several undecided the newest first."""
    room[task].overtaken = times_overtaken(room, ages, c, task)
    if c[AGES] > 0:
        _count(ages, c[AGES], room[task].age, -1)
    older, newer = room[task].older, room[task].newer
    if older >= 0:
        room[older].newer = newer
    else:
        c[OLDEST] = newer
    if newer >= 0:
        room[newer].older = older
    else:
        c[NEWEST] = older
    size = c[WAITING_TASKS] - 1
    c[WAITING_TASKS] = size
    hole = room[task].rank
    clocks[ROOM_LOGS] = 0.0 if size == 0 else clocks[ROOM_LOGS] - room[task].log
    if hole == size:
        return
    key, identity, last = heap[size].time, heap[size].id, heap[size].task
    up = (hole - 1) >> 1
    if hole > 0 and before(key, identity, heap[up].time, heap[up].id):
        _rise(room, heap, hole, key, identity, last)
    else:
        _sink(room, heap, hole, size, key, identity, last)


def new_ages(room: Records, c: IntArray) -> IntArray:
    """The tree of sums for a room of this size, with those who wait now: space for twice as many as can wait."""
    ages = np.empty(2 * len(room), dtype=np.int64)
    number_anew(room, ages, c)
    return ages


@hot
def number_anew(room: Records, ages: IntArray, c: IntArray) -> None:
    """Note those who wait from index 0 of `ages` on, and use so much of it that this is not soon needed again.

    Where few wait, nothing is noted.
    """
    size = min(max(FEW_AGES, 4 * c[WAITING_TASKS]), len(ages)) if c[WAITING_TASKS] > FEW else 0
    c[AGES] = size
    c[ENTERED] = 0
    if size == 0:
        return
    ages[:size] = 0
    task, count = c[OLDEST], 0
    while task >= 0:
        room[task].age = count
        ages[count] = 1
        count += 1
        task = room[task].newer
    c[ENTERED] = count
    for at in range(size):
        above = at | (at + 1)
        if above < size:
            ages[above] += ages[at]


@inlined
def _count(ages: IntArray, size: int, at: int, change: int) -> None:
    while at < size:
        ages[at] += change
        at |= at + 1


@hot
def times_overtaken(room: Records, ages: IntArray, c: IntArray, task: int) -> int:
    """How often a task that waits has been overtaken, also when it waited before."""
    older, other = 0, room[task].older
    if c[AGES] > 0 and other >= 0:
        at = room[task].age - 1
        while at >= 0:
            older += ages[at]
            at = (at & (at + 1)) - 1
    else:
        while other >= 0:
            older += 1
            other = room[other].older
    return room[task].overtaken + c[DECISIONS] + older - room[task].turn  # type: ignore[no-any-return]


@inlined
def _put(room: Records, heap: Records, at: int, key: float, identity: int, task: int) -> None:
    put(heap, at, key, identity, task)
    room[task].rank = at


@hot
def _rise(room: Records, heap: Records, at: int, key: float, identity: int, task: int) -> None:
    while at > 0:
        up = (at - 1) >> 1
        if not before(key, identity, heap[up].time, heap[up].id):
            break
        _put(room, heap, at, heap[up].time, heap[up].id, heap[up].task)
        at = up
    _put(room, heap, at, key, identity, task)


@hot
def _sink(room: Records, heap: Records, at: int, size: int, key: float, identity: int, task: int) -> None:
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and before(heap[child + 1].time, heap[child + 1].id, heap[child].time, heap[child].id):
            child += 1
        if not before(heap[child].time, heap[child].id, key, identity):
            break
        _put(room, heap, at, heap[child].time, heap[child].id, heap[child].task)
        at = child
    _put(room, heap, at, key, identity, task)


@inlined
def _drawn(number: int, k: int, size: int) -> int:
    """The k-th position of a sample at this decision: multiples of irrational numbers, spread evenly."""
    turn = (number * 0.7548776662466927 + (k + 1) * 0.6180339887498949) % 1.0
    return min(int(turn * size), size - 1)


@inlined
def _among(candidates: IntArray, count: int, task: int) -> bool:
    found = False
    for k in range(count):
        found = found or candidates[k] == task
    return found


@hot
def pick(
    room: Records, heap: Records, c: IntArray, shortest: int, oldest: int, sampled: int, candidates: IntArray
) -> int:
    """Write the positions of the few shortest tasks, in that order, then of the few oldest, then of a few others.

    Returns how many. `candidates` needs room for ``2 * shortest + oldest + sampled + 1`` numbers: behind the answer it
    holds the heap's open nodes.
    """
    size = c[WAITING_TASKS]
    count, opened = 0, 0
    spare = shortest + oldest + sampled
    if size > 0 and shortest > 0:
        candidates[spare] = 0
        opened = 1
    while count < shortest and opened > 0:
        best = 0
        for k in range(1, opened):
            a, b = heap[candidates[spare + k]], heap[candidates[spare + best]]
            if before(a.time, a.id, b.time, b.id):
                best = k
        node = candidates[spare + best]
        opened -= 1
        candidates[spare + best] = candidates[spare + opened]
        for child in (2 * node + 1, 2 * node + 2):
            if child < size:
                candidates[spare + opened] = child
                opened += 1
        candidates[count] = heap[node].task
        count += 1
    task = c[OLDEST]
    for _ in range(oldest):
        if task < 0:
            break
        if not _among(candidates, count, task):
            candidates[count] = task
            count += 1
        task = room[task].newer
    for k in range(sampled if size > count else 0):
        task = heap[_drawn(c[DECISIONS], k, size)].task
        if not _among(candidates, count, task):
            candidates[count] = task
            count += 1
    return count


@hot
def pick_ranked(heap: Records, c: IntArray, features: FloatArray, ranked: int, candidates: IntArray, count: int) -> int:
    """Write, behind `count` others, the positions of the few tasks of the highest upward rank that are not among them.

    Returns how many positions there are now. Of equal ranks the lowest id comes first; tasks outside graphs have none.
    """
    found = 0
    for at in range(c[WAITING_TASKS] if ranked > 0 else 0):
        rank, place = features[heap[at].task, TASK_RANK], found
        if rank == 0.0:
            continue
        # As long as the search goes on, candidates[count:] holds places in the heap, the highest rank first.
        while place > 0:
            other = heap[candidates[count + place - 1]]
            if not before(-rank, heap[at].id, -features[other.task, TASK_RANK], other.id):
                break
            if place < ranked:
                candidates[count + place] = candidates[count + place - 1]
            place -= 1
        if place < ranked:
            candidates[count + place] = at
            found = min(found + 1, ranked)
    total = count
    for k in range(found):
        task = heap[candidates[count + k]].task
        if not _among(candidates, count, task):
            candidates[total] = task
            total += 1
    return total


@hot
def reorder(room: Records, heap: Records, c: IntArray, clocks: FloatArray) -> None:
    """Make a heap again after the expected seconds of all have changed."""
    size = c[WAITING_TASKS]
    logs = 0.0
    for rank in range(size):
        room[heap[rank].task].log = math.log(max(heap[rank].time, SHORTEST))
        logs += room[heap[rank].task].log
    clocks[ROOM_LOGS] = logs
    for at in range(size // 2 - 1, -1, -1):
        key, identity, task = heap[at].time, heap[at].id, heap[at].task
        _sink(room, heap, at, size, key, identity, task)


@hot
def oldest_first(room: Records, c: IntArray, positions: IntArray) -> int:
    """Write the positions of the tasks that wait, in the order they entered, as far as there is room."""
    task, count = c[OLDEST], 0
    while task >= 0 and count < len(positions):
        positions[count] = task
        count += 1
        task = room[task].newer
    return count
