"""Device queues in compiled form: what is visible now, placing parts, taking tasks back, projecting ends.

Parts are numbered in the order they were decided. Every device serves its parts in that order, so a queue is a linked
list through `part_next`, and an end is known as soon as a part is placed, until a disturbance changes it.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_scheduler.cluster.data import data_on, saved_seconds
from hybrid_scheduler.cluster.heap import push
from hybrid_scheduler.cluster.state import DOOMED, FAILED, ILLEGAL, PLACED, UNDECIDED, Records
from hybrid_scheduler.compiled import hot, inlined
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, QUEUED, SINCE
from hybrid_scheduler.model.kernel import MEMORY_POLICY, PART_DEVICE, PART_EXPECTED, PART_SHARE, PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED

OVERRUN_SHARE = 0.25
"""A part that overruns its expected time counts as this share of the time it has run (SPEC section 4)."""
SHARE_TOLERANCE = 1e-12


@inlined
def advance(devices: FloatArray, device_queues: Records, parts: Records, now: float) -> None:
    """Let finished parts leave the queues and bring the visible columns up to date."""
    for d in range(len(device_queues)):
        advance_device(devices, device_queues, parts, d, now)


@inlined
def advance_device(devices: FloatArray, device_queues: Records, parts: Records, d: int, now: float) -> None:
    """The same for one device."""
    queue = device_queues[d]
    if queue.head_end <= now:
        p = queue.head
        while p >= 0 and parts[p].end <= now:
            queue.expected -= parts[p].expected
            devices[d, QUEUED] -= 1.0
            p = parts[p].next
        set_head(devices, device_queues, parts, d, p)
    if queue.head >= 0:
        backlog = queue.expected
        if queue.head_start <= now:
            ran = now - queue.head_start
            left = queue.head_expected - ran if ran < queue.head_expected else OVERRUN_SHARE * ran
            backlog += left - queue.head_expected
            devices[d, SINCE] = queue.head_start
        else:
            devices[d, SINCE] = np.nan
        devices[d, BACKLOG] = max(backlog, 0.0)


@inlined
def set_head(devices: FloatArray, device_queues: Records, parts: Records, device: int, p: int) -> None:
    """Make `p` the first part of a queue; -1 empties it, which also resets the sum, so rounding cannot pile up."""
    queue = device_queues[device]
    queue.head = p
    if p >= 0:
        queue.head_start = parts[p].start
        queue.head_end = parts[p].end
        queue.head_expected = parts[p].expected
        return
    queue.tail = -1
    queue.expected = 0.0
    queue.head_end = np.inf
    devices[device, QUEUED] = 0.0
    devices[device, SINCE] = np.nan
    devices[device, BACKLOG] = 0.0


@inlined
def illegal(devices: FloatArray, out: FloatArray, count: int) -> int:
    """0 when the decision in `out` can be carried out, else a code from `ILLEGAL` on."""
    if count < 1 or count > 2:
        return ILLEGAL
    total = 0.0
    for k in range(count):
        row = out[k, PART_DEVICE]
        if not (row >= 0.0 and row < devices.shape[0] and row == math.floor(row)):
            return ILLEGAL + 1
        if devices[int(row), AVAILABLE] == 0.0:
            return ILLEGAL + 2
        share = out[k, PART_SHARE]
        if not (share > 0.0 and share <= 1.0 + SHARE_TOLERANCE):
            return ILLEGAL + 3
        expected = out[k, PART_EXPECTED]
        if not (expected >= 0.0 and expected < np.inf):
            return ILLEGAL + 4
        total += share
    if abs(total - 1.0) > SHARE_TOLERANCE:
        return ILLEGAL + 5
    if count == 2:
        a, b = int(out[0, PART_DEVICE]), int(out[1, PART_DEVICE])
        if devices[a, KIND] == devices[b, KIND]:
            return ILLEGAL + 6
        if devices[a, NODE] != devices[b, NODE]:
            return ILLEGAL + 7
    return 0


@hot
def fallback_cpu(devices: np.ndarray, node: float) -> int:
    """The least-loaded CPU that is up, of this node if it has one, else of any; -1 when there is none."""
    best = -1
    for same_node in (True, False):
        for d in range(devices.shape[0]):
            if devices[d, KIND] != CPU or devices[d, AVAILABLE] == 0.0 or (same_node and devices[d, NODE] != node):
                continue
            if best < 0 or devices[d, QUEUED] < devices[best, QUEUED]:
                best = d
        if best >= 0:
            break
    return best


@inlined
def append_part(
    devices: FloatArray,
    free: FloatArray,
    device_queues: Records,
    tasks: Records,
    parts: Records,
    p: int,
    task: int,
    now: float,
    earliest: float,
    device: int,
    share: float,
    expected: float,
    work: float,
) -> None:
    """Queue part number `p`; it starts when the device has served what was decided before, and not before `earliest`.

    The device idles meanwhile.
    """
    parts[p].task = task
    parts[p].device = device
    parts[p].share = share
    parts[p].expected = expected
    parts[p].work = work
    parts[p].decided = now
    parts[p].after = -1
    parts[p].next = -1
    parts[p].before = tasks[task].last_part
    tasks[task].last_part = p
    parts[p].lost = 0
    parts[p].start = max(earliest, free[device])
    parts[p].end = parts[p].start + work / device_queues[device].speed
    free[device] = parts[p].end
    if device_queues[device].head < 0:
        set_head(devices, device_queues, parts, device, p)
    else:
        parts[device_queues[device].tail].next = p
    device_queues[device].tail = p
    device_queues[device].expected += expected
    devices[device, QUEUED] += 1.0


@inlined
def fit(devices: FloatArray, facts: FloatArray, out: FloatArray, memory: float, count: int) -> int:
    """Apply the memory policy to the decision in `out`; returns its number of parts, 0 when the task fails."""
    if count == 1:
        out[0, PART_SHARE] = 1.0  # What rounding left out of a single share must not make room for it.
    for k in range(count):
        d = int(out[k, PART_DEVICE])
        if devices[d, KIND] == GPU and out[k, PART_SHARE] * memory > devices[d, MEMORY]:
            cpu = fallback_cpu(devices, devices[d, NODE])
            if facts[MEMORY_POLICY] != 0.0 or cpu < 0:
                return 0
            if count == 2:
                out[0, PART_EXPECTED] += out[1, PART_EXPECTED]
            out[0, PART_DEVICE] = cpu
            out[0, PART_SHARE] = 1.0
            return 1
    return count


@inlined
def place(
    devices: FloatArray,
    facts: FloatArray,
    free: FloatArray,
    device_queues: Records,
    tasks: Records,
    realised: FloatArray,
    parts: Records,
    out: FloatArray,
    data: Records,
    links: FloatArray,
    savings: FloatArray,
    memory: float,
    first: int,
    task: int,
    now: float,
    count: int,
) -> float:
    """Queue the parts of the decision in `out`, numbered from `first`; returns when the last of them ends."""
    serial = facts[SPLIT] != 0.0
    stretch = 1.0 if count == 1 or serial else 1.0 + facts[PENALTY]
    # The GPU part goes first: a serial CPU part waits for it.
    swap = count == 2 and devices[int(out[0, PART_DEVICE]), KIND] == CPU
    for k in range(count):
        row = 1 - k if swap else k
        d = int(out[row, PART_DEVICE])
        share = min(out[row, PART_SHARE], 1.0)
        earliest, shared = now, realised[task, SHARED, d]
        if tasks[task].first_data >= 0:
            there, resident = data_on(tasks, parts, data, links, task, d)
            earliest = max(now, there)
            shared = max(0.0, shared - saved_seconds(resident, memory, savings[task, d]))
        work = (realised[task, FIXED, d] + share * shared) * stretch
        if k == 1 and serial:
            earliest = max(earliest, parts[first].end)
        append_part(
            devices, free, device_queues, tasks, parts, first + k, task, now, earliest, d, share,
            out[row, PART_EXPECTED], work,
        )  # fmt: skip
        if k == 1 and serial:
            parts[first + k].after = first
    tasks[task].first_part = first
    tasks[task].part_count = count
    tasks[task].status = PLACED
    return last_end(parts, first, count)


@inlined
def last_end(parts: Records, first: int, count: int) -> float:
    """When the last of a task's one or two parts ends."""
    end = parts[first].end
    if count == 2:
        end = max(end, parts[first + 1].end)
    return end  # type: ignore[no-any-return]


@hot
def release(tasks: Records, edges: Records, ready: Records, size: int, task: int, finish: float, isolated: bool) -> int:
    """Tell the children of a settled task; those that waited for nothing else go on the heap, whose size it returns."""
    failed = tasks[task].status == FAILED
    edge = tasks[task].first_edge
    while edge >= 0:
        child = edges[edge].child
        if failed and tasks[child].status == UNDECIDED:
            tasks[child].status = DOOMED
        # In an isolated race the order of the stream decides; time stands at the end of the last task anyway.
        if not isolated:
            tasks[child].due = max(tasks[child].due, finish)
        tasks[child].waiting -= 1
        if tasks[child].waiting == 0:
            size = push(ready, size, tasks[child].due, tasks[child].id, child)
        edge = edges[edge].next
    return size
