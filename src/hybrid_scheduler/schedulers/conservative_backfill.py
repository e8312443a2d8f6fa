"""Conservative backfilling: every waiting task has a reservation, and nobody overtakes at another's expense."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.learning.order.gangs import devices_up
from hybrid_scheduler.model.device_columns import ANY_NODE, AVAILABLE, BACKLOG, CPU, GPU, KIND
from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY, TASK_WIDTH
from hybrid_scheduler.schedulers.backfill import Backfill, seconds_now, wanted_device
from hybrid_scheduler.schedulers.base import dispatch_kernel
from hybrid_scheduler.schedulers.choose import fits, whole


@nb.njit(cache=True)
def _free_now(devices: FloatArray, kind: float, moment: FloatArray, free: IntArray) -> int:
    """Fill the profile of a kind: from each moment on so many devices are free; returns how many steps it has."""
    count = devices.shape[0]
    until = np.full(count, np.inf)
    for d in range(count):
        if devices[d, KIND] == kind and devices[d, AVAILABLE] > 0.0:
            until[d] = devices[d, BACKLOG]
    until.sort()
    moment[0], free[0], steps = 0.0, 0, 1
    for d in range(count):
        if until[d] == np.inf:
            break
        if until[d] > moment[steps - 1]:
            moment[steps], free[steps] = until[d], free[steps - 1]
            steps += 1
        free[steps - 1] += 1
    return steps


@nb.njit(cache=True)
def _earliest(moment: FloatArray, free: IntArray, steps: int, width: int, seconds: float) -> float:
    """When so many devices are free for so long; infinite when they never are."""
    at = 0
    for step in range(steps):
        if free[step] < width:
            at = step + 1
        elif step + 1 == steps or moment[step + 1] >= moment[at] + seconds:
            return moment[at]  # type: ignore[no-any-return]
    return np.inf


@nb.njit(cache=True)
def _split_at(moment: FloatArray, free: IntArray, steps: int, at: float) -> int:
    """Let a step of the profile begin at a moment; returns how many steps there are."""
    for step in range(steps):
        if moment[step] == at:
            return steps
    place = steps
    while place > 0 and moment[place - 1] > at:
        moment[place], free[place] = moment[place - 1], free[place - 1]
        place -= 1
    moment[place], free[place] = at, free[place - 1]
    return steps + 1


@nb.njit(cache=True)
def _reserve(moment: FloatArray, free: IntArray, steps: int, width: int, start: float, end: float) -> int:
    """Take devices out of the profile for a time; returns how many steps it has then."""
    steps = _split_at(moment, free, steps, start)
    if end < np.inf:
        steps = _split_at(moment, free, steps, end)
    for step in range(steps):
        if start <= moment[step] < end:
            free[step] -= width
    return steps


@nb.njit(cache=True)
def _typical_seconds(task: FloatArray, times: FloatArray, devices: FloatArray, kind: float) -> float:
    """Expected seconds of a task on the fastest devices of a kind; infinite where it may not go."""
    width = int(task[TASK_WIDTH])
    if devices_up(devices, kind, ANY_NODE) < width:
        return np.inf
    least = np.inf
    for d in range(devices.shape[0]):
        if devices[d, KIND] == kind and devices[d, AVAILABLE] > 0.0 and fits(devices, d, task[TASK_MEMORY] / width):
            least = min(least, times[FIXED, d] + times[SHARED, d])
    return least


@dispatch_kernel
def _policy(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    size = devices.shape[0] + 2 * waiting.shape[0] + 2
    moment, there, steps = np.zeros((2, size)), np.zeros((2, size), np.int64), np.zeros(2, np.int64)
    for kind in range(2):
        steps[kind] = _free_now(devices, float(kind), moment[kind], there[kind])
    for row in range(waiting.shape[0]):
        width = int(waiting[row, TASK_WIDTH])
        best, best_end, best_start, best_seconds = -1, np.inf, np.inf, 0.0
        for kind in (int(CPU), int(GPU)):
            seconds = _typical_seconds(waiting[row], times[row], devices, float(kind))
            if seconds < np.inf:
                start = _earliest(moment[kind], there[kind], steps[kind], width, seconds)
                if start + seconds < best_end:
                    best, best_end, best_start, best_seconds = kind, start + seconds, start, seconds
        if best < 0:
            # It fits nowhere, or too few devices are up: it goes where it would finish first, if it can at once.
            device = wanted_device(waiting[row], times[row], devices)
            seconds = seconds_now(waiting[row], times[row], devices, device)
            if seconds < np.inf:
                out[CHOSEN, 0] = row
                return whole(out, device, seconds)
            continue
        if best_start == 0.0:
            device, least = -1, np.inf
            for d in range(devices.shape[0]):
                if devices[d, KIND] == best and fits(devices, d, waiting[row, TASK_MEMORY] / width):
                    took = seconds_now(waiting[row], times[row], devices, d)
                    if devices[d, AVAILABLE] > 0.0 and took < least:
                        device, least = d, took
            if device >= 0:
                out[CHOSEN, 0] = row
                return whole(out, device, least)
        steps[best] = _reserve(moment[best], there[best], steps[best], width, best_start, best_start + best_seconds)
    return 0


class ConservativeBackfill(Backfill):
    """Conservative backfilling on estimates: a task may only overtake others if it delays none of them.

    Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2
    with backfilling", IEEE TPDS 12 (2001). At every change each waiting task, in order of arrival, gets the earliest
    time at which enough devices of a kind are expected to be free for long enough, given those before it; it starts if
    that is now. Whole tasks only; of unlike devices of a kind the fastest count for the plan.

    Args:
        window: It plans for so many of the oldest waiting tasks.
    """

    kernel = _policy
