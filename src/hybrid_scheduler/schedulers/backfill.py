"""What backfilling has in common: how far it looks, and which devices a task would start on."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.learning.order.gangs import gang_lead, idle_gang
from hybrid_scheduler.model.device_columns import QUEUED
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY, TASK_WIDTH
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.schedulers.base import CompiledDispatcher, Explanation
from hybrid_scheduler.schedulers.choose import whole_device
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


class Backfill(CompiledDispatcher):
    """First come, first served on estimates, but for those that delay nobody who may not be delayed.

    Args:
        window: It looks at so many of the oldest waiting tasks.
    """

    uses_estimates = True
    idle_only = True
    shown_shortest = 0

    def __init__(self, window: int = WINDOW) -> None:
        self.window = self.shown_oldest = within("window", window, 1, 10_000)

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Which devices would finish it first, and whether they are idle."""
        return explained(task, view, "it may overtake tasks that it does not delay")
