"""How the forest schedulers decide: compiled, on one flat array, from what the view shows and nothing else.

The array: a header, two figures per device, then the forest (`learning.forest`).
"""

from __future__ import annotations

import math
from typing import Final

import numba as nb
import numpy as np

from hybrid_scheduler.learning.actions import queue_price, write_part
from hybrid_scheduler.learning.features import FEATURES, write_features
from hybrid_scheduler.learning.forest.predict import add_forest
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, PRICE, QUEUED, WATTS
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import TASK_INTENSITY, TASK_MEMORY, TASK_RANK, TASK_SIZE

TREES: Final = 0
"""Header: 0 as long as nothing has been learned."""
NODE_ROOM: Final = 1
LEAF_ROOM: Final = 2
OUTPUTS: Final = 3
DEPTH: Final = 4
DEVICES: Final = 5
"""Header: devices the forest knows; 0 as long as nothing has been learned."""
ENERGY_WEIGHT: Final = 6
USE_QUEUES: Final = 7
SEED: Final = 8
CONGESTION: Final = 9
"""Header: seconds a second of work costs all others, for every part queued where it is done."""
STRETCH: Final = 10
"""Header: how much longer each part of a split task takes on the node at hand; 0 before the first decision."""
NODE_DEVICES: Final = 11
"""Header: devices of the node at hand; 0 before the first decision."""
TIME_WEIGHT: Final = 12
MONEY_WEIGHT: Final = 13
TABLE: Final = 14
"""Where the figures of the devices begin: the output of each, and its part in the typical cost."""
OUTPUT, TYPICAL = range(2)
DEVICE_FIGURES: Final = 2

STEPS: Final = 20
"""Fractions are tried in steps of 5 %."""


@nb.njit(cache=True)
def predict_seconds(task: FloatArray, state: FloatArray, seconds: FloatArray) -> None:
    """Write the whole-task seconds expected on every device; NaN where nothing is known."""
    trees, outputs = int(state[TREES]), int(state[OUTPUTS])
    if trees == 0:
        seconds[:] = np.nan
        return
    x = np.empty(FEATURES + 1, np.float32)
    write_features(task[TASK_SIZE], task[TASK_INTENSITY], task[TASK_MEMORY], x)
    x[FEATURES] = -np.inf
    node_room, leaf_room = int(state[NODE_ROOM]), int(state[LEAF_ROOM])
    total = np.zeros(outputs)
    words = TABLE + DEVICE_FIGURES * len(seconds)
    values = words + trees * node_room
    add_forest(state[words:values], state[values:], trees, node_room, leaf_room, outputs, int(state[DEPTH]), x, total)
    for k in range(outputs):
        total[k] = math.exp(total[k] / trees)
    for d in range(len(seconds)):
        seconds[d] = total[int(state[TABLE + DEVICE_FIGURES * d + OUTPUT])]


@nb.njit(cache=True)
def _may_take(devices: FloatArray, d: int, memory: float) -> bool:
    """Whether a device is up and the whole task fits."""
    return devices[d, AVAILABLE] > 0.0 and (devices[d, KIND] == CPU or memory <= devices[d, MEMORY])  # type: ignore[no-any-return]


@nb.njit(cache=True)
def _unknown_device(number: int, memory: float, devices: FloatArray, seconds: FloatArray, seed: float) -> int:
    """A device worth a probe: nothing is known of it and nothing is queued there; -1 when there is none.

    When nothing is known of any, the least loaded. The seed and the number of the decision say where to start.
    """
    count = len(seconds)
    # The fractional part of multiples of the golden ratio: spread evenly, and different for every seed.
    turn = ((seed + 1.0) * 0.6180339887498949 + number * 0.7548776662466927) % 1.0
    start = int(turn * count)
    known, least = False, -1
    for k in range(count):
        d = (start + k) % count
        if not _may_take(devices, d, memory):
            continue
        if not math.isnan(seconds[d]):
            known = True
        elif least < 0 or devices[d, QUEUED] < devices[least, QUEUED]:
            least = d
    if least >= 0 and known and devices[least, QUEUED] > 0.0:
        return -1
    return least


@nb.njit(cache=True)
def _last_resort(devices: FloatArray) -> int:
    """Nothing fits: a CPU if one is up, else any device; the memory policy has the last word."""
    best = 0
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] > 0.0 and (
            devices[best, AVAILABLE] == 0.0
            or (devices[d, KIND] == CPU and devices[best, KIND] != CPU)
            or (devices[d, KIND] == devices[best, KIND] and devices[d, QUEUED] < devices[best, QUEUED])
        ):
            best = d
    return best


@nb.njit(cache=True)
def cheapest(
    task: FloatArray, devices: FloatArray, facts: FloatArray, seconds: FloatArray, state: FloatArray, out: FloatArray
) -> int:
    """Write the option with the least weighted cost of time, energy and money; returns its parts, 0 if there is none.

    The options: the whole task on every device, and for every GPU and every CPU of its node the splits in steps of 5 %.
    Time is when the task would finish, plus what its work costs the tasks that will wait behind it: nobody knows how
    many, but a device with a long queue tends to have one again, so `CONGESTION` seconds for every second and every
    part queued there, less in a graph (`queue_price`). Time, energy and money are measured by what the fastest device
    usually takes, burns and costs.
    """
    count, memory = len(seconds), task[TASK_MEMORY]
    second, joule, dollar = 0.0, 0.0, 0.0
    for d in range(count):
        typical = state[TABLE + DEVICE_FIGURES * d + TYPICAL]
        second += typical
        joule += typical * devices[d, WATTS]
        dollar += typical * devices[d, PRICE]
    second = state[TIME_WEIGHT] / second if second > 0.0 else state[TIME_WEIGHT]
    joule = state[ENERGY_WEIGHT] / joule if joule > 0.0 else state[ENERGY_WEIGHT]
    dollar = state[MONEY_WEIGHT] / dollar if dollar > 0.0 else state[MONEY_WEIGHT]
    serial = facts[SPLIT] != 0.0
    stretch = 1.0 if serial else 1.0 + facts[PENALTY]
    queues, crowd = state[USE_QUEUES], state[USE_QUEUES] * queue_price(state[CONGESTION], task[TASK_RANK])
    best, best_gpu, best_cpu, best_step = math.inf, -1, -1, 0
    for d in range(count):
        if _may_take(devices, d, memory):
            each = second * (1.0 + crowd * devices[d, QUEUED]) + joule * devices[d, WATTS] + dollar * devices[d, PRICE]
            cost = second * queues * devices[d, BACKLOG] + each * seconds[d]
            if cost < best:
                gpu = devices[d, KIND] == GPU
                best, best_gpu, best_cpu, best_step = cost, d if gpu else -1, -1 if gpu else d, STEPS if gpu else 0
    for gpu in range(count):
        if devices[gpu, KIND] != GPU or devices[gpu, AVAILABLE] == 0.0 or math.isnan(seconds[gpu]):
            continue
        for cpu in range(count):
            if devices[cpu, KIND] != CPU or devices[cpu, AVAILABLE] == 0.0 or devices[cpu, NODE] != devices[gpu, NODE]:
                continue
            gpu_start, cpu_start = queues * devices[gpu, BACKLOG], queues * devices[cpu, BACKLOG]
            on_gpu = second * crowd * devices[gpu, QUEUED] + joule * devices[gpu, WATTS] + dollar * devices[gpu, PRICE]
            on_cpu = second * crowd * devices[cpu, QUEUED] + joule * devices[cpu, WATTS] + dollar * devices[cpu, PRICE]
            for step in range(1, STEPS):
                share = step / STEPS
                if share * memory > devices[gpu, MEMORY]:
                    break
                gpu_takes, cpu_takes = share * stretch * seconds[gpu], (1.0 - share) * stretch * seconds[cpu]
                gpu_end = gpu_start + gpu_takes
                cpu_end = (max(cpu_start, gpu_end) if serial else cpu_start) + cpu_takes
                cost = second * max(gpu_end, cpu_end) + on_gpu * gpu_takes + on_cpu * cpu_takes
                if cost < best:
                    best, best_gpu, best_cpu, best_step = cost, gpu, cpu, step
    if best == math.inf:
        return 0
    if best_step == 0 or best_step == STEPS:
        device = best_cpu if best_step == 0 else best_gpu
        write_part(out, 0, device, 1.0, seconds[device])
        return 1
    share = best_step / STEPS
    write_part(out, 0, best_gpu, share, share * stretch * seconds[best_gpu])
    write_part(out, 1, best_cpu, 1.0 - share, (1.0 - share) * stretch * seconds[best_cpu])
    return 2


@nb.njit(cache=True)
def choose(
    number: int, task: FloatArray, devices: FloatArray, facts: FloatArray, state: FloatArray, out: FloatArray
) -> int:
    """Decide about one task; returns the number of parts, 0 when the forest knows another number of devices."""
    if state[DEVICES] > 0.0 and state[DEVICES] != devices.shape[0]:
        return 0
    memory = task[TASK_MEMORY]
    seconds = np.empty(devices.shape[0])
    predict_seconds(task, state, seconds)
    probe = _unknown_device(number, memory, devices, seconds, state[SEED])
    if probe >= 0:
        # How long a probe will take nobody knows; that it is there shows in the number of parts queued.
        write_part(out, 0, probe, 1.0, 0.0)
        return 1
    parts = cheapest(task, devices, facts, seconds, state, out)
    if parts == 0:
        device = _last_resort(devices)
        expected = seconds[device]
        write_part(out, 0, device, 1.0, 0.0 if math.isnan(expected) else expected)
        return 1
    return parts


@nb.njit(cache=True)
def note_node(devices: FloatArray, facts: FloatArray, state: FloatArray) -> None:
    """Note what the outcomes of decisions on this node are read with."""
    state[STRETCH] = 1.0 if facts[SPLIT] != 0.0 else 1.0 + facts[PENALTY]
    state[NODE_DEVICES] = devices.shape[0]
