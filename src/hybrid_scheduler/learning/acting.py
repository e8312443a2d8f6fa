"""How the agent acts: compiled, on its flat memory, from what the view shows and nothing else.

Devices of a kind are ranked by the completion time the agent expects, so an action means "the second-best GPU, 80 %",
not "GPU 2". Like GPUs are thereby interchangeable, unlike ones are told apart by their expected times.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from hybrid_scheduler.learning.memory import (
    COUNT_WAITING,
    CPUS,
    EMBEDDING,
    ENERGY_WEIGHT,
    FRACTION,
    FRACTIONS,
    GPUS,
    HEADER,
    HIDDEN,
    MEAN,
    SECOND,
    TASK_FEATURES,
    TIME_HIDDEN,
    TIME_INPUTS,
    TIME_WEIGHT,
    TRUST,
    USE_BACKLOG,
)
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.view import (
    AVAILABLE,
    BACKLOG,
    CPU,
    GPU,
    KIND,
    MEMORY,
    NODE,
    PART_DEVICE,
    PART_EXPECTED,
    PART_SHARE,
    PENALTY,
    SPLIT,
    TASK_INTENSITY,
    TASK_MEMORY,
    TASK_SIZE,
    WATTS,
)

CLIP = 4.0
"""Features further out than this many deviations are compressed: they stay in order, but cannot blow up a network."""
BAD = 1e30
"""Cost of an action that cannot be taken."""


@nb.njit(cache=True)
def raw_features(task: FloatArray) -> tuple[float, float, float]:
    """The task features before they are normalised."""
    return math.log(task[TASK_SIZE]), task[TASK_INTENSITY], math.log1p(task[TASK_MEMORY])


@nb.njit(cache=True)
def task_features(task: FloatArray, memory: FloatArray, x: FloatArray) -> None:
    """Write the normalised task features into the first places of `x`."""
    raw = raw_features(task)
    for k in range(TASK_FEATURES):
        z = (raw[k] - memory[MEAN + k]) / memory[MEAN + TASK_FEATURES + k]
        if abs(z) > CLIP:
            z = math.copysign(CLIP + math.log1p(abs(z) - CLIP), z)
        x[k] = z


@nb.njit(cache=True, fastmath=True)
def dense(memory: FloatArray, offset: int, rows: int, columns: int, x: FloatArray, y: FloatArray) -> int:
    """``y = W x + b`` with the weights that stand at `offset`; returns the offset behind them."""
    bias = offset + rows * columns
    for i in range(rows):
        total = memory[bias + i]
        row = memory[offset + i * columns : offset + (i + 1) * columns]
        for j in range(columns):
            total += row[j] * x[j]
        y[i] = total
    return bias + rows


@nb.njit(cache=True)
def expected_log(memory: FloatArray, count: int, device: int, kind: float, features: FloatArray) -> float:
    """The time head: log of the whole-task seconds expected on one of `count` devices, in the usual `SECOND`."""
    x, a, b, y = np.empty(TIME_INPUTS), np.empty(TIME_HIDDEN), np.empty(TIME_HIDDEN), np.empty(1)
    embedding = HEADER + count + device * EMBEDDING
    for k in range(TASK_FEATURES):
        x[k] = features[k]
    for k in range(EMBEDDING):
        x[TASK_FEATURES + k] = memory[embedding + k]
    x[TIME_INPUTS - 1] = kind
    offset = dense(memory, HEADER + count + count * EMBEDDING, TIME_HIDDEN, TIME_INPUTS, x, a)
    for k in range(TIME_HIDDEN):
        a[k] = math.tanh(a[k])
    offset = dense(memory, offset, TIME_HIDDEN, TIME_HIDDEN, a, b)
    for k in range(TIME_HIDDEN):
        b[k] = math.tanh(b[k])
    dense(memory, offset, 1, TIME_HIDDEN, b, y)
    return y[0] + memory[HEADER + device]  # type: ignore[no-any-return]


@nb.njit(cache=True)
def expected_seconds(memory: FloatArray, devices: FloatArray, features: FloatArray, seconds: FloatArray) -> None:
    """Whole-task seconds the agent expects on every device."""
    for d in range(devices.shape[0]):
        log = expected_log(memory, devices.shape[0], d, devices[d, KIND], features)
        seconds[d] = memory[SECOND] * math.exp(min(max(log, -30.0), 30.0))


@nb.njit(cache=True)
def rank(devices: FloatArray, kind: float, wanted: int, completion: FloatArray, ranked: IntArray, first: int) -> None:
    """Write the rows of the devices of a kind, best expected completion first; those that are down come last."""
    n = 0
    for d in range(devices.shape[0]):
        if devices[d, KIND] != kind:
            continue
        key = completion[d] if devices[d, AVAILABLE] > 0.0 else np.inf
        i = n
        while i > 0:
            other = ranked[first + i - 1]
            ahead = completion[other] if devices[other, AVAILABLE] > 0.0 else np.inf
            if ahead <= key:
                break
            ranked[first + i] = other
            i -= 1
        ranked[first + i] = d
        n += 1


@nb.njit(cache=True)
def partner(devices: FloatArray, completion: FloatArray, gpu: int) -> int:
    """The CPU of the GPU's node that would be done first; -1 when none is up."""
    best = -1
    for d in range(devices.shape[0]):
        if devices[d, KIND] != CPU or devices[d, AVAILABLE] == 0.0 or devices[d, NODE] != devices[gpu, NODE]:
            continue
        if best < 0 or completion[d] < completion[best]:
            best = d
    return best


@nb.njit(cache=True)
def part_of(
    action: int,
    memory: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    ranked: IntArray,
    seconds: FloatArray,
    completion: FloatArray,
    out: FloatArray,
) -> int:
    """Write the parts an action stands for; returns how many, 0 when it cannot be taken."""
    cpus, fractions = int(memory[CPUS]), int(memory[FRACTIONS])
    if action < cpus:
        first, second, share = ranked[action], -1, 1.0
    else:
        first = ranked[cpus + (action - cpus) // fractions]
        share = memory[FRACTION + (action - cpus) % fractions]
        second = partner(devices, completion, first) if share < 1.0 else -1
        if share < 1.0 and second < 0:
            return 0
    if devices[first, AVAILABLE] == 0.0:
        return 0
    stretch = 1.0 + facts[PENALTY] if second >= 0 and facts[SPLIT] == 0.0 else 1.0
    out[0, PART_DEVICE], out[0, PART_SHARE] = first, share
    out[0, PART_EXPECTED] = share * seconds[first] * stretch
    if second < 0:
        return 1
    out[1, PART_DEVICE], out[1, PART_SHARE] = second, 1.0 - share
    out[1, PART_EXPECTED] = (1.0 - share) * seconds[second] * stretch
    return 2


@nb.njit(cache=True)
def costs(
    task: FloatArray,
    memory: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    ranked: IntArray,
    seconds: FloatArray,
    completion: FloatArray,
    response: FloatArray,
    energy: FloatArray,
    out: FloatArray,
) -> None:
    """What every action costs at once, as far as the agent knows: response in seconds and energy in joules."""
    counted = memory[COUNT_WAITING]
    for action in range(len(response)):
        parts = part_of(action, memory, devices, facts, ranked, seconds, completion, out)
        response[action], energy[action] = BAD, BAD
        if parts == 0:
            continue
        g = int(out[0, PART_DEVICE])
        if devices[g, KIND] == GPU and out[0, PART_SHARE] * task[TASK_MEMORY] > devices[g, MEMORY]:
            continue
        end = counted * devices[g, BACKLOG] + out[0, PART_EXPECTED]
        joules = devices[g, WATTS] * out[0, PART_EXPECTED]
        if parts == 2:
            c = int(out[1, PART_DEVICE])
            start = counted * devices[c, BACKLOG]
            if facts[SPLIT] != 0.0:
                start = max(start, end)
            end = max(end, start + out[1, PART_EXPECTED])
            joules += devices[c, WATTS] * out[1, PART_EXPECTED]
        response[action], energy[action] = end, joules


@nb.njit(cache=True)
def evaluate(
    task: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    memory: FloatArray,
    x: FloatArray,
    seconds: FloatArray,
    completion: FloatArray,
    ranked: IntArray,
    response: FloatArray,
    energy: FloatArray,
    value: FloatArray,
    out: FloatArray,
) -> None:
    """Everything the agent thinks about a task: its state `x`, what each action costs at once, and its value."""
    cpus, gpus, hidden = int(memory[CPUS]), int(memory[GPUS]), int(memory[HIDDEN])
    count, actions = cpus + gpus, len(value)
    task_features(task, memory, x)
    expected_seconds(memory, devices, x, seconds)
    for d in range(count):
        completion[d] = devices[d, BACKLOG] + seconds[d]
    rank(devices, CPU, cpus, completion, ranked, 0)
    rank(devices, GPU, gpus, completion, ranked, cpus)
    for k in range(count):
        d = ranked[k]
        up = devices[d, AVAILABLE] > 0.0
        backlog = devices[d, BACKLOG] * memory[USE_BACKLOG]
        x[TASK_FEATURES + k] = math.log1p(backlog / memory[SECOND]) if up else 2 * CLIP
        x[TASK_FEATURES + count + k] = math.log1p(seconds[d] / memory[SECOND])
    costs(task, memory, devices, facts, ranked, seconds, completion, response, energy, out)
    a, b, y = np.empty(hidden), np.empty(hidden), np.zeros(1 + actions)
    if memory[TRUST] > 0.0:
        offset = HEADER + count + count * EMBEDDING
        offset += TIME_HIDDEN * (TIME_INPUTS + 1) + TIME_HIDDEN * (TIME_HIDDEN + 1) + TIME_HIDDEN + 1
        offset = dense(memory, offset, hidden, len(x), x, a)
        a = np.maximum(a, 0.0)
        offset = dense(memory, offset, hidden, hidden, a, b)
        b = np.maximum(b, 0.0)
        dense(memory, offset, 1 + actions, hidden, b, y)
    mean = y[1:].mean()
    for k in range(actions):
        immediate = memory[TIME_WEIGHT] * response[k] + memory[ENERGY_WEIGHT] * energy[k]
        value[k] = memory[TRUST] * (y[0] + y[1 + k] - mean) - immediate if response[k] < BAD else -BAD


@nb.njit(cache=True)
def act(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    """The compiled policy: the action of the highest value, without exploration."""
    cpus, gpus = int(state[CPUS]), int(state[GPUS])
    count, actions = cpus + gpus, cpus + gpus * int(state[FRACTIONS])
    x, seconds, completion = np.empty(TASK_FEATURES + 2 * count), np.empty(count), np.empty(count)
    ranked = np.empty(count, dtype=np.int64)
    response, energy, value = np.empty(actions), np.empty(actions), np.empty(actions)
    evaluate(task, devices, facts, state, x, seconds, completion, ranked, response, energy, value, out)
    return take(int(np.argmax(value)), value, state, devices, facts, ranked, seconds, completion, out)


@nb.njit(cache=True)
def take(action, value, memory, devices, facts, ranked, seconds, completion, out):  # type: ignore[no-untyped-def]
    """Write the decision of an action; where nothing fits, any device that is up: the memory policy decides then."""
    if value[action] > -BAD:
        return part_of(action, memory, devices, facts, ranked, seconds, completion, out)
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] > 0.0:
            out[0, PART_DEVICE], out[0, PART_SHARE], out[0, PART_EXPECTED] = d, 1.0, seconds[d]
            return 1
    return 0
