"""Which devices a wide task would get, and how long it would be expected to take there: what queues decide by.

A node completes the gang of a task that names one device by those of its kind that are expected to be free first, of
the same node if that has enough (`Decision`); so does this, from what a scheduler sees.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.device_columns import ANY_NODE, AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, QUEUED
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY, TASK_WIDTH, WAITING_SINCE


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
def idle_devices(devices: FloatArray, kind: float) -> int:
    """How many devices of a kind are idle."""
    count = 0
    for d in range(devices.shape[0]):
        if devices[d, KIND] == kind and devices[d, QUEUED] == 0.0 and devices[d, AVAILABLE] > 0.0:
            count += 1
    return count


@hot
def _node_of(devices: FloatArray, lead: int, width: int) -> float:
    """The node whose devices make up the gang of a device; any, when its own has too few."""
    node = devices[lead, NODE]
    return node if devices_up(devices, devices[lead, KIND], node) >= width else ANY_NODE


@hot
def idle_gang(times: FloatArray, devices: FloatArray, lead: int, width: int) -> float:
    """Expected seconds of a task on this idle device and its gang; infinite when too few of them are idle."""
    node, count = _node_of(devices, lead, width), 1
    seconds = times[FIXED, lead] + times[SHARED, lead]
    for d in range(devices.shape[0]):
        here = node == ANY_NODE or devices[d, NODE] == node
        idle = devices[d, QUEUED] == 0.0 and devices[d, AVAILABLE] > 0.0
        if d != lead and here and idle and devices[d, KIND] == devices[lead, KIND] and count < width:
            count += 1
            seconds = max(seconds, times[FIXED, d] + times[SHARED, d])
    return seconds if count == width else np.inf


@hot
def seconds_until_free(devices: FloatArray, lead: int, width: int) -> tuple[float, int]:
    """When the gang of a device is expected to be free, if nothing else starts, and how many devices more are then."""
    node, kind = _node_of(devices, lead, width), devices[lead, KIND]
    until = np.inf
    for d in range(devices.shape[0]):
        here = node == ANY_NODE or devices[d, NODE] == node
        if not here or devices[d, KIND] != kind or devices[d, AVAILABLE] == 0.0 or devices[d, BACKLOG] >= until:
            continue
        if _free_by(devices, kind, node, devices[d, BACKLOG]) >= width:
            until = devices[d, BACKLOG]
    return until, _free_by(devices, kind, node, until) - width


@nb.njit(cache=True)
def _free_by(devices: FloatArray, kind: float, node: float, until: float) -> int:
    count = 0
    for d in range(devices.shape[0]):
        here = node == ANY_NODE or devices[d, NODE] == node
        up = here and devices[d, KIND] == kind and devices[d, AVAILABLE] > 0.0
        count += 1 if up and devices[d, BACKLOG] <= until else 0
    return count


@nb.njit(cache=True)
def gang_lead(times: FloatArray, devices: FloatArray, memory: float, width: int) -> int:
    """The device free first of the kind on which a wide task is expected to end first; -1 when no kind has enough.

    A kind whose memory is too small counts only when no other is left.
    """
    best, least = -1, np.inf
    both = devices_up(devices, CPU, ANY_NODE) >= width and devices_up(devices, GPU, ANY_NODE) >= width
    for fits_only in (True, False):
        for kind in (CPU, GPU):
            if devices_up(devices, kind, ANY_NODE) < width:
                continue
            lead, fits = -1, True
            for d in range(devices.shape[0]):
                if devices[d, KIND] != kind or devices[d, AVAILABLE] == 0.0:
                    continue
                fits = fits and (kind != GPU or memory / width <= devices[d, MEMORY])
                sooner = lead < 0 or devices[d, BACKLOG] < devices[lead, BACKLOG]
                if lead < 0 or sooner or (devices[lead, QUEUED] > 0.0 and devices[d, QUEUED] == 0.0):
                    lead = d
            end = 0.0
            if both:
                end = seconds_until_free(devices, lead, width)[0] + times[FIXED, lead] + times[SHARED, lead]
            if (fits or not fits_only) and end < least:
                best, least = lead, end
        if best >= 0:
            break
    return best


@nb.njit(cache=True)
def reservation(waiting: FloatArray, times: FloatArray, devices: FloatArray) -> tuple[int, int, float, int]:
    """Where a task shown is wide: the oldest of those shown, and what is reserved for it.

    Without that wide tasks would starve: narrow ones take every device that becomes free. So the oldest starts when it
    can, and until then others may only start there if they are expected to be done in time, or if enough devices are
    left then: the rule of EASY backfilling (Lifka 1995).

    Returns:
        Its row, -1 for none; the device that leads its gang; in how many seconds the gang is expected to be free, below
        0 when it is; how many devices more are free then.
    """
    row, wide = 0, False
    for k in range(waiting.shape[0]):
        wide = wide or waiting[k, TASK_WIDTH] > 1.0
        if waiting[k, WAITING_SINCE] < waiting[row, WAITING_SINCE]:
            row = k
    if not wide:
        return -1, -1, 0.0, 0
    width = int(waiting[row, TASK_WIDTH])
    lead = gang_lead(times[row], devices, waiting[row, TASK_MEMORY], width)
    if lead < 0:
        return -1, -1, 0.0, 0
    if devices[lead, QUEUED] == 0.0 and idle_gang(times[row], devices, lead, width) < np.inf:
        return row, lead, -1.0, 0
    until, spare = seconds_until_free(devices, lead, width)
    return row, lead, until, spare
