"""How the agent acts: compiled, on one flat array, from what the view shows and nothing else.

Every option (a device alone, or a GPU with the first CPU of its node; `learning.actions`) goes through the same small
network, with inputs that are ratios or counts, so that one set of weights fits any number and mix of devices. Where the
pieces of the array stand is said in `agent_layout`.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from hybrid_scheduler.learning.actions import (
    decode,
    expect_completion,
    first_done,
    queue_price,
    queues_with_data,
    rank_devices,
    write_parts,
)
from hybrid_scheduler.learning.agent_layout import (
    CHARGE,
    CONTEXT,
    COUNT_WAITING,
    CPUS,
    DEVICE_FIGURES,
    EXCESS,
    FIGURES,
    FRACTION,
    FRACTIONS,
    GOALS,
    GPUS,
    HEADER,
    HIDDEN,
    OPTION,
    QUEUES,
    SERVICE,
    SHOWN_CPUS,
    SHOWN_GPUS,
    SOONEST,
    TASK_FEATURES,
    TIME_HIDDEN,
    TIME_INPUTS,
    TIME_OUTPUTS,
    TRUST,
    USE_BACKLOG,
    USUAL,
)
from hybrid_scheduler.learning.device_times import CLIP, dense, expected_seconds, task_features
from hybrid_scheduler.model.device_columns import (
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
from hybrid_scheduler.model.kernel import PART_DEVICE, PART_EXPECTED, PART_SHARE, SPLIT
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import SHARED, TASK_MEMORY, TASK_RANK

BAD = 1e30
"""Cost of an option that cannot be taken."""
MOST = 10.0
"""The largest value of an input that is a plain ratio."""


PUBLIC = (KIND, NODE, MEMORY, WATTS)
"""What is known of a device before it has done anything, but for its price."""


@nb.njit(cache=True)
def same_devices(table: FloatArray, devices: FloatArray) -> bool:
    """Whether these are the devices whose `PUBLIC` columns are the table."""
    if table.shape[0] != devices.shape[0]:
        return False
    for d in range(table.shape[0]):
        for k, column in enumerate(PUBLIC):
            if table[d, k] != devices[d, column]:
                return False
    return True


@nb.njit(cache=True)
def part_of(
    option: int,
    params: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    order: IntArray,
    times: FloatArray,
    completion: FloatArray,
    out: FloatArray,
) -> int:
    """Write the parts an option stands for; returns how many, 0 when it cannot be taken."""
    fractions = params[FRACTION : FRACTION + int(params[FRACTIONS])]
    device, share = decode(option, min(int(params[CPUS]), SHOWN_CPUS), fractions, order)
    cpu = first_done(devices, completion, CPU, devices[device, NODE]) if share < 1.0 else -1
    if devices[device, AVAILABLE] == 0.0 or (share < 1.0 and cpu < 0):
        return 0
    return write_parts(device, share, cpu, times, facts, out)


@nb.njit(cache=True)
def shown_devices(
    memory: float, params: FloatArray, devices: FloatArray, completion: FloatArray, shown: IntArray
) -> None:
    """Write the rows of the CPUs, then of the GPUs, that would be done first, as many as there are options for.

    GPUs into which not even the smallest share of the task fits come last.
    """
    cpus, gpus = int(params[CPUS]), int(params[GPUS])
    order, key = np.empty(cpus + gpus, dtype=np.int64), completion.copy()
    for d in range(cpus + gpus):
        if devices[d, KIND] == GPU and params[FRACTION] * memory > devices[d, MEMORY]:
            key[d] = np.inf
    rank_devices(devices, key, order)
    few = min(cpus, SHOWN_CPUS)
    shown[:few] = order[:few]
    shown[few:] = order[cpus : cpus + min(gpus, SHOWN_GPUS)]


@nb.njit(cache=True)
def queues_with(params: FloatArray, devices: FloatArray, out: FloatArray, parts: int, row: FloatArray) -> None:
    """The inputs about the queues of the node, with the parts that `out` would add to them.

    First when a usual task would be done on each of the devices where that is soonest; then the mean queue, plain,
    weighted by how fast devices are, and of squares; then the share of idle devices.
    """
    count, service = devices.shape[0], params[SERVICE]
    total, squares, weighted, weights = 0.0, 0.0, 0.0, 0.0
    idle, up, fastest = 0, 0, np.inf
    for d in range(count):
        fastest = min(fastest, params[HEADER + d * DEVICE_FIGURES + DEVICE_FIGURES - 1])
    for d in range(count):
        if devices[d, AVAILABLE] == 0.0:
            continue
        backlog = params[USE_BACKLOG] * devices[d, BACKLOG]
        for part in range(parts):
            if int(out[part, PART_DEVICE]) == d:
                backlog += out[part, PART_EXPECTED]
        slowness = math.exp(min(params[HEADER + d * DEVICE_FIGURES + DEVICE_FIGURES - 1] - fastest, CLIP))
        done = math.log(backlog / service + slowness)
        place = min(up, SOONEST)
        while place > 0 and row[place - 1] > done:
            if place < SOONEST:
                row[place] = row[place - 1]
            place -= 1
        if place < SOONEST:
            row[place] = done
        up += 1
        idle += backlog == 0.0
        total += backlog
        squares += backlog * backlog
        weighted += backlog / slowness
        weights += 1.0 / slowness
    for place in range(up, SOONEST):
        row[place] = row[place - 1] if place > 0 else 0.0
    if up == 0:
        row[SOONEST:] = 0.0
        return
    row[SOONEST] = math.log1p(total / (up * service))
    row[SOONEST + 1] = math.log1p(weighted / (weights * service))
    row[SOONEST + 2] = math.log1p(math.sqrt(squares / up) / service)
    row[SOONEST + 3] = idle / up


@nb.njit(cache=True)
def options_of(
    task: FloatArray,
    params: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    shown: IntArray,
    times: FloatArray,
    completion: FloatArray,
    figures: FloatArray,
    options: FloatArray,
    out: FloatArray,
) -> None:
    """What every option costs at once, as far as the agent knows, and the inputs that say what it does.

    Args:
        task: The task's columns.
        params: The flat array.
        devices: The view's table.
        facts: The view's facts.
        shown: Rows of the devices among the options.
        times: Seconds the agent expects on every device.
        completion: When each device would be done with the task.
        figures: Filled here for each option (`FIGURES`); `BAD` when it cannot be taken.
        options: Filled here but for the places that compare options (`compare`).
        out: Room for two parts.
    """
    counted, queues, service = params[COUNT_WAITING], params[USE_BACKLOG], params[SERVICE]
    excess = params[EXCESS]
    charge = queue_price(params[CHARGE] * params[COUNT_WAITING] * params[USE_BACKLOG], task[TASK_RANK])
    for k in range(options.shape[0]):
        parts = part_of(k, params, devices, facts, shown, times, completion, out)
        figures[k, :] = BAD
        options[k, :] = 0.0
        if parts == 0:
            continue
        g = int(out[0, PART_DEVICE])
        if devices[g, KIND] == GPU and out[0, PART_SHARE] * task[TASK_MEMORY] > devices[g, MEMORY]:
            continue
        work, row = out[0, PART_EXPECTED], options[k]
        end = counted * devices[g, BACKLOG] + work
        idle, behind = work, devices[g, QUEUED] * work
        joules, dollars = devices[g, WATTS] * work, devices[g, PRICE] * work
        row[0] = 1.0 - devices[g, KIND]
        row[2] = math.log1p(work / service)
        row[4] = math.log1p(queues * devices[g, BACKLOG] / service)
        row[6] = work
        row[11] = math.log1p(queues * devices[g, QUEUED])
        row[13] = min(queues * devices[g, QUEUED] * work / excess, MOST)
        row[15] = g
        row[16] = -1.0
        if parts == 2:
            c, rest = int(out[1, PART_DEVICE]), out[1, PART_EXPECTED]
            start = counted * devices[c, BACKLOG]
            idle = max(idle, rest)
            behind += devices[c, QUEUED] * rest
            if facts[SPLIT] != 0.0:
                start, idle = max(start, end), work + rest
            end = max(end, start + rest)
            joules += devices[c, WATTS] * rest
            dollars += devices[c, PRICE] * rest
            row[1] = out[1, PART_SHARE]
            row[3] = math.log1p(rest / service)
            row[5] = math.log1p(queues * devices[c, BACKLOG] / service)
            row[6] += rest
            row[12] = math.log1p(queues * devices[c, QUEUED])
            row[14] = min(queues * devices[c, QUEUED] * rest / excess, MOST)
            row[16] = c
        figures[k, 0], figures[k, 1], figures[k, 2], figures[k, 3] = end, joules, dollars, idle
        figures[k, 4] = charge * behind
        queues_with(params, devices, out, parts, row[19 : 19 + QUEUES])


@nb.njit(cache=True)
def immediate(params: FloatArray, figures: FloatArray) -> float:
    """The weighted cost of an option as far as it is known, each figure over what is usual."""
    cost = float(params[GOALS] * figures[4] / params[USUAL])
    for k in range(3):
        cost += params[GOALS + k] * figures[k] / params[USUAL + k]
    return cost


@nb.njit(cache=True)
def compare(params: FloatArray, logs: FloatArray, figures: FloatArray, options: FloatArray) -> int:
    """Fill the places that compare an option with the others; returns how many options can be taken."""
    count, service, excess = options.shape[0], params[SERVICE], params[EXCESS]
    mean, fastest, legal = logs.mean(), np.inf, 0
    best, cheapest = np.inf, np.inf
    for k in range(count):
        if figures[k, 0] < BAD:
            legal += 1
            best = min(best, figures[k, 0])
            cheapest = min(cheapest, immediate(params, figures[k]))
            fastest = min(fastest, options[k, 6])
    for k in range(count):
        if figures[k, 0] >= BAD:
            continue
        row, rank = options[k], 0
        for other in range(count):
            if figures[other, 0] < figures[k, 0] or (figures[other, 0] == figures[k, 0] and other < k):
                rank += 1
        g, c = int(row[15]), int(row[16])
        slowness = params[HEADER + g * DEVICE_FIGURES + DEVICE_FIGURES - 1]
        row[6] = min(math.log(row[6] / fastest), CLIP)
        row[7] = rank / legal
        row[8] = 1.0 / (1.0 + rank)
        row[9] = math.log1p((figures[k, 0] - best) / service)
        row[10] = min((figures[k, 0] - best) / excess, MOST)
        row[15] = min(max(logs[g] - mean - slowness, -CLIP), CLIP)
        row[16] = 0.0
        if c >= 0:
            typical = params[HEADER + c * DEVICE_FIGURES + DEVICE_FIGURES - 1]
            row[16] = min(max(logs[c] - mean - typical, -CLIP), CLIP)
        row[17] = min((immediate(params, figures[k]) - cheapest) * params[USUAL] / excess, MOST)
        row[18] = min(max(slowness, -CLIP), CLIP)
    return legal


@nb.njit(cache=True)
def node_context(
    params: FloatArray, devices: FloatArray, times: FloatArray, figures: FloatArray, context: FloatArray
) -> None:
    """The inputs about goals and node; the task features stand in the first places already."""
    queues, service = params[USE_BACKLOG], params[SERVICE]
    up, queued = 0, 0.0
    least, fastest = np.full(2, np.inf), np.full(2, np.inf)
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] == 0.0:
            continue
        kind, backlog = int(devices[d, KIND]), queues * devices[d, BACKLOG]
        up += 1
        queued += queues * devices[d, QUEUED]
        least[kind] = min(least[kind], backlog)
        fastest[kind] = min(fastest[kind], times[SHARED, d])
    best, place = figures[:, 0].min(), TASK_FEATURES
    for k in range(3):
        context[place + k] = params[GOALS + k]
    context[place + 3] = math.log1p(queued)
    context[place + 4] = math.log1p(least[1] / service) if least[1] < BAD else CLIP
    context[place + 5] = math.log1p(least[0] / service) if least[0] < BAD else CLIP
    context[place + 6] = math.log(max(up, 1))
    context[place + 7] = min(max(math.log(params[USUAL] / service), -CLIP), 2 * CLIP)
    context[place + 8] = min(max(math.log(params[EXCESS] / service), -CLIP), 2 * CLIP)
    context[place + 9] = math.log1p(queued / max(up, 1))
    quickest = min(fastest[0], fastest[1])
    context[place + 10] = min(max(math.log(quickest / service), -2 * CLIP), 2 * CLIP) if quickest < BAD else 0.0
    both = fastest[0] < BAD and fastest[1] < BAD
    context[place + 11] = min(max(math.log(fastest[0] / fastest[1]), -CLIP), CLIP) if both else 0.0
    context[place + 12] = math.log1p(best / service) if best < BAD else 0.0
    context[place + 13] = min(best / params[EXCESS], MOST) if best < BAD else 0.0
    queues_with(params, devices, figures, 0, context[place + 14 :])


@nb.njit(cache=True, fastmath=True)
def advantages(
    params: FloatArray, context: FloatArray, options: FloatArray, figures: FloatArray, y: FloatArray
) -> float:
    """The learned advantage of every option that can be taken, and the state value."""
    hidden = int(params[HIDDEN])
    half = max(1, hidden // 2)
    count = int(params[CPUS]) + int(params[GPUS])
    first = HEADER + count * DEVICE_FIGURES + TIME_HIDDEN * (TIME_INPUTS + 1) + TIME_HIDDEN * (TIME_HIDDEN + 1)
    first += TIME_OUTPUTS * (TIME_HIDDEN + 1)
    option_layer = first + hidden * CONTEXT
    bias = option_layer + hidden * OPTION
    second = bias + hidden
    last = second + half * hidden + half
    shared, a, b = np.empty(hidden), np.empty(hidden), np.empty(half)
    for i in range(hidden):
        total = params[bias + i]
        row = params[first + i * CONTEXT : first + (i + 1) * CONTEXT]
        for j in range(CONTEXT):
            total += row[j] * context[j]
        shared[i] = total
    for k in range(options.shape[0]):
        y[k] = 0.0
        if figures[k, 0] >= BAD:
            continue
        x = options[k]
        for i in range(hidden):
            total = shared[i]
            row = params[option_layer + i * OPTION : option_layer + (i + 1) * OPTION]
            for j in range(OPTION):
                total += row[j] * x[j]
            a[i] = max(total, 0.0)
        dense(params, second, half, hidden, a, b)
        total = 0.0
        for i in range(half):
            total += params[last + i] * max(b[i], 0.0)
        y[k] = total
    offset = dense(params, last + half, half, CONTEXT, context, b)
    value = params[offset + half]
    for i in range(half):
        value += params[offset + i] * max(b[i], 0.0)
    return value  # type: ignore[no-any-return]


@nb.njit(cache=True)
def evaluate(
    task: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    params: FloatArray,
    context: FloatArray,
    options: FloatArray,
    logs: FloatArray,
    times: FloatArray,
    completion: FloatArray,
    shown: IntArray,
    figures: FloatArray,
    value: FloatArray,
    out: FloatArray,
) -> None:
    """The whole evaluation of a task: the inputs of the network, what each option costs at once, and its value."""
    task_features(task, params, context)
    expected_seconds(params, devices, context, logs, times)
    expect_completion(devices, times, completion)
    shown_devices(task[TASK_MEMORY], params, devices, completion, shown)
    options_of(task, params, devices, facts, shown, times, completion, figures, options, out)
    legal = compare(params, logs, figures, options)
    node_context(params, devices, times, figures, context)
    y, state = np.zeros(len(value)), 0.0
    trust = params[TRUST] * params[GOALS] * params[EXCESS] / params[USUAL]
    if trust > 0.0:
        state = advantages(params, context, options, figures, y)
    mean = y.sum() / max(legal, 1)
    for k in range(len(value)):
        known = figures[k, 0] < BAD
        value[k] = trust * (state + y[k] - mean) - immediate(params, figures[k]) if known else -BAD


@nb.njit(cache=True)
def act(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    """The compiled policy: the option of the highest value, without exploration."""
    cpus, gpus = int(state[CPUS]), int(state[GPUS])
    few, many = min(cpus, SHOWN_CPUS), min(gpus, SHOWN_GPUS)
    count, slots = cpus + gpus, few + many * int(state[FRACTIONS])
    context, options, figures, value = (
        np.empty(CONTEXT),
        np.empty((slots, OPTION)),
        np.empty((slots, FIGURES)),
        np.empty(slots),
    )
    logs, expected, completion = np.empty(count), np.zeros((2, count)), np.empty(count)
    shown = np.empty(few + many, dtype=np.int64)
    devices = queues_with_data(devices, times)
    evaluate(task, devices, facts, state, context, options, logs, expected, completion, shown, figures, value, out)
    return take(int(np.argmax(value)), value, state, devices, facts, shown, expected, completion, out)


@nb.njit(cache=True)
def take(option, value, params, devices, facts, shown, times, completion, out):  # type: ignore[no-untyped-def]
    """Write the decision of an option; where nothing fits, any device that is up: the memory policy decides then."""
    if value[option] > -BAD:
        return part_of(option, params, devices, facts, shown, times, completion, out)
    for d in range(devices.shape[0]):
        if devices[d, AVAILABLE] > 0.0:
            return write_parts(d, 1.0, -1, times, facts, out)
    return 0
