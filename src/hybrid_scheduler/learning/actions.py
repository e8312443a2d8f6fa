"""The one code of actions: what a number means to an agent, ours or a stranger's in the Gymnasium environment.

First each CPU with the whole task, then each GPU with each fraction, the rest on the CPU of its node that would be done
first. Devices of a kind may be ranked by the completion time that is expected of them, so an action means "the
second-best GPU, 80 %", not "GPU 2". Like GPUs are thereby interchangeable, unlike ones are told apart by their times.
"""

from __future__ import annotations

from typing import Final

import numba as nb
import numpy as np

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, NODE
from hybrid_scheduler.model.kernel import PART_DEVICE, PART_EXPECTED, PART_SHARE, PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED

ANY: Final = -1.0
"""Any kind of device, any node."""


DEFAULT_CONGESTION: Final = 1.5
"""How much a second of work counts for the tasks that will wait behind it, per part queued there, unless something
better is known; chosen by `benchmarks/tuning.py`."""


@nb.njit(cache=True)
def queue_price(congestion: float, rank: float) -> float:
    """What a second of work counts for those behind it, per part queued there.

    A task of a graph pays the less the higher its upward rank, relative to its graph, is: whoever waits behind the one
    that the end of the graph hangs on would have to wait for it anyway. Outside graphs the rank is 0.
    """
    return congestion * (1.0 - rank)


@nb.njit(cache=True)
def queues_with_data(devices: FloatArray, times: FloatArray) -> FloatArray:
    """The device table with queues that last at least until the data of the task at hand is there.

    Args:
        devices: The view's table.
        times: The view's times: of one who expects times by itself, the seconds until data is there, or nothing.
    """
    if times.shape[0] == 0:
        return devices
    table = devices.copy()
    for d in range(table.shape[0]):
        table[d, BACKLOG] = max(table[d, BACKLOG], times[FIXED, d])
    return table


def action_count(cpus: int, gpus: int, fractions: int) -> int:
    """How many actions there are."""
    return cpus + gpus * fractions


@nb.njit(cache=True)
def decode(action: int, cpus: int, fractions: FloatArray, order: IntArray) -> tuple[int, float]:
    """The row of the device an action names, and its share of the task."""
    if action < cpus:
        return order[action], 1.0
    return order[cpus + (action - cpus) // len(fractions)], fractions[(action - cpus) % len(fractions)]


@nb.njit(cache=True)
def expect_completion(devices: FloatArray, times: FloatArray, completion: FloatArray) -> None:
    """Write when each device would be done with the task; never, when it is down."""
    for d in range(devices.shape[0]):
        completion[d] = devices[d, BACKLOG] + times[FIXED, d] + times[SHARED, d]
        if devices[d, AVAILABLE] == 0.0:
            completion[d] = np.inf


@nb.njit(cache=True)
def rank_devices(devices: FloatArray, completion: FloatArray, order: IntArray) -> None:
    """Write the rows of the CPUs, then of the GPUs, each kind by completion; equals by row."""
    first = 0
    for kind in (CPU, GPU):
        n = 0
        for d in range(devices.shape[0]):
            if devices[d, KIND] != kind:
                continue
            i = n
            while i > 0 and completion[order[first + i - 1]] > completion[d]:
                order[first + i] = order[first + i - 1]
                i -= 1
            order[first + i] = d
            n += 1
        first += n


@nb.njit(cache=True)
def first_done(devices: FloatArray, completion: FloatArray, kind: float, node: float) -> int:
    """The device of this kind in this node that would be done first; -1 when none is up."""
    best = -1
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] == 0.0 or (kind != ANY and devices[d, KIND] != kind):
            continue
        if node != ANY and devices[d, NODE] != node:
            continue
        if best < 0 or completion[d] < completion[best]:
            best = d
    return best


@hot
def write_part(out: FloatArray, row: int, device: int, share: float, expected: float) -> None:
    """Fill one row of a decision."""
    out[row, PART_DEVICE] = device
    out[row, PART_SHARE] = share
    out[row, PART_EXPECTED] = expected


@nb.njit(cache=True)
def write_parts(device: int, share: float, cpu: int, times: FloatArray, facts: FloatArray, out: FloatArray) -> int:
    """Write `share` for a device and the rest for a CPU, or all for the device when `cpu` is -1; returns the parts."""
    if cpu < 0:
        write_part(out, 0, device, 1.0, times[FIXED, device] + times[SHARED, device])
        return 1
    stretch = 1.0 + facts[PENALTY] if facts[SPLIT] == 0.0 else 1.0
    rest = 1.0 - share
    write_part(out, 0, device, share, (times[FIXED, device] + share * times[SHARED, device]) * stretch)
    write_part(out, 1, cpu, rest, (times[FIXED, cpu] + rest * times[SHARED, cpu]) * stretch)
    return 2
