"""EASY backfilling: first come, first served, but tasks may overtake that do not delay the first of the queue."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.order.gangs import idle_devices, seconds_until_free
from hybrid_scheduler.model.device_columns import CPU, GPU, KIND
from hybrid_scheduler.model.kernel import CHOSEN
from hybrid_scheduler.model.task_columns import TASK_WIDTH
from hybrid_scheduler.schedulers.backfill import Backfill, seconds_now, wanted_device
from hybrid_scheduler.schedulers.base import dispatch_kernel
from hybrid_scheduler.schedulers.choose import whole


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


class EasyBackfill(Backfill):
    """EASY backfilling on estimates: the first of the queue has a reservation, others overtake if they keep it.

    Lifka, "The ANL/IBM SP scheduling system", JSSPP (1995); as in Mu'alem and Feitelson, "Utilization, predictability,
    workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12 (2001). The first
    task starts when as many devices of one kind as it needs are idle. Until then any other may start, in order of
    arrival, that is expected to end before so many are, or that uses no more than are spare then. Whole tasks only.

    Args:
        window: It looks at so many of the oldest waiting tasks.
    """

    kernel = _policy
