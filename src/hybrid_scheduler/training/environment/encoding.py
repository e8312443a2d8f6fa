"""Compiled translation between the node and a stranger's agent: what it sees, and what its action means here.

The code of actions is the one our own agent acts by (`learning.actions`).
"""

from __future__ import annotations

import math
from typing import Final

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.actions import ANY, decode, first_done, write_parts
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, PRICE, QUEUED, WATTS
from hybrid_scheduler.model.kernel import PART_DEVICE, PART_SHARE
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED

TASK_INPUTS: Final = 3
"""Places of an observation that describe the task: log size, intensity, log memory, as deviations from the usual."""
DEVICE_INPUTS: Final = 5
"""Places per device: log backlog, log expected seconds of this task, log parts queued, up (1) or down (0), watts; where
money counts there is one more, the price."""
LARGEST: Final = 10.0
"""No place of an observation is larger; with logarithms nothing that happens comes near."""

Placing = tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray, int, FloatArray, FloatArray]
"""What it takes to know which parts an action stands for: the shares, the devices, the facts, the times, the order, how
many CPUs, the completions, and room for the parts."""


@nb.njit(cache=True)
def write_observation(
    devices: FloatArray,
    task: FloatArray,
    times: FloatArray,
    order: IntArray,
    second: float,
    most_watts: float,
    highest_price: float,
    places: int,
    x: NDArray[np.float32],
) -> None:
    """Write the normalised task and, in their order, the devices, in so many places each, into `x`."""
    for k in range(TASK_INPUTS):
        x[k] = min(max(task[k], -LARGEST), LARGEST)
    place = TASK_INPUTS
    for d in order:
        x[place] = min(math.log1p(devices[d, BACKLOG] / second), LARGEST)
        x[place + 1] = min(math.log1p((times[FIXED, d] + times[SHARED, d]) / second), LARGEST)
        x[place + 2] = min(math.log1p(devices[d, QUEUED]), LARGEST)
        x[place + 3] = devices[d, AVAILABLE]
        x[place + 4] = devices[d, WATTS] / most_watts
        if places > DEVICE_INPUTS:
            x[place + 5] = devices[d, PRICE] / highest_price
        place += places


@nb.njit(cache=True)
def write_decision(action: int, placing: Placing) -> int:
    """Write the parts an action stands for, with the seconds expected of each; returns how many.

    For a device that is down stands the one of its kind that would be done first, or else any such device. A split
    without a CPU in the GPU's node leaves the task whole.
    """
    fractions, devices, facts, times, order, cpus, completion, out = placing
    d, share = decode(action, cpus, fractions, order)
    if devices[d, AVAILABLE] == 0.0:
        kind = devices[d, KIND]
        d = first_done(devices, completion, kind, ANY)
        if d < 0:
            d = first_done(devices, completion, ANY, ANY)
    cpu = -1
    if share < 1.0 and devices[d, KIND] == GPU:
        cpu = first_done(devices, completion, CPU, devices[d, NODE])
    return write_parts(d, share, cpu, times, facts, out)


@nb.njit(cache=True)
def write_mask(memory: float, placing: Placing, mask: NDArray[np.bool_]) -> None:
    """Mark the actions that do as they say: device up, a CPU there for a split, enough memory. All, if none does."""
    fractions, devices, _, _, order, cpus, _, out = placing
    for action in range(len(mask)):
        parts = write_decision(action, placing)
        wanted, share = decode(action, cpus, fractions, order)
        d = int(out[0, PART_DEVICE])
        fits = devices[d, KIND] != GPU or out[0, PART_SHARE] * memory <= devices[d, MEMORY]
        mask[action] = d == wanted and fits and (parts == 2) == (share < 1.0)
    if not mask.any():
        mask[:] = True
