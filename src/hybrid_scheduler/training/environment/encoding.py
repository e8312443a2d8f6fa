"""Compiled translation between the node and the agent: what it sees, and what its action means."""

from __future__ import annotations

import math
from typing import Final

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.view import (
    AVAILABLE,
    BACKLOG,
    FIXED,
    GPU,
    KIND,
    MEMORY,
    NODE,
    PART_DEVICE,
    PART_SHARE,
    PENALTY,
    QUEUED,
    SHARED,
    SPLIT,
    WATTS,
)
from hybrid_scheduler.schedulers.choose import ANY_NODE, whole, write_part

TASK_INPUTS: Final = 3
"""Places of an observation that describe the task: log size, intensity, log memory, as deviations from the usual."""
DEVICE_INPUTS: Final = 5
"""Places per device: log backlog, log expected seconds of this task, log parts queued, up (1) or down (0), watts."""
LARGEST: Final = 10.0
"""No place of an observation is larger; with logarithms nothing that happens comes near."""

ANY_KIND: Final = -1.0
CPU_KIND: Final = 0.0


@nb.njit(cache=True)
def line_up(devices: FloatArray, times: FloatArray, ranked: bool, completion: FloatArray, order: IntArray) -> None:
    """Write when each device would be done with the task, and, if `ranked`, sort the devices of each kind by that.

    `order` holds the rows of the devices, those of a kind side by side; a device that is down comes last of its kind.
    """
    for d in range(devices.shape[0]):
        completion[d] = devices[d, BACKLOG] + times[FIXED, d] + times[SHARED, d]
        if devices[d, AVAILABLE] == 0.0:
            completion[d] = np.inf
    if not ranked:
        return
    for i in range(1, len(order)):
        row, k = order[i], i
        # By row among equals, so that the order does not depend on the one before.
        while k > 0 and devices[order[k - 1], KIND] == devices[row, KIND]:
            ahead = order[k - 1]
            if completion[ahead] < completion[row] or (completion[ahead] == completion[row] and ahead < row):
                break
            order[k] = ahead
            k -= 1
        order[k] = row


@nb.njit(cache=True)
def write_observation(
    devices: FloatArray,
    task: FloatArray,
    times: FloatArray,
    order: IntArray,
    second: float,
    most_watts: float,
    x: NDArray[np.float32],
) -> None:
    """Write the normalised task and, in their order, the devices into `x`."""
    for k in range(TASK_INPUTS):
        x[k] = min(max(task[k], -LARGEST), LARGEST)
    place = TASK_INPUTS
    for d in order:
        x[place] = min(math.log1p(devices[d, BACKLOG] / second), LARGEST)
        x[place + 1] = min(math.log1p((times[FIXED, d] + times[SHARED, d]) / second), LARGEST)
        x[place + 2] = min(math.log1p(devices[d, QUEUED]), LARGEST)
        x[place + 3] = devices[d, AVAILABLE]
        x[place + 4] = devices[d, WATTS] / most_watts
        place += DEVICE_INPUTS


@nb.njit(cache=True)
def soonest(devices: FloatArray, completion: FloatArray, kind: float, node: float) -> int:
    """The device of this kind in this node that would be done first; -1 when none is up."""
    best = -1
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] == 0.0 or (kind != ANY_KIND and devices[d, KIND] != kind):
            continue
        if node != ANY_NODE and devices[d, NODE] != node:
            continue
        if best < 0 or completion[d] < completion[best]:
            best = d
    return best


@nb.njit(cache=True)
def write_decision(
    action: int,
    fractions: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    times: FloatArray,
    order: IntArray,
    cpus: int,
    completion: FloatArray,
    out: FloatArray,
) -> int:
    """Write the parts an action stands for, with the seconds expected of each; returns how many.

    For a device that is down stands the one of its kind that would be done first, or else any such device. A split
    without a CPU in the GPU's node leaves the task whole.
    """
    share = 1.0
    if action < cpus:
        d = order[action]
    else:
        d = order[cpus + (action - cpus) // len(fractions)]
        share = fractions[(action - cpus) % len(fractions)]
    if devices[d, AVAILABLE] == 0.0:
        kind = devices[d, KIND]
        d = soonest(devices, completion, kind, ANY_NODE)
        if d < 0:
            d = soonest(devices, completion, ANY_KIND, ANY_NODE)
    cpu = -1
    if share < 1.0 and devices[d, KIND] == GPU:
        cpu = soonest(devices, completion, CPU_KIND, devices[d, NODE])
    if cpu < 0:
        return whole(out, d, times[FIXED, d] + times[SHARED, d])
    stretch = 1.0 + facts[PENALTY] if facts[SPLIT] == 0.0 else 1.0
    rest = 1.0 - share
    write_part(out, 0, d, share, (times[FIXED, d] + share * times[SHARED, d]) * stretch)
    write_part(out, 1, cpu, rest, (times[FIXED, cpu] + rest * times[SHARED, cpu]) * stretch)
    return 2


@nb.njit(cache=True)
def write_mask(
    memory: float,
    fractions: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    times: FloatArray,
    order: IntArray,
    cpus: int,
    completion: FloatArray,
    out: FloatArray,
    mask: NDArray[np.bool_],
) -> None:
    """Mark the actions that do as they say: device up, a CPU there for a split, enough memory. All, if none does."""
    for action in range(len(mask)):
        parts = write_decision(action, fractions, devices, facts, times, order, cpus, completion, out)
        wanted = order[action] if action < cpus else order[cpus + (action - cpus) // len(fractions)]
        split = action >= cpus and fractions[(action - cpus) % len(fractions)] < 1.0
        d = int(out[0, PART_DEVICE])
        fits = devices[d, KIND] != GPU or out[0, PART_SHARE] * memory <= devices[d, MEMORY]
        mask[action] = d == wanted and fits and (parts == 2) == split
    if not mask.any():
        mask[:] = True
