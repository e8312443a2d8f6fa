"""How the agent acts: compiled, on one flat array, from what the view shows and nothing else.

The array (`params`): a header, the constants of the devices, then the weights of the two networks, so that compiled
code needs no framework. `Layout` says where each piece stands; compiled code works the offsets out from the header in
the same order. What an action means is said in `learning.actions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numba as nb
import numpy as np

from hybrid_scheduler.learning.actions import (
    action_count,
    decode,
    expect_completion,
    first_done,
    rank_devices,
    write_parts,
)
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, MEMORY, NODE, PRICE, WATTS
from hybrid_scheduler.model.kernel import PART_DEVICE, PART_EXPECTED, PART_SHARE, SPLIT
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import SHARED, TASK_INTENSITY, TASK_MEMORY, TASK_SIZE

CPUS: Final = 0
GPUS: Final = 1
FRACTIONS: Final = 2
HIDDEN: Final = 3
TRUST: Final = 4
"""How far the learned part of the value counts: 1 normally, 0 right after drift."""
TIME_WEIGHT: Final = 5
"""Value of a second of response: weight of time / mean response."""
ENERGY_WEIGHT: Final = 6
"""Value of a joule: weight of energy / mean energy."""
SECOND: Final = 7
"""A typical number of seconds, the unit in which the networks see times."""
USE_BACKLOG: Final = 8
MEAN: Final = 9
"""Three means of the task features (log size, intensity, log memory), then three deviations."""
FRACTION: Final = 15
"""The GPU fractions, ascending, at most `MAX_FRACTIONS`."""
MAX_FRACTIONS: Final = 8
COUNT_WAITING: Final = FRACTION + MAX_FRACTIONS
"""Whether the time an action costs includes the waiting before it."""
MONEY_WEIGHT: Final = COUNT_WAITING + 1
"""Value of a dollar: weight of money / mean cost; what is new comes last, so that older files can be read."""
HEADER: Final = MONEY_WEIGHT + 1

TASK_FEATURES: Final = 3
EMBEDDING: Final = 4
TIME_INPUTS: Final = TASK_FEATURES + EMBEDDING + 1
TIME_HIDDEN: Final = 32

CLIP = 4.0
"""Features further out than this many deviations are compressed: they stay in order, but cannot blow up a network."""
BAD = 1e30
"""Cost of an action that cannot be taken."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of one agent's networks and where their weights stand in the flat array."""

    cpus: int
    gpus: int
    fractions: int
    hidden: int

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.cpus + self.gpus

    @property
    def actions(self) -> int:
        """The CPUs whole, then every GPU with every fraction."""
        return action_count(self.cpus, self.gpus, self.fractions)

    @property
    def inputs(self) -> int:
        """Task features, then backlog and expected time of every device."""
        return TASK_FEATURES + 2 * self.devices

    @property
    def time_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Weights of the time head: device embeddings, then three layers."""
        h = TIME_HIDDEN
        return (self.devices, EMBEDDING), (h, TIME_INPUTS), (h,), (h, h), (h,), (1, h), (1,)

    @property
    def value_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Weights of the value network: two layers, then the state value and the advantages."""
        h = self.hidden
        return (h, self.inputs), (h,), (h, h), (h,), (1 + self.actions, h), (1 + self.actions,)

    def empty(self) -> FloatArray:
        """An array of zeros with the sizes filled in."""
        count = sum(int(np.prod(s)) for s in (*self.time_shapes, *self.value_shapes))
        params = np.zeros(HEADER + self.devices + count)
        params[[CPUS, GPUS, FRACTIONS, HIDDEN]] = self.cpus, self.gpus, self.fractions, self.hidden
        params[[TIME_WEIGHT, SECOND, USE_BACKLOG, COUNT_WAITING]] = 1.0
        params[MEAN + TASK_FEATURES : MEAN + 2 * TASK_FEATURES] = 1.0
        return params

    def bias(self, params: FloatArray) -> FloatArray:
        """View into the array: what is added to the log seconds of each device."""
        return params[HEADER : HEADER + self.devices]


@nb.njit(cache=True)
def raw_features(task: FloatArray) -> tuple[float, float, float]:
    """The task features before they are normalised."""
    return math.log(task[TASK_SIZE]), task[TASK_INTENSITY], math.log1p(task[TASK_MEMORY])


@nb.njit(cache=True)
def task_features(task: FloatArray, params: FloatArray, x: FloatArray) -> None:
    """Write the normalised task features into the first places of `x`."""
    raw = raw_features(task)
    for k in range(TASK_FEATURES):
        z = (raw[k] - params[MEAN + k]) / params[MEAN + TASK_FEATURES + k]
        if abs(z) > CLIP:
            z = math.copysign(CLIP + math.log1p(abs(z) - CLIP), z)
        x[k] = z


@nb.njit(cache=True, fastmath=True)
def dense(params: FloatArray, offset: int, rows: int, columns: int, x: FloatArray, y: FloatArray) -> int:
    """``y = W x + b`` with the weights that stand at `offset`; returns the offset behind them."""
    bias = offset + rows * columns
    for i in range(rows):
        total = params[bias + i]
        row = params[offset + i * columns : offset + (i + 1) * columns]
        for j in range(columns):
            total += row[j] * x[j]
        y[i] = total
    return bias + rows


@nb.njit(cache=True)
def expected_log(params: FloatArray, count: int, device: int, kind: float, features: FloatArray) -> float:
    """The time head: log of the whole-task seconds expected on one of `count` devices, in units of `SECOND`."""
    x, a, b, y = np.empty(TIME_INPUTS), np.empty(TIME_HIDDEN), np.empty(TIME_HIDDEN), np.empty(1)
    embedding = HEADER + count + device * EMBEDDING
    for k in range(TASK_FEATURES):
        x[k] = features[k]
    for k in range(EMBEDDING):
        x[TASK_FEATURES + k] = params[embedding + k]
    x[TIME_INPUTS - 1] = kind
    offset = dense(params, HEADER + count + count * EMBEDDING, TIME_HIDDEN, TIME_INPUTS, x, a)
    for k in range(TIME_HIDDEN):
        a[k] = math.tanh(a[k])
    offset = dense(params, offset, TIME_HIDDEN, TIME_HIDDEN, a, b)
    for k in range(TIME_HIDDEN):
        b[k] = math.tanh(b[k])
    dense(params, offset, 1, TIME_HIDDEN, b, y)
    return y[0] + params[HEADER + device]  # type: ignore[no-any-return]


@nb.njit(cache=True)
def expected_seconds(params: FloatArray, devices: FloatArray, features: FloatArray, times: FloatArray) -> None:
    """Whole-task seconds the agent expects on every device; all of them scale with the share."""
    for d in range(devices.shape[0]):
        log = expected_log(params, devices.shape[0], d, devices[d, KIND], features)
        times[SHARED, d] = params[SECOND] * math.exp(min(max(log, -30.0), 30.0))


@nb.njit(cache=True)
def part_of(
    action: int,
    params: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    order: IntArray,
    times: FloatArray,
    completion: FloatArray,
    out: FloatArray,
) -> int:
    """Write the parts an action stands for; returns how many, 0 when it cannot be taken."""
    fractions = params[FRACTION : FRACTION + int(params[FRACTIONS])]
    device, share = decode(action, int(params[CPUS]), fractions, order)
    cpu = first_done(devices, completion, CPU, devices[device, NODE]) if share < 1.0 else -1
    if devices[device, AVAILABLE] == 0.0 or (share < 1.0 and cpu < 0):
        return 0
    return write_parts(device, share, cpu, times, facts, out)


@nb.njit(cache=True)
def costs(
    task: FloatArray,
    params: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    order: IntArray,
    times: FloatArray,
    completion: FloatArray,
    response: FloatArray,
    energy: FloatArray,
    money: FloatArray,
    out: FloatArray,
) -> None:
    """What every action costs at once, as far as the agent knows: seconds of response, joules, dollars."""
    counted = params[COUNT_WAITING]
    for action in range(len(response)):
        parts = part_of(action, params, devices, facts, order, times, completion, out)
        response[action], energy[action], money[action] = BAD, BAD, BAD
        if parts == 0:
            continue
        g = int(out[0, PART_DEVICE])
        if devices[g, KIND] == GPU and out[0, PART_SHARE] * task[TASK_MEMORY] > devices[g, MEMORY]:
            continue
        end = counted * devices[g, BACKLOG] + out[0, PART_EXPECTED]
        joules = devices[g, WATTS] * out[0, PART_EXPECTED]
        dollars = devices[g, PRICE] * out[0, PART_EXPECTED]
        if parts == 2:
            c = int(out[1, PART_DEVICE])
            start = counted * devices[c, BACKLOG]
            if facts[SPLIT] != 0.0:
                start = max(start, end)
            end = max(end, start + out[1, PART_EXPECTED])
            joules += devices[c, WATTS] * out[1, PART_EXPECTED]
            dollars += devices[c, PRICE] * out[1, PART_EXPECTED]
        response[action], energy[action], money[action] = end, joules, dollars


@nb.njit(cache=True)
def evaluate(
    task: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    params: FloatArray,
    x: FloatArray,
    times: FloatArray,
    completion: FloatArray,
    order: IntArray,
    response: FloatArray,
    energy: FloatArray,
    money: FloatArray,
    value: FloatArray,
    out: FloatArray,
) -> None:
    """The whole evaluation of a task: the state `x`, what each action costs at once, and its value."""
    cpus, gpus, hidden = int(params[CPUS]), int(params[GPUS]), int(params[HIDDEN])
    count, actions = cpus + gpus, len(value)
    task_features(task, params, x)
    expected_seconds(params, devices, x, times)
    expect_completion(devices, times, completion)
    rank_devices(devices, completion, order)
    for k in range(count):
        d = order[k]
        up = devices[d, AVAILABLE] > 0.0
        backlog = devices[d, BACKLOG] * params[USE_BACKLOG]
        x[TASK_FEATURES + k] = math.log1p(backlog / params[SECOND]) if up else 2 * CLIP
        x[TASK_FEATURES + count + k] = math.log1p(times[SHARED, d] / params[SECOND])
    costs(task, params, devices, facts, order, times, completion, response, energy, money, out)
    a, b, y = np.empty(hidden), np.empty(hidden), np.zeros(1 + actions)
    if params[TRUST] > 0.0:
        offset = HEADER + count + count * EMBEDDING
        offset += TIME_HIDDEN * (TIME_INPUTS + 1) + TIME_HIDDEN * (TIME_HIDDEN + 1) + TIME_HIDDEN + 1
        offset = dense(params, offset, hidden, len(x), x, a)
        a = np.maximum(a, 0.0)
        offset = dense(params, offset, hidden, hidden, a, b)
        b = np.maximum(b, 0.0)
        dense(params, offset, 1 + actions, hidden, b, y)
    mean = y[1:].mean()
    for k in range(actions):
        immediate = params[TIME_WEIGHT] * response[k] + params[ENERGY_WEIGHT] * energy[k]
        immediate += params[MONEY_WEIGHT] * money[k]
        value[k] = params[TRUST] * (y[0] + y[1 + k] - mean) - immediate if response[k] < BAD else -BAD


@nb.njit(cache=True)
def act(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    """The compiled policy: the action of the highest value, without exploration."""
    cpus, gpus = int(state[CPUS]), int(state[GPUS])
    count, actions = cpus + gpus, cpus + gpus * int(state[FRACTIONS])
    x, expected, completion = np.empty(TASK_FEATURES + 2 * count), np.zeros((2, count)), np.empty(count)
    order = np.empty(count, dtype=np.int64)
    response, energy, money, value = np.empty(actions), np.empty(actions), np.empty(actions), np.empty(actions)
    evaluate(task, devices, facts, state, x, expected, completion, order, response, energy, money, value, out)
    return take(int(np.argmax(value)), value, state, devices, facts, order, expected, completion, out)


@nb.njit(cache=True)
def take(action, value, params, devices, facts, order, times, completion, out):  # type: ignore[no-untyped-def]
    """Write the decision of an action; where nothing fits, any device that is up: the memory policy decides then."""
    if value[action] > -BAD:
        return part_of(action, params, devices, facts, order, times, completion, out)
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] > 0.0:
            return write_parts(d, 1.0, -1, times, facts, out)
    return 0
