"""A binary heap of tasks in a plain array of `HEAP` records, ordered by (time, task id), for compiled code."""

from __future__ import annotations

from hybrid_scheduler.cluster.state import Records
from hybrid_scheduler.compiled import hot, inlined


@inlined
def before(time: float, identity: int, other_time: float, other_identity: int) -> bool:
    """Whether a task comes before another one."""
    return time < other_time or (time == other_time and identity < other_identity)


@inlined
def put(heap: Records, at: int, time: float, identity: int, task: int) -> None:
    """Write an entry."""
    heap[at].time = time
    heap[at].id = identity
    heap[at].task = task


@hot
def push(heap: Records, size: int, time: float, identity: int, task: int) -> int:
    """Add a task; returns the new size."""
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if before(heap[up].time, heap[up].id, time, identity):
            break
        put(heap, i, heap[up].time, heap[up].id, heap[up].task)
        i = up
    put(heap, i, time, identity, task)
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
        if child + 1 < size and before(heap[child + 1].time, heap[child + 1].id, heap[child].time, heap[child].id):
            child += 1
        if not before(heap[child].time, heap[child].id, time, identity):
            break
        put(heap, i, heap[child].time, heap[child].id, heap[child].task)
        i = child
    put(heap, i, time, identity, task)
    return size
