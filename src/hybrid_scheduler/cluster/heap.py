"""A binary heap of tasks in a plain array of `HEAP` records, ordered by (time, task id), for compiled code."""

from __future__ import annotations

from typing import Any

from hybrid_scheduler.cluster.compiled import hot
from hybrid_scheduler.cluster.state import Records


@hot
def push(heap: Records, size: int, time: float, identity: int, task: int) -> int:
    """Add a task; returns the new size."""
    i = size
    while i > 0:
        up = (i - 1) >> 1
        above = heap[up]
        if above.time < time or (above.time == time and above.id < identity):
            break
        _copy(heap, up, i)
        i = up
    heap[i].time = time
    heap[i].id = identity
    heap[i].task = task
    return size + 1


@hot
def pop(heap: Records, size: int) -> int:
    """Remove the first entry, which the caller has read from `heap[0]`; returns the new size."""
    size -= 1
    time, identity, task = heap[size].time, heap[size].id, heap[size].task
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _before(heap[child + 1], heap[child].time, heap[child].id):
            child += 1
        if not _before(heap[child], time, identity):
            break
        _copy(heap, child, i)
        i = child
    heap[i].time = time
    heap[i].id = identity
    heap[i].task = task
    return size


@hot
def _before(entry: Any, time: float, identity: int) -> bool:
    return entry.time < time or (entry.time == time and entry.id < identity)  # type: ignore[no-any-return]


@hot
def _copy(heap: Records, source: int, target: int) -> None:
    heap[target].time = heap[source].time
    heap[target].id = heap[source].id
    heap[target].task = heap[source].task
