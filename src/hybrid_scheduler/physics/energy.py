"""What parts and devices consume: the one place where seconds become joules, and those of parts a task's figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.device import ClusterSpec


def busy_energy(cluster: ClusterSpec, seconds: FloatArray) -> FloatArray:
    """Joules of every device for its busy seconds; the last axis of `seconds` is the devices."""
    return seconds * cluster.column("watts")


def idle_energy(idle_watts: FloatArray, seconds: FloatArray) -> FloatArray:
    """Joules of every device for its idle seconds."""
    return idle_watts * seconds


def task_totals(
    tasks: int,
    part_task: IntArray,
    device: IntArray,
    lost: NDArray[Any],
    start: FloatArray,
    end: FloatArray,
    watts: FloatArray,
    price: FloatArray,
    serial: bool,
    width: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Execution seconds, joules and dollars of every task from its parts; a part in vain is paid for too.

    Args:
        tasks: How many tasks.
        part_task: The task of each part, as a position.
        device: The device of each part.
        lost: Whether a part was in vain.
        start: Of each part.
        end: Of each part.
        watts: Of each device while busy.
        price: Dollars per busy second of each device.
        serial: Whether the parts of a split task run one after the other.
        width: How many devices each task occupies together; empty: one each.
    """
    totals = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks)
    _add_up(part_task, device, lost, start, end, watts, price, serial, width, *totals)
    return totals


@hot
def _add_up(
    part_task: IntArray,
    device: IntArray,
    lost: NDArray[Any],
    start: FloatArray,
    end: FloatArray,
    watts: FloatArray,
    price: FloatArray,
    serial: bool,
    width: FloatArray,
    actual: FloatArray,
    energy: FloatArray,
    cost: FloatArray,
) -> None:
    """Add up what every part takes."""
    for p in range(len(part_task)):
        t, d = part_task[p], device[p]
        seconds = end[p] - start[p]
        energy[t] += watts[d] * seconds
        cost[t] += price[d] * seconds
        if lost[p]:
            continue
        split = len(width) == 0 or width[t] == 1.0
        actual[t] = actual[t] + seconds if serial and split else max(actual[t], seconds)
