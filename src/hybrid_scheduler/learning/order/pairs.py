"""Which waiting task starts where: pairs of a task and an option are measured, scored, and the best one is started."""

from __future__ import annotations

import math
from typing import Final

import numba as nb
import numpy as np

from hybrid_scheduler.learning.actions import write_part
from hybrid_scheduler.learning.forest.option_search import STEPS
from hybrid_scheduler.learning.order.gangs import devices_up, gang_lead, idle_gang, reservation
from hybrid_scheduler.learning.order.network import (
    ADVANTAGE,
    BEST_OVER_USUAL,
    CROWD,
    DOLLARS_OVER_LEAST,
    ENERGY,
    ENERGY_WEIGHT,
    HERE_OVER_BEST,
    HERE_OVER_EARLIEST,
    IDLE_SHARE,
    IS_SHORTEST,
    IS_SPLIT,
    JOULES_OVER_LEAST,
    MAX_OVERTAKEN,
    MONEY,
    MONEY_WEIGHT,
    N_INPUTS,
    UNSUITED,
    WAITED_OVER_BEST,
    WAITED_OVER_LONGEST,
    graph_score,
    score,
)
from hybrid_scheduler.model.device_columns import (
    ANY_NODE,
    AVAILABLE,
    BACKLOG,
    CPU,
    GPU,
    KIND,
    MEMORY,
    NODE,
    PRICE,
    QUEUED,
    WATTS,
)
from hybrid_scheduler.model.kernel import CHOSEN, PART_EXPECTED, PENALTY, SPLIT, WAITING_COUNT, WAITING_LOG
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import (
    FIXED,
    OVERTAKEN,
    SHARED,
    TASK_MEMORY,
    TASK_RANK,
    TASK_WIDTH,
    WAITING_SINCE,
)

TINY: Final = 1e-12
FAR: Final = 4.0
"""Logarithms of ratios are cut off here: beyond a factor of fifty it makes no difference."""
UNSUITABLE: Final = 3.0
"""What a device that a task does not fit on counts as its logarithm of inefficiency, in the mean of the tasks shown."""

SECONDS, EARLIEST, JOULES, DOLLARS = range(4)
"""Columns of what is best for a task."""


@nb.njit(cache=True)
def _log_ratio(a: float, b: float) -> float:
    return min(max(math.log(max(a, TINY) / max(b, TINY)), -FAR), FAR)


@nb.njit(cache=True)
def _fits_somewhere(memory: float, devices: FloatArray) -> bool:
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] > 0.0 and (devices[d, KIND] != GPU or memory <= devices[d, MEMORY]):
            return True
    return False


@nb.njit(cache=True)
def _may_take(memory: float, devices: FloatArray, d: int, fits: bool) -> bool:
    """Whether a device is up and the task fits, or fits nowhere: the memory policy has the last word then."""
    roomy = not fits or devices[d, KIND] != GPU or memory <= devices[d, MEMORY]
    return devices[d, AVAILABLE] > 0.0 and roomy


@nb.njit(cache=True)
def _seconds(times: FloatArray, device: int, share: float, stretch: float) -> float:
    """What a share of a task is expected to take on a device."""
    return (times[FIXED, device] + share * times[SHARED, device]) * stretch  # type: ignore[no-any-return]


@nb.njit(cache=True)
def _best_split(
    times: FloatArray, gpu: int, cpu: int, memory: float, limit: float, serial: bool, stretch: float
) -> tuple[float, int]:
    """Seconds and step of the share of two idle devices that ends first; infinite when none fits."""
    best, best_step = np.inf, 0
    for step in range(1, STEPS):
        share = step / STEPS
        if share * memory > limit:
            break
        on_gpu, on_cpu = _seconds(times, gpu, share, stretch), _seconds(times, cpu, 1.0 - share, stretch)
        took = on_gpu + on_cpu if serial else max(on_gpu, on_cpu)
        if took < best:
            best, best_step = took, step
    return best, best_step


@nb.njit(cache=True)
def _best_helper(
    k: int,
    gpu: int,
    waiting: FloatArray,
    times: FloatArray,
    devices: FloatArray,
    slower: FloatArray,
    serial: bool,
    stretch: float,
) -> tuple[float, int, int]:
    """The idle CPU of its node with which a GPU would end a task first: seconds, CPU and step; infinite without one."""
    best, helper, best_step = np.inf, -1, 0
    for e in range(devices.shape[0] if devices[gpu, KIND] == GPU else 0):
        near = devices[e, KIND] == CPU and devices[e, NODE] == devices[gpu, NODE]
        if near and devices[e, QUEUED] == 0.0 and devices[e, AVAILABLE] > 0.0 and slower[k, e] < np.inf:
            memory, limit = waiting[k, TASK_MEMORY], devices[gpu, MEMORY]
            took, step = _best_split(times[k], gpu, e, memory, limit, serial, stretch)
            if took < best:
                best, helper, best_step = took, e, step
    return best, helper, best_step


@nb.njit(cache=True)
def _write(row: int, device: int, helper: int, step: int, times: FloatArray, stretch: float, out: FloatArray) -> int:
    """Write what starts: a task on a device, or on a GPU and its helper. How long a probe takes nobody knows: 0."""
    out[CHOSEN, 0] = row
    share = 1.0 if helper < 0 else step / STEPS
    expected = _seconds(times[row], device, share, 1.0 if helper < 0 else stretch)
    write_part(out, 0, device, share, 0.0 if math.isnan(expected) else expected)
    if helper < 0:
        return 1
    write_part(out, 1, helper, 1.0 - share, _seconds(times[row], helper, 1.0 - share, stretch))
    return 2


@nb.njit(cache=True)
def _write_gang(
    row: int, lead: int, waiting: FloatArray, times: FloatArray, devices: FloatArray, out: FloatArray
) -> int:
    """Write that a wide task starts on a device and its gang."""
    _write(row, lead, -1, STEPS, times, 1.0, out)
    out[0, PART_EXPECTED] = idle_gang(times[row], devices, lead, int(waiting[row, TASK_WIDTH]))
    return 1


@nb.njit(cache=True)
def _probe(number: int, waiting: FloatArray, times: FloatArray, devices: FloatArray) -> tuple[int, int]:
    """A task and an idle device of which nothing is known for it, devices in turn; -1 when there is no such pair."""
    count = devices.shape[0]
    start = int((number * 0.7548776662466927) % 1.0 * count)
    for row in range(waiting.shape[0]):
        width = int(waiting[row, TASK_WIDTH])
        memory = waiting[row, TASK_MEMORY] / width
        fits = _fits_somewhere(memory, devices)
        for k in range(count):
            d = (start + k) % count
            unknown = math.isnan(times[row, SHARED, d])
            free = devices[d, QUEUED] == 0.0 and (width == 1 or idle_gang(times[row], devices, d, width) != np.inf)
            if unknown and free and _may_take(memory, devices, d, fits):
                return row, d
    return -1, -1


@nb.njit(cache=True)
def _turn(waiting: FloatArray, times: FloatArray, devices: FloatArray, limit: float) -> tuple[int, int]:
    """A task that has been overtaken as often as may be and the idle device that would finish it first; -1 if none.

    While that device is busy others may start elsewhere: they do not keep it waiting.
    """
    row = 0
    for k in range(1, waiting.shape[0]):
        more = waiting[k, OVERTAKEN] - waiting[row, OVERTAKEN]
        if more > 0.0 or (more == 0.0 and waiting[k, WAITING_SINCE] < waiting[row, WAITING_SINCE]):
            row = k
    if waiting[row, OVERTAKEN] < limit:
        return -1, -1
    memory, width = waiting[row, TASK_MEMORY], int(waiting[row, TASK_WIDTH])
    if width > 1:
        device = gang_lead(times[row], devices, memory, width)
        starts = (
            device >= 0 and devices[device, QUEUED] == 0.0 and idle_gang(times[row], devices, device, width) < np.inf
        )
        return (row, device) if starts else (-1, -1)
    fits = _fits_somewhere(memory, devices)
    best, device = np.inf, -1
    for d in range(devices.shape[0]):
        end = devices[d, BACKLOG] + times[row, FIXED, d] + times[row, SHARED, d]
        if end < best and _may_take(memory, devices, d, fits):
            best, device = end, d
    return (row, device) if device >= 0 and devices[device, QUEUED] == 0.0 else (-1, -1)


@nb.njit(cache=True)
def _survey(waiting: FloatArray, times: FloatArray, devices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the pairs are measured by.

    Returns:
        Per task and device the logarithm of its seconds there over the best, infinite where it cannot run; per task
        the `SECONDS`, `EARLIEST`, `JOULES` and `DOLLARS` of the best device for each; per device the mean of the first
        over the tasks.
    """
    rows, count = waiting.shape[0], devices.shape[0]
    slower, least, unsuited = np.empty((rows, count)), np.full((rows, 4), np.inf), np.zeros(count)
    cpus, gpus = devices_up(devices, CPU, ANY_NODE), devices_up(devices, GPU, ANY_NODE)
    for k in range(rows):
        width = int(waiting[k, TASK_WIDTH])
        memory = waiting[k, TASK_MEMORY] / width
        fits = _fits_somewhere(memory, devices)
        for d in range(count):
            seconds = max(_seconds(times[k], d, 1.0, 1.0), TINY)
            usable = not math.isnan(seconds) and _may_take(memory, devices, d, fits)
            usable = usable and width <= (gpus if devices[d, KIND] == GPU else cpus)
            slower[k, d] = seconds if usable else np.inf
            if usable:
                least[k, SECONDS] = min(least[k, SECONDS], seconds)
                least[k, EARLIEST] = min(least[k, EARLIEST], devices[d, BACKLOG] + seconds)
                least[k, JOULES] = min(least[k, JOULES], seconds * devices[d, WATTS])
                least[k, DOLLARS] = min(least[k, DOLLARS], seconds * devices[d, PRICE])
        for d in range(count):
            if slower[k, d] < np.inf:
                slower[k, d] = math.log(slower[k, d] / least[k, SECONDS])
                unsuited[d] += slower[k, d] / rows
            else:
                unsuited[d] += UNSUITABLE / rows
    return slower, least, unsuited


@nb.njit(cache=True)
def _note_room(x: FloatArray, waiting: float, idle: int, up: int, state: FloatArray) -> None:
    """Inputs that all pairs share."""
    x[CROWD] = math.log(1.0 + waiting / up)
    x[IDLE_SHARE] = idle / up
    x[ENERGY_WEIGHT], x[MONEY_WEIGHT] = state[ENERGY], state[MONEY]


@nb.njit(cache=True)
def _note_task(x: FloatArray, k: int, waited: float, longest: float, usual: float, least: FloatArray) -> None:
    """Inputs that all options of a task share."""
    x[BEST_OVER_USUAL] = min(max(math.log(max(least[k, SECONDS], TINY)) - usual, -FAR), FAR)
    x[WAITED_OVER_BEST] = math.log(1.0 + waited / least[k, SECONDS])
    x[WAITED_OVER_LONGEST] = waited / longest
    x[IS_SHORTEST] = 1.0 if k == 0 else 0.0


@nb.njit(cache=True)
def _option_score(
    x: FloatArray,
    seconds: float,
    joules: float,
    dollars: float,
    split: bool,
    suits: float,
    unsuited: float,
    least: FloatArray,
    rank: float,
    state: FloatArray,
) -> float:
    """The score of one option, given what its task and the room have noted."""
    x[HERE_OVER_BEST] = math.log(max(seconds, TINY) / least[SECONDS])
    x[HERE_OVER_EARLIEST] = _log_ratio(seconds, least[EARLIEST])
    x[ADVANTAGE] = suits - unsuited
    x[IS_SPLIT] = 1.0 if split else 0.0
    x[UNSUITED] = unsuited
    x[JOULES_OVER_LEAST] = state[ENERGY] * _log_ratio(joules, least[JOULES])
    x[DOLLARS_OVER_LEAST] = state[MONEY] * _log_ratio(dollars, least[DOLLARS])
    value = score(x, state)
    return value if rank == 0.0 else value + graph_score(x, rank, state)


@nb.njit(cache=True)
def _has_twin(k: int, d: int, devices: FloatArray, slower: FloatArray, unsuited: FloatArray) -> bool:
    """Whether an idle device before this one is like it in every respect, so that its score would be the same."""
    for e in range(d):
        if (
            devices[e, QUEUED] == 0.0
            and slower[k, e] == slower[k, d]
            and unsuited[e] == unsuited[d]
            and devices[e, KIND] == devices[d, KIND]
            and devices[e, NODE] == devices[d, NODE]
            and devices[e, WATTS] == devices[d, WATTS]
            and devices[e, PRICE] == devices[d, PRICE]
        ):
            return True
    return False


@nb.njit(cache=True)
def _count_idle(devices: FloatArray) -> tuple[int, int]:
    """How many devices are idle, and how many are up."""
    idle, up = 0, 0
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] > 0.0:
            up += 1
            idle += 1 if devices[d, QUEUED] == 0.0 else 0
    return idle, up


@nb.njit(cache=True)
def start_best(
    number: int,
    now: float,
    waiting: FloatArray,
    times: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    state: FloatArray,
    out: FloatArray,
) -> int:
    """Write the pair to start now; returns its parts, 0 to let all wait for something better.

    A task whose turn it is comes first, then a device nobody knows, then the pair with the highest score above 0; when
    every device is idle the best pair starts whatever its score, so that nothing waits for ever.

    Args:
        number: Decisions made before.
        now: The moment.
        waiting: The tasks shown, a row each.
        times: Their `FIXED` and `SHARED` seconds per device.
        devices: The device table.
        facts: The public facts.
        state: Weights, what counts and the limit of overtaking (`STATE` numbers).
        out: Gets the parts and the row.
    """
    idle, up = _count_idle(devices)
    if idle == 0:
        return 0
    row, device = _turn(waiting, times, devices, state[MAX_OVERTAKEN])
    if row < 0:
        row, device = _probe(number, waiting, times, devices)
    if row >= 0:
        return _write(row, device, -1, STEPS, times, 1.0, out)
    serial = facts[SPLIT] != 0.0
    stretch = 1.0 if serial else 1.0 + facts[PENALTY]
    slower, least, unsuited = _survey(waiting, times, devices)
    longest = TINY
    for k in range(waiting.shape[0]):
        longest = max(longest, now - waiting[k, WAITING_SINCE])
    oldest, lead, until, spare = reservation(waiting, times, devices)
    if oldest >= 0 and until < 0.0:
        return _write_gang(oldest, lead, waiting, times, devices, out)
    x = np.empty(N_INPUTS)
    _note_room(x, facts[WAITING_COUNT], idle, up, state)
    best, floor = -np.inf, -np.inf if idle == up else 0.0
    best_row, best_device, best_helper, best_step = -1, -1, -1, STEPS
    for k in range(waiting.shape[0]):
        _note_task(x, k, now - waiting[k, WAITING_SINCE], longest, facts[WAITING_LOG], least)
        rank = waiting[k, TASK_RANK]
        for d in range(devices.shape[0]):
            busy = devices[d, QUEUED] > 0.0 or slower[k, d] == np.inf
            if busy or _has_twin(k, d, devices, slower, unsuited):
                continue
            seconds, width = _seconds(times[k], d, 1.0, 1.0), waiting[k, TASK_WIDTH]
            if width > 1.0:
                seconds = idle_gang(times[k], devices, d, int(width))
                if seconds == np.inf:
                    continue
            if oldest >= 0 and devices[d, KIND] == devices[lead, KIND] and seconds > until and width > spare:
                continue
            # Nothing is better than the best device, and what others need is reserved.
            lowest = -np.inf if oldest >= 0 and slower[k, d] <= 0.0 else floor
            joules, dollars = seconds * devices[d, WATTS], seconds * devices[d, PRICE]
            value = _option_score(x, seconds, joules, dollars, False, slower[k, d], unsuited[d], least[k], rank, state)
            if value > best and value > lowest:
                best, best_row, best_device, best_helper, best_step = value, k, d, -1, STEPS
            if width > 1.0 or oldest >= 0:
                continue
            took, helper, step = _best_helper(k, d, waiting, times, devices, slower, serial, stretch)
            if took < seconds:
                on_gpu = _seconds(times[k], d, step / STEPS, stretch)
                on_cpu = _seconds(times[k], helper, 1.0 - step / STEPS, stretch)
                joules = on_gpu * devices[d, WATTS] + on_cpu * devices[helper, WATTS]
                dollars = on_gpu * devices[d, PRICE] + on_cpu * devices[helper, PRICE]
                value = _option_score(x, took, joules, dollars, True, slower[k, d], unsuited[d], least[k], rank, state)
                if value > best and value > floor:
                    best, best_row, best_device, best_helper, best_step = value, k, d, helper, step
    if best_row < 0:
        return 0
    if waiting[best_row, TASK_WIDTH] > 1.0:
        return _write_gang(best_row, best_device, waiting, times, devices, out)
    return _write(best_row, best_device, best_helper, best_step, times, stretch, out)


@nb.njit(cache=True)
def device_scores(waiting: FloatArray, times: FloatArray, devices: FloatArray, state: FloatArray) -> FloatArray:
    """The score of a task that has just come into an empty room, as a whole on every device; NaN where it cannot start.

    What counts in `start_best` beside this: who else waits.
    """
    scores = np.full(devices.shape[0], np.nan)
    idle, up = _count_idle(devices)
    slower, least, unsuited = _survey(waiting, times, devices)
    if least[0, SECONDS] == np.inf:
        return scores
    x = np.empty(N_INPUTS)
    _note_room(x, 1.0, idle, up, state)
    _note_task(x, 0, 0.0, 1.0, math.log(max(least[0, SECONDS], TINY)), least)
    for d in range(devices.shape[0]):
        if devices[d, QUEUED] == 0.0 and slower[0, d] < np.inf:
            seconds = _seconds(times[0], d, 1.0, 1.0)
            joules, dollars = seconds * devices[d, WATTS], seconds * devices[d, PRICE]
            scores[d] = _option_score(
                x, seconds, joules, dollars, False, slower[0, d], unsuited[d], least[0], waiting[0, TASK_RANK], state
            )
    return scores
