"""Data between tasks in compiled form: when it is on a device, and what a task saves where it is already.

Every task has a list of `DATA` records, one for each parent that hands it something. Where a parent's result lies is
read off the parent's counted parts: each device has as much of it as its share of the parent. A child is ready only
when its parents have finished, so these do not change any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba as nb
import numpy as np

from hybrid_scheduler.cluster.state import Records
from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED


@hot
def data_on(
    tasks: Records, parts: Records, data: Records, links: FloatArray, task: int, device: int
) -> tuple[float, float]:
    """When all data of a task's parents is on a device, and how many megabytes of it are there by themselves."""
    there, resident = 0.0, 0.0
    row = tasks[task].first_data
    while row >= 0:
        parent = tasks[data[row].parent]
        for p in range(parent.first_part, parent.first_part + parent.part_count):
            megabytes = parts[p].share * data[row].mb
            if parts[p].device == device:
                resident += megabytes
            else:
                there = max(there, parent.finish + megabytes * links[parts[p].device, device])
        row = data[row].next
    return there, resident


@hot
def saved_seconds(resident: float, memory: float, saving: float) -> float:
    """What a whole task saves where so much of its data is: no more than the way of its whole memory takes."""
    return min(resident, memory) * saving


@hot
def add_data(
    tasks: Records,
    parts: Records,
    data: Records,
    links: FloatArray,
    task: int,
    now: float,
    memory: float,
    times: FloatArray,
) -> None:
    """Bring the data of a ready task into the times that a scheduler expects or is told.

    `FIXED` grows by the seconds until it would be on each device, `SHARED` shrinks by what is saved there.
    """
    for d in range(links.shape[0]):
        there, resident = data_on(tasks, parts, data, links, task, d)
        times[FIXED, d] += max(0.0, there - now)
        times[SHARED, d] = max(0.0, times[SHARED, d] - saved_seconds(resident, memory, links[d, d]))


@hot
def add_true_data(
    tasks: Records,
    parts: Records,
    data: Records,
    links: FloatArray,
    savings: FloatArray,
    device_queues: Records,
    task: int,
    memory: float,
    times: FloatArray,
    begin: FloatArray,
) -> None:
    """Bring the data of a ready task into its true times: less `SHARED`; each device can `begin` when it is there."""
    for d in range(links.shape[0]):
        there, resident = data_on(tasks, parts, data, links, task, d)
        begin[d] = max(begin[d], there)
        if device_queues[d].speed > 0.0:
            saved = saved_seconds(resident, memory, savings[task, d])
            times[SHARED, d] = max(0.0, times[SHARED, d] - saved / device_queues[d].speed)


@hot
def add_true_delay(
    tasks: Records,
    parts: Records,
    data: Records,
    links: FloatArray,
    savings: FloatArray,
    device_queues: Records,
    task: int,
    memory: float,
    now: float,
    free: FloatArray,
    times: FloatArray,
    begin: FloatArray,
) -> None:
    """As `add_true_data`, but `FIXED` grows by the seconds that a device, once free, has to wait for the data.

    For those who look at many tasks at a time, which have one `free` in common.
    """
    for d in range(links.shape[0]):
        begin[d] = max(free[d], now)
    add_true_data(tasks, parts, data, links, savings, device_queues, task, memory, times, begin)
    for d in range(links.shape[0]):
        times[FIXED, d] += begin[d] - max(free[d], now)


@nb.njit(cache=True)
def link_data(
    tasks: Records, data: Records, first: int, parents: IntArray, children: IntArray, megabytes: FloatArray
) -> int:
    """Write what comes from every parent to its child, numbered from `first`; returns how many records there are."""
    used = first
    for k in range(len(parents)):
        if megabytes[k] > 0.0:
            data[used].parent = parents[k]
            data[used].mb = megabytes[k]
            data[used].next = tasks[children[k]].first_data
            tasks[children[k]].first_data = used
            used += 1
    return used


def linked_parents(tasks: Records, data: Records, children: Sequence[int]) -> IntArray:
    """The positions of the tasks whose data these children need, each once."""
    parents: set[int] = set()
    for child in children:
        row = int(tasks[child]["first_data"])
        while row >= 0:
            parents.add(int(data[row]["parent"]))
            row = int(data[row]["next"])
    return np.array(sorted(parents), dtype=np.int64)
