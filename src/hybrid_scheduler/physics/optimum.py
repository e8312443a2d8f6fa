"""The best place for one task: by grid search on queues as they are, by closed form on an idle node.

The grid has every device that is up and every GPU fraction from 0 to 100 % in 5 % steps. Its order decides ties, an
option must be strictly earlier to replace one before it: the whole task on each CPU; then for each GPU the splits with
rising fraction, for each fraction the CPUs of the GPU's node; then the whole task on that GPU. Rows are in table order.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.device_columns import AVAILABLE, CPU, GPU, KIND, MEMORY, NODE
from hybrid_scheduler.model.kernel import PART_DEVICE, PART_EXPECTED, PART_SHARE, PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.cost import part_seconds

STEPS = 20
"""Steps of the grid: fractions are k / 20."""
ROUNDING = 16.0 * 2.0**-52
"""Relative error that the few operations of one finish time cannot reach."""


@hot
def _usable(devices: FloatArray, row: int, kind: float) -> bool:
    return devices[row, KIND] == kind and devices[row, AVAILABLE] > 0.0  # type: ignore[no-any-return]


@hot
def _like_an_earlier(now: float, devices: FloatArray, times: FloatArray, free: FloatArray, gpu: int) -> bool:
    """Whether a GPU before this one offers the same: then nothing on this one is strictly earlier."""
    for other in range(gpu):
        if (
            max(now, free[other]) == max(now, free[gpu])
            and _usable(devices, other, GPU)
            and devices[other, NODE] == devices[gpu, NODE]
            and devices[other, MEMORY] == devices[gpu, MEMORY]
            and times[FIXED, other] == times[FIXED, gpu]
            and times[SHARED, other] == times[SHARED, gpu]
        ):
            return True
    return False


@hot
def _write(out: FloatArray, times: FloatArray, gpu: int, cpu: int, step: int, stretch: float) -> int:
    """Write the parts of the option chosen, GPU part first; return how many there are."""
    parts = 0
    if step > 0:
        out[parts, PART_DEVICE] = gpu
        out[parts, PART_SHARE] = step / STEPS
        out[parts, PART_EXPECTED] = part_seconds(times, gpu, step / STEPS, stretch)
        parts += 1
    if step < STEPS:
        out[parts, PART_DEVICE] = cpu
        out[parts, PART_SHARE] = 1.0 - step / STEPS
        out[parts, PART_EXPECTED] = part_seconds(times, cpu, 1.0 - step / STEPS, stretch)
        parts += 1
    return parts


@hot
def earliest_finish(
    now: float,
    memory: float,
    devices: FloatArray,
    times: FloatArray,
    free: FloatArray,
    facts: FloatArray,
    out: FloatArray,
) -> int:
    """The oracle's search: the option of the grid that finishes first, given when each device is really free.

    Args:
        now: The time of the decision.
        memory: Megabytes of the whole task; a GPU part must fit, CPUs have no limit.
        devices: The device table of `model.view`.
        times: `FIXED` and `SHARED` seconds of this task per device.
        free: When each device is free.
        facts: The public facts (`SPLIT`, `PENALTY`).
        out: Gets one `PART_*` row per part, the GPU part first; expected seconds are the seconds it will run.

    Returns:
        The number of parts, 1 or 2; 0 when there is no option.
    """
    serial = facts[SPLIT] != 0.0
    stretch = 1.0 if serial else 1.0 + facts[PENALTY]
    count = len(devices)
    best, best_gpu, best_cpu, best_step = math.inf, -1, -1, 0
    for cpu in range(count):
        if _usable(devices, cpu, CPU):
            end = max(now, free[cpu]) + part_seconds(times, cpu, 1.0, 1.0)
            if end < best:
                best, best_cpu = end, cpu
    for gpu in range(count):
        if not _usable(devices, gpu, GPU) or _like_an_earlier(now, devices, times, free, gpu):
            continue
        gpu_start = max(now, free[gpu])
        for step in range(1, STEPS):
            share = step / STEPS
            gpu_end = gpu_start + part_seconds(times, gpu, share, stretch)
            # Memory and the end of the GPU part only grow with the share: nothing further on can be strictly earlier.
            if share * memory > devices[gpu, MEMORY] or gpu_end >= best:
                break
            for cpu in range(count):
                if _usable(devices, cpu, CPU) and devices[cpu, NODE] == devices[gpu, NODE]:
                    cpu_start = max(now, free[cpu])
                    if serial:
                        cpu_start = max(cpu_start, gpu_end)
                    end = max(gpu_end, cpu_start + part_seconds(times, cpu, 1.0 - share, stretch))
                    if end < best:
                        best, best_gpu, best_cpu, best_step = end, gpu, cpu, step
        end = gpu_start + part_seconds(times, gpu, 1.0, 1.0)
        if memory <= devices[gpu, MEMORY] and end < best:
            best, best_gpu, best_cpu, best_step = end, gpu, -1, STEPS
    if best == math.inf:
        return 0
    return _write(out, times, best_gpu, best_cpu, best_step, stretch if 0 < best_step < STEPS else 1.0)


@nb.njit(cache=True, nogil=True)
def best_finish(
    now: float, memory: float, devices: FloatArray, times: FloatArray, free: FloatArray, facts: FloatArray
) -> float:
    """When the option of `earliest_finish` would have the task finished; infinite when there is none."""
    out = np.zeros((2, 3))
    parts = earliest_finish(now, memory, devices, times, free, facts, out)
    end = -np.inf if parts > 0 else np.inf
    for k in range(parts):
        start = max(now, free[int(out[k, PART_DEVICE])])
        if facts[SPLIT] != 0.0 and k > 0:
            start = max(start, end)
        end = max(end, start + out[k, PART_EXPECTED])
    return end


@hot
def _last_fitting_step(memory: float, limit: float) -> int:
    """The largest step below a whole task whose share of the memory fits, by the same comparison as the grid's."""
    if memory <= limit:
        return STEPS - 1
    step = min(STEPS - 1, int(limit / memory * STEPS) + 1)
    while step > 0 and step / STEPS * memory > limit:
        step -= 1
    return step


@hot
def _best_concurrent(times: FloatArray, gpu: int, cpu: int, last: int, stretch: float) -> tuple[int, float]:
    """First best step in 1..last of a concurrent split on idle devices.

    The GPU part grows with the share and the CPU part shrinks, so the best is next to the share where both take equally
    long, ``(FIXED_c + SHARED_c - FIXED_g) / (SHARED_g + SHARED_c)``; that is only the starting point, the steps around
    it are compared by the grid's own expressions.
    """
    total = times[SHARED, gpu] + times[SHARED, cpu]
    even = (times[FIXED, cpu] + times[SHARED, cpu] - times[FIXED, gpu]) / total if total > 0.0 else 0.0
    step = int(min(max(math.ceil(even * STEPS), 1.0), last))
    while step > 1 and (
        part_seconds(times, gpu, (step - 1) / STEPS, stretch)
        >= part_seconds(times, cpu, 1.0 - (step - 1) / STEPS, stretch)
    ):
        step -= 1
    gpu_seconds = part_seconds(times, gpu, step / STEPS, stretch)
    cpu_seconds = part_seconds(times, cpu, 1.0 - step / STEPS, stretch)
    while step < last and gpu_seconds < cpu_seconds:
        step += 1
        gpu_seconds = part_seconds(times, gpu, step / STEPS, stretch)
        cpu_seconds = part_seconds(times, cpu, 1.0 - step / STEPS, stretch)
    # Now `step` is the first whose GPU part is the longer one (or the last that fits); before it the CPU part decides.
    best = max(gpu_seconds, cpu_seconds)
    while step > 1 and part_seconds(times, cpu, 1.0 - (step - 1) / STEPS, stretch) <= best:
        step -= 1
        best = part_seconds(times, cpu, 1.0 - step / STEPS, stretch)
    return step, best


@hot
def _best_serial(times: FloatArray, gpu: int, cpu: int, last: int) -> tuple[int, float]:
    """First best step in 1..last of a serial split on idle devices.

    The sum of both parts is linear in the share: the best is an end of the range, except that rounding decides when one
    step changes the sum by no more than rounding does; then all are compared.
    """
    slope = (times[SHARED, gpu] - times[SHARED, cpu]) / STEPS
    size = times[FIXED, gpu] + times[FIXED, cpu] + times[SHARED, gpu] + times[SHARED, cpu]
    first = 1
    if abs(slope) > 2.0 * ROUNDING * size:
        first = last = last if slope < 0.0 else 1
    best, best_step = math.inf, first
    for step in range(first, last + 1):
        gpu_seconds = part_seconds(times, gpu, step / STEPS, 1.0)
        end = gpu_seconds + part_seconds(times, cpu, 1.0 - step / STEPS, 1.0)
        if end < best:
            best, best_step = end, step
    return best_step, best


@hot
def _idle_choice(
    times: FloatArray, memory: float, devices: FloatArray, facts: FloatArray
) -> tuple[int, int, int, float]:
    """GPU row, CPU row, step and seconds of the best option for one task on an idle node; -1 where no such device."""
    serial = facts[SPLIT] != 0.0
    stretch = 1.0 + facts[PENALTY]
    count = len(devices)
    best, best_gpu, best_cpu, best_step = math.inf, -1, -1, 0
    for cpu in range(count):
        if _usable(devices, cpu, CPU) and part_seconds(times, cpu, 1.0, 1.0) < best:
            best, best_cpu = part_seconds(times, cpu, 1.0, 1.0), cpu
    for gpu in range(count):
        if not _usable(devices, gpu, GPU):
            continue
        last = _last_fitting_step(memory, devices[gpu, MEMORY])
        # Among the CPUs of this GPU the grid prefers the smaller fraction, then the earlier row.
        split, split_cpu, split_step = math.inf, -1, STEPS
        for cpu in range(count if last > 0 else 0):
            if _usable(devices, cpu, CPU) and devices[cpu, NODE] == devices[gpu, NODE]:
                if serial:
                    step, seconds = _best_serial(times, gpu, cpu, last)
                else:
                    step, seconds = _best_concurrent(times, gpu, cpu, last, stretch)
                if seconds < split or (seconds == split and step < split_step):
                    split, split_cpu, split_step = seconds, cpu, step
        if split < best:
            best, best_gpu, best_cpu, best_step = split, gpu, split_cpu, split_step
        whole = part_seconds(times, gpu, 1.0, 1.0)
        if memory <= devices[gpu, MEMORY] and whole < best:
            best, best_gpu, best_cpu, best_step = whole, gpu, -1, STEPS
    return best_gpu, best_cpu, best_step, best


@nb.njit(cache=True, nogil=True)
def idle_optimum(
    times: FloatArray, memory: FloatArray, devices: FloatArray, facts: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """The optimum of every task on an idle node: what `earliest_finish` answers at time 0, bit for bit.

    By closed form instead of search: on the default node 0.14 us a task against 0.27 us (`serial`: 0.08 against 0.37).

    Args:
        times: `FIXED` and `SHARED` seconds, shape (tasks, 2, devices).
        memory: Megabytes of each task.
        devices: The device table of `model.view`.
        facts: The public facts (`SPLIT`, `PENALTY`).

    Returns:
        Per task: the row of the GPU, or of the CPU when no GPU takes part (-1 when there is no option at all); the row
        of the CPU, -1 when none takes part; the GPU's fraction; the seconds until the task ends (infinite: no option).
    """
    count = len(memory)
    device, helper = np.empty(count, np.int64), np.empty(count, np.int64)
    fraction, seconds = np.empty(count), np.empty(count)
    for i in range(count):
        gpu, cpu, step, seconds[i] = _idle_choice(times[i], memory[i], devices, facts)
        device[i] = gpu if step > 0 else cpu
        helper[i] = cpu
        fraction[i] = step / STEPS
    return device, helper, fraction, seconds


@hot
def _gang_on_kind(times: FloatArray, devices: FloatArray, memory: float, width: int, kind: float) -> float:
    """The seconds of the `width`-th fastest device of a kind with so much memory; infinite when there are fewer."""
    count, least, most = 0, math.inf, 0.0
    for d in range(len(devices)):
        if devices[d, KIND] == kind and (kind != GPU or memory <= devices[d, MEMORY]):
            seconds = part_seconds(times, d, 1.0, 1.0)
            if seconds < math.inf:
                count, least, most = count + 1, min(least, seconds), max(most, seconds)
    if count < width:
        return math.inf
    if least == most or count == width:
        return most
    best = most
    for d in range(len(devices)):
        seconds = part_seconds(times, d, 1.0, 1.0)
        if not seconds < best or devices[d, KIND] != kind or (kind == GPU and memory > devices[d, MEMORY]):
            continue
        as_fast = 0
        for e in range(len(devices)):
            if devices[e, KIND] == kind and (kind != GPU or memory <= devices[e, MEMORY]):
                as_fast += int(part_seconds(times, e, 1.0, 1.0) <= seconds)
        if as_fast >= width:
            best = seconds
    return best


@hot
def gang_optimum(times: FloatArray, devices: FloatArray, memory: float, width: int) -> float:
    """The least seconds of a task that occupies several idle devices of one kind; infinite when no kind has enough.

    It takes as long as on the slowest of them. Devices of which nothing is known (NaN) do not count.

    Args:
        times: `FIXED` and `SHARED` seconds of this task per device, for its width.
        devices: The device table of `model.view`.
        memory: Megabytes it needs on each device.
        width: How many devices it occupies.
    """
    on_cpus = _gang_on_kind(times, devices, memory, width, CPU)
    return min(on_cpus, _gang_on_kind(times, devices, memory, width, GPU))


@nb.njit(cache=True, nogil=True)
def gangs_optimum(
    times: FloatArray, memory: FloatArray, devices: FloatArray, width: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The least seconds of every task that is wide on an idle node, and whether GPUs (1) or CPUs (0) take that long.

    Arguments as for `idle_optimum`; `width` may be empty when no task is wide. NaN for tasks that are not wide.
    """
    seconds, on_gpus = np.full(len(width), np.nan), np.zeros(len(width))
    for i in range(len(width)):
        if width[i] > 1:
            seconds[i] = gang_optimum(times[i], devices, memory[i] / width[i], width[i])
            on_gpus[i] = 1.0 if _gang_on_kind(times[i], devices, 0.0, width[i], CPU) > seconds[i] else 0.0
    return seconds, on_gpus


def least_seconds(
    times: FloatArray, memory: FloatArray, devices: FloatArray, facts: FloatArray, width: IntArray | None = None
) -> FloatArray:
    """For each task the seconds below which no execution can be: any fraction, and gangs where tasks are wide."""
    least = best_idle_seconds(times, memory, devices, facts)
    if width is None or not len(width):
        return least
    together, _ = gangs_optimum(times, memory, devices, width)
    return np.where(width > 1, together * (1.0 - ROUNDING), least)


@hot
def _split_infimum(times: FloatArray, gpu: int, cpu: int, limit: float, facts: FloatArray) -> float:
    """A split with any GPU share in (0, limit] takes no less than this on idle devices."""
    gpu_shared, cpu_shared = times[SHARED, gpu], times[SHARED, cpu]
    gpu_fixed, cpu_fixed = times[FIXED, gpu], times[FIXED, cpu]
    if facts[SPLIT] != 0.0:
        # Linear in the share; the other end, share 0, is never better than the whole task on the CPU.
        return gpu_fixed + cpu_fixed + limit * gpu_shared + (1.0 - limit) * cpu_shared  # type: ignore[no-any-return]
    # Three floors, of which the highest is reached: the longer of both parts where they are equal (written without
    # cancellation), the CPU part when the GPU takes all it may, the GPU part when it takes next to nothing.
    longest = max(gpu_fixed, cpu_fixed + (1.0 - limit) * cpu_shared)
    total = gpu_shared + cpu_shared
    if total > 0.0:
        even = (gpu_fixed * cpu_shared + cpu_fixed * gpu_shared + gpu_shared * cpu_shared) / total
        longest = max(longest, even)
    return longest * (1.0 + facts[PENALTY])  # type: ignore[no-any-return]


def best_idle_seconds(times: FloatArray, memory: FloatArray, devices: FloatArray, facts: FloatArray) -> FloatArray:
    """The least seconds of every task on an idle node over all devices and all real fractions: a lower bound.

    Arguments as for `idle_optimum`. Rounding is on the safe side: the figure is at most what any decision reaches when
    computed by `part_seconds`. Infinite for a task that cannot run at all.
    """
    result = np.empty(len(memory))
    _fill_best_idle(times, memory, devices, facts, result)
    return result


@nb.njit(cache=True, nogil=True)
def _fill_best_idle(
    times: FloatArray, memory: FloatArray, devices: FloatArray, facts: FloatArray, result: FloatArray
) -> None:
    for i in range(len(memory)):
        best = math.inf
        for cpu in range(len(devices)):
            if _usable(devices, cpu, CPU):
                best = min(best, part_seconds(times[i], cpu, 1.0, 1.0))
        for gpu in range(len(devices)):
            if not _usable(devices, gpu, GPU):
                continue
            if memory[i] <= devices[gpu, MEMORY]:
                limit = 1.0
                best = min(best, part_seconds(times[i], gpu, 1.0, 1.0))
            else:
                limit = min(1.0, devices[gpu, MEMORY] / memory[i] * (1.0 + ROUNDING))
            for cpu in range(len(devices)):
                if _usable(devices, cpu, CPU) and devices[cpu, NODE] == devices[gpu, NODE]:
                    best = min(best, _split_infimum(times[i], gpu, cpu, limit, facts))
        result[i] = best * (1.0 - ROUNDING)
