"""Whether a waiting task would start now: what schedulers that let tasks wait on estimates have in common."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.learning.order.gangs import gang_lead, idle_gang, seconds_until_free
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, NODE, QUEUED
from hybrid_scheduler.model.kernel import PART_DEVICE
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.optimum import earliest_finish
from hybrid_scheduler.schedulers.base import Explanation
from hybrid_scheduler.schedulers.choose import whole, whole_device


@hot
def idle_pair(devices: FloatArray) -> bool:
    """Whether some GPU and a CPU of its node are idle, so that a split could start."""
    pair = False
    for d in range(devices.shape[0]):
        if devices[d, KIND] != GPU or devices[d, QUEUED] > 0.0 or devices[d, AVAILABLE] == 0.0:
            continue
        for c in range(devices.shape[0]):
            near = devices[c, KIND] == CPU and devices[c, NODE] == devices[d, NODE]
            pair = pair or (near and devices[c, QUEUED] == 0.0 and devices[c, AVAILABLE] > 0.0)
    return pair


@nb.njit(cache=True)
def start_now(
    now: float,
    memory: float,
    times: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    pair: bool,
    out: FloatArray,
    width: float = 1.0,
) -> int:
    """Write the option that would finish a task first, if its devices are idle; returns its parts, 0 to go on waiting.

    The option is a whole device, or a split. Where the best split needs a busy device, the best whole device counts; a
    task that fits nowhere goes where it would finish first if it did.

    Args:
        now: The moment.
        memory: Megabytes the task needs.
        times: Its `FIXED` and `SHARED` seconds per device.
        devices: The device table.
        facts: The public facts.
        pair: Whether any split could start now (`idle_pair`).
        out: Gets the parts.
        width: How many devices it occupies together. A wide task starts when so many of the kind that is expected to
            finish it first are idle; one of them is named.
    """
    if width > 1.0:
        lead = gang_lead(times, devices, memory, int(width))
        if lead < 0 or devices[lead, QUEUED] > 0.0:
            return 0
        seconds = idle_gang(times, devices, lead, int(width))
        return whole(out, lead, seconds) if seconds < np.inf else 0
    if pair:
        parts = earliest_finish(now, memory, devices, times, now + devices[:, BACKLOG], facts, out)
        idle = parts > 0
        for k in range(parts):
            idle = idle and devices[int(out[k, PART_DEVICE]), QUEUED] == 0.0
        if idle or parts == 1:
            return parts if idle else 0
    device = whole_device(devices, times, memory)
    if device < 0 or devices[device, QUEUED] > 0.0:
        return 0
    return whole(out, device, times[FIXED, device] + times[SHARED, device])


def explained(task: Task, view: ClusterView, order: str) -> Explanation:
    """Why `start_now` starts a task or lets it wait; `order` says who goes first of those that could start."""
    times, pair, out = view.times_of(task), idle_pair(view.devices), np.zeros((3, 3))
    parts = start_now(view.now, task.memory_required, times, view.devices, view.facts, pair, out, task.width)
    expects = times.sum(axis=0)
    if task.width > 1:
        return Explanation(_gang_reason(task, view, times, parts > 0, order), expects)
    if parts > 0:
        chosen = " and ".join(view.names[int(row[PART_DEVICE])] for row in out[:parts])
        idle = "is idle" if parts == 1 else "are idle"
        return Explanation(f"{chosen} would finish it first and {idle}; {order}.", expects)
    device = whole_device(view.devices, times, task.memory_required)
    if device < 0:
        return Explanation("It waits because no device is up.", expects)
    busy = f"is expected to be busy for another {view.backlog[device]:.3g} s"
    return Explanation(f"It waits because {view.names[device]}, which would finish it first, {busy}.", expects)


def _gang_reason(task: Task, view: ClusterView, times: FloatArray, starts: bool, order: str) -> str:
    lead = gang_lead(times, view.devices, task.memory_required, task.width)
    if lead < 0:
        return f"It waits because no kind has {task.width} devices that are up."
    kind = f"{task.width} {view.kind[lead]}s"
    if starts:
        return f"{kind} are idle, and no others would finish it sooner; {order}."
    until, _ = seconds_until_free(view.devices, lead, task.width)
    return f"It waits because {kind}, which would finish it first, are expected to be free in {until:.3g} s."
