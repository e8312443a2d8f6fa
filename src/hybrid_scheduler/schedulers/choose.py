"""Small choices that policies share, most of them compiled."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.learning.actions import write_part
from hybrid_scheduler.learning.order.gangs import devices_up
from hybrid_scheduler.model.device_columns import ANY_NODE, AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, QUEUED
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.model.view import ClusterView


@hot
def least_loaded(devices: FloatArray, kind: float, node: float) -> int:
    """The device of this kind with the fewest parts waiting and running, lowest row first; -1 when none is up."""
    best = -1
    for d in range(devices.shape[0]):
        if devices[d, KIND] != kind or devices[d, AVAILABLE] == 0.0:
            continue
        if node != ANY_NODE and devices[d, NODE] != node:
            continue
        if best < 0 or devices[d, QUEUED] < devices[best, QUEUED]:
            best = d
    return best


@hot
def in_turn(devices: FloatArray, kind: float, turn: int) -> int:
    """Device number `turn` of this kind, counting round and round over those that are up; -1 when none is."""
    count = devices_up(devices, kind, ANY_NODE)
    if count == 0:
        return -1
    left = turn % count
    for d in range(devices.shape[0]):
        if devices[d, KIND] == kind and devices[d, AVAILABLE] > 0.0:
            if left == 0:
                return d
            left -= 1
    return -1


@hot
def whole(out: FloatArray, device: int, expected: float) -> int:
    """The whole task on one device."""
    write_part(out, 0, device, 1.0, expected)
    return 1


@hot
def whole_on(out: FloatArray, devices: FloatArray, kind: float) -> int:
    """The whole task on the least-loaded device of a kind, of the other where none is up, without an expectation."""
    device = least_loaded(devices, kind, ANY_NODE)
    return whole(out, device if device >= 0 else least_loaded(devices, CPU if kind == GPU else GPU, ANY_NODE), 0.0)


@hot
def shared(out: FloatArray, devices: FloatArray, gpu: int, gpu_fraction: float) -> int:
    """`gpu_fraction` on a GPU and the rest on the least-loaded CPU of its node, without expectations.

    Without a GPU (-1) or without a CPU the task stays whole.
    """
    cpu = least_loaded(devices, CPU, devices[gpu, NODE] if gpu >= 0 else ANY_NODE)
    if gpu < 0 or (gpu_fraction <= 0.0 and cpu >= 0):
        return whole(out, cpu, 0.0)
    if cpu < 0 or gpu_fraction >= 1.0:
        return whole(out, gpu, 0.0)
    write_part(out, 0, gpu, gpu_fraction, 0.0)
    write_part(out, 1, cpu, 1.0 - gpu_fraction, 0.0)
    return 2


@hot
def fits(devices: FloatArray, device: int, memory: float) -> bool:
    """Whether a whole task has room on a device; a CPU has room for every task."""
    return bool(devices[device, KIND] != GPU or memory <= devices[device, MEMORY])


def may_run(task: Task, device: int, view: ClusterView) -> bool:
    """Whether a whole task may go to a device: it fits there, or on no device that is up."""
    table, memory = view.devices, task.memory_required
    return fits(table, device, memory) or not any(fits(table, d, memory) for d in (*view.cpus(), *view.gpus()))


@hot
def whole_device(devices: FloatArray, times: FloatArray, memory: float) -> int:
    """The device that would finish a whole task first behind its backlog, of those it fits on; -1 when none is up."""
    best, least = -1, np.inf
    for fits_only in (True, False):
        for d in range(devices.shape[0]):
            if devices[d, AVAILABLE] == 0.0:
                continue
            if fits_only and not fits(devices, d, memory):
                continue
            end = devices[d, BACKLOG] + (times[FIXED, d] + times[SHARED, d])
            if end < least:
                best, least = d, end
        if best >= 0:
            break
    return best
