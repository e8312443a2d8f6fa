"""EASY backfilling: first come, first served, but tasks may overtake that do not delay the first of the queue."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.learning.order.gangs import gang_lead, idle_devices, idle_gang, seconds_until_free
from hybrid_scheduler.model.device_columns import CPU, GPU, KIND, QUEUED
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY, TASK_WIDTH
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledDispatcher, Explanation, dispatch_kernel
from hybrid_scheduler.schedulers.choose import whole, whole_device
from hybrid_scheduler.schedulers.late_binding import explained

WINDOW = 256


@nb.njit(cache=True)
def wanted_device(waiting: FloatArray, times: FloatArray, devices: FloatArray) -> int:
    """The device that would finish a task first, or leads the gang that would; -1 when too few are up."""
    width = int(waiting[TASK_WIDTH])
    if width > 1:
        return gang_lead(times, devices, waiting[TASK_MEMORY], width)
    return whole_device(devices, times, waiting[TASK_MEMORY])


@nb.njit(cache=True)
def seconds_now(waiting: FloatArray, times: FloatArray, devices: FloatArray, device: int) -> float:
    """Expected seconds of a task that starts on this device now, and on its gang; infinite when it cannot."""
    if device < 0 or devices[device, QUEUED] > 0.0:
        return np.inf
    if waiting[TASK_WIDTH] > 1.0:
        return idle_gang(times, devices, device, int(waiting[TASK_WIDTH]))
    return times[FIXED, device] + times[SHARED, device]  # type: ignore[no-any-return]


@dispatch_kernel
def _policy(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    first = wanted_device(waiting[0], times[0], devices)
    out[CHOSEN, 0] = 0.0
    seconds = seconds_now(waiting[0], times[0], devices, first)
    if seconds < np.inf:
        return whole(out, first, seconds)
    until, spare = np.inf, 0
    if first >= 0:
        until, spare = seconds_until_free(devices, first, int(waiting[0, TASK_WIDTH]))
    idle = max(idle_devices(devices, CPU), idle_devices(devices, GPU))
    for row in range(1, waiting.shape[0]):
        if waiting[row, TASK_WIDTH] > idle:
            continue
        device = wanted_device(waiting[row], times[row], devices)
        seconds = seconds_now(waiting[row], times[row], devices, device)
        if not seconds < np.inf:
            continue
        elsewhere = first >= 0 and devices[device, KIND] != devices[first, KIND]
        if elsewhere or seconds <= until or waiting[row, TASK_WIDTH] <= spare:
            out[CHOSEN, 0] = row
            return whole(out, device, seconds)
    return 0


class EasyBackfill(CompiledDispatcher):
    """EASY backfilling on estimates: the first of the queue has a reservation, others overtake if they keep it.

    Lifka, "The ANL/IBM SP scheduling system", JSSPP (1995); as in Mu'alem and Feitelson, "Utilization, predictability,
    workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12 (2001). The first
    task starts when as many devices of one kind as it needs are idle. Until then any other may start, in order of
    arrival, that is expected to end before so many are, or that uses no more than are spare then. Whole tasks only.

    Args:
        window: It looks at so many of the oldest waiting tasks.
    """

    uses_estimates = True
    idle_only = True
    kernel = _policy
    shown_shortest = 0

    def __init__(self, window: int = WINDOW) -> None:
        if not 1 <= window <= 10_000:
            raise InvalidInputError(f"window is {window}, but it must be from 1 to 10000")
        self.window = window
        self.shown_oldest = window

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Which devices would finish it first, and whether they are idle."""
        return explained(task, view, "it may overtake tasks that it does not delay")
