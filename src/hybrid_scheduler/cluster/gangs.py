"""Gangs in compiled form: a task of width w holds w devices of one kind from a common start to a common end.

Its times are those for that width. It runs in step: as long as on the slowest of its devices, and no device of a gang
is free before the others. Devices that are free earlier stay reserved until all are.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_scheduler.cluster.data import data_on, saved_seconds
from hybrid_scheduler.cluster.queues import SHARE_TOLERANCE, append_part, illegal, set_head
from hybrid_scheduler.cluster.state import (
    GANG_MIXED,
    GANG_PARTS,
    GANG_SHARES,
    GANG_TWICE,
    ILLEGAL,
    PLACED,
    Records,
)
from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.device_columns import ANY_NODE, AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, QUEUED
from hybrid_scheduler.model.kernel import MEMORY_POLICY, PART_DEVICE, PART_EXPECTED, PART_SHARE
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED


@hot
def devices_up(devices: FloatArray, kind: float, node: float) -> int:
    """How many devices of a kind are up, on a node or anywhere."""
    count = 0
    for d in range(devices.shape[0]):
        here = node == ANY_NODE or devices[d, NODE] == node
        if here and devices[d, KIND] == kind and devices[d, AVAILABLE] > 0.0:
            count += 1
    return count


@hot
def widest_possible(devices: FloatArray) -> int:
    """The width of the widest task that the devices that are up can take."""
    return max(devices_up(devices, CPU, ANY_NODE), devices_up(devices, GPU, ANY_NODE))


@hot
def gather(
    devices: FloatArray, facts: FloatArray, scratch: FloatArray, out: FloatArray, count: int, width: int, memory: float
) -> int:
    """Make the decision in `out` for a wide task a gang; returns its parts, 0 when the task fails, -code if illegal.

    A decision that names all its devices is checked. One that names one device, or splits the task, says by its
    (larger) part which device takes part at least: the others are those of its kind that are expected to be free first.
    Where too few of that kind are up, the other kind takes the task; where too few of that are, it fails. A gang whose
    share of the memory does not fit on one of its GPUs follows the memory policy.
    """
    split = count == 2 and _exists(devices, out, 0) and _exists(devices, out, 1)
    if split:
        split = devices[int(out[0, PART_DEVICE]), KIND] != devices[int(out[1, PART_DEVICE]), KIND]
    if count == 1 or split:
        code = illegal(devices, out, count)
        if code != 0:
            return -code
        lead = 0
        if split and out[1, PART_SHARE] > out[0, PART_SHARE]:
            lead = 1
        elif split and out[1, PART_SHARE] == out[0, PART_SHARE]:
            lead = 0 if devices[int(out[0, PART_DEVICE]), KIND] == GPU else 1
        device = int(out[lead, PART_DEVICE])
        expected = out[lead, PART_EXPECTED] / out[lead, PART_SHARE]
        kind, node = devices[device, KIND], devices[device, NODE]
        if devices_up(devices, kind, ANY_NODE) < width:
            kind, device = CPU if kind == GPU else GPU, -1
        if devices_up(devices, kind, ANY_NODE) < width:
            return 0
        complete(devices, scratch, out, kind, node, device, width, expected)
    else:
        code = _illegal_gang(devices, out, count, width)
        if code != 0:
            return -code
    for k in range(width):
        out[k, PART_SHARE] = 1.0 / width
    for k in range(width):
        d = int(out[k, PART_DEVICE])
        if devices[d, KIND] == GPU and memory / width > devices[d, MEMORY]:
            if facts[MEMORY_POLICY] != 0.0 or devices_up(devices, CPU, ANY_NODE) < width:
                return 0
            complete(devices, scratch, out, CPU, devices[d, NODE], -1, width, out[k, PART_EXPECTED])
            break
    return width


@hot
def complete(
    devices: FloatArray,
    scratch: FloatArray,
    out: FloatArray,
    kind: float,
    node: float,
    device: int,
    width: int,
    expected: float,
) -> None:
    """Write the parts of a gang of this kind, of this node if it has enough devices: those expected to be free first.

    Idle ones go first, then by backlog, as the scheduler itself sees it; of equals the lower row. `device` is one that
    takes part in any case, -1 for none.
    """
    if devices_up(devices, kind, node) < width:
        node = ANY_NODE
    for d in range(devices.shape[0]):
        here = node == ANY_NODE or devices[d, NODE] == node
        scratch[0, d] = np.inf
        if here and devices[d, KIND] == kind and devices[d, AVAILABLE] > 0.0:
            scratch[0, d] = -1.0 if devices[d, QUEUED] == 0.0 else devices[d, BACKLOG]
    for k in range(width):
        best = device
        if k > 0 or device < 0:
            best = 0
            for d in range(1, devices.shape[0]):
                if scratch[0, d] < scratch[0, best]:
                    best = d
        scratch[0, best] = np.inf
        out[k, PART_DEVICE] = best
        out[k, PART_SHARE] = 1.0 / width
        out[k, PART_EXPECTED] = expected


@hot
def _exists(devices: FloatArray, out: FloatArray, k: int) -> bool:
    row = out[k, PART_DEVICE]
    return row >= 0.0 and row < devices.shape[0] and row == math.floor(row)  # type: ignore[no-any-return]


@hot
def _illegal_gang(devices: FloatArray, out: FloatArray, count: int, width: int) -> int:
    """0 when the decision in `out` names the devices of a gang, else a code from `ILLEGAL` on."""
    if count != width:
        return GANG_PARTS
    for k in range(count):
        if not _exists(devices, out, k):
            return ILLEGAL + 1
        if devices[int(out[k, PART_DEVICE]), AVAILABLE] == 0.0:
            return ILLEGAL + 2
        if not abs(out[k, PART_SHARE] * width - 1.0) <= SHARE_TOLERANCE * width:
            return GANG_SHARES
        if not (out[k, PART_EXPECTED] >= 0.0 and out[k, PART_EXPECTED] < np.inf):
            return ILLEGAL + 4
        if devices[int(out[k, PART_DEVICE]), KIND] != devices[int(out[0, PART_DEVICE]), KIND]:
            return GANG_MIXED
        for other in range(k):
            if out[other, PART_DEVICE] == out[k, PART_DEVICE]:
                return GANG_TWICE
    return 0


@hot
def gang_seconds(device_queues: Records, parts: Records, first: int, width: int) -> float:
    """How long a gang takes at its devices' present speeds: as long as on the slowest of them."""
    seconds = 0.0
    for p in range(first, first + width):
        seconds = max(seconds, parts[p].work / device_queues[parts[p].device].speed)
    return seconds


@hot
def set_gang(
    devices: FloatArray,
    free: FloatArray,
    device_queues: Records,
    parts: Records,
    first: int,
    width: int,
    start: float,
    end: float,
) -> None:
    """Give all parts of a gang their common start and end."""
    for p in range(first, first + width):
        d = parts[p].device
        parts[p].start = start
        parts[p].end = end
        free[d] = end
        if device_queues[d].head == p:
            set_head(devices, device_queues, parts, d, p)


@hot
def place_gang(
    devices: FloatArray,
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
    width: int,
) -> float:
    """Queue the parts of a gang, numbered from `first`; returns when they all end.

    It starts when all data of its parents is on all of its devices.
    """
    start = now
    for k in range(width):
        d = int(out[k, PART_DEVICE])
        start, shared = max(start, free[d]), realised[task, SHARED, d]
        if tasks[task].first_data >= 0:
            there, resident = data_on(tasks, parts, data, links, task, d)
            start = max(start, there)
            shared = max(0.0, shared - saved_seconds(resident, memory, savings[task, d]))
        work = realised[task, FIXED, d] + shared
        share, expected = out[k, PART_SHARE], out[k, PART_EXPECTED]
        append_part(devices, free, device_queues, tasks, parts, first + k, task, now, now, d, share, expected, work)
    end = start + gang_seconds(device_queues, parts, first, width)
    set_gang(devices, free, device_queues, parts, first, width, start, end)
    tasks[task].first_part = first
    tasks[task].part_count = width
    tasks[task].status = PLACED
    return end
