"""The compiled event loop: the batch race and the single live task run through this one function."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.cluster.data import add_data, add_true_data, data_on
from hybrid_scheduler.cluster.gangs import gather, place_gang
from hybrid_scheduler.cluster.heap import before, pop, push
from hybrid_scheduler.cluster.queues import advance, fit, illegal, place, release
from hybrid_scheduler.cluster.state import (
    ANSWER,
    CURRENT,
    DECIDE,
    DECISIONS,
    DISTURB,
    DISTURBED,
    DONE,
    DOOMED,
    DOWN,
    DRAINED,
    FAILED,
    FLOOR,
    GROW,
    NEXT,
    NOW,
    OUTCOMES,
    PARTS,
    PAUSED,
    READY,
    SEES_ESTIMATES,
    SEES_TRUTH,
    TASKS,
    WAITING,
    WIDEST,
    Records,
    State,
)
from hybrid_scheduler.compiled import hot, inlined
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import FIXED, SHARED, TASK_MEMORY, TASK_WIDTH


@inlined
def next_task(tasks: Records, ready: Records, counters: IntArray) -> tuple[int, bool]:
    """The next task to decide, by (due time, id), and whether it stands on the heap; -1 when there is none."""
    arriving = counters[NEXT]
    while arriving < counters[TASKS] and tasks[arriving].parents > 0:
        arriving += 1
    counters[NEXT] = arriving
    if arriving >= counters[TASKS]:
        arriving = -1
    if counters[READY] == 0:
        return arriving, False
    top = ready[0]
    if arriving < 0:
        return top.task, True
    other = tasks[arriving]
    if before(top.time, top.id, other.due, other.id):
        return top.task, True
    return arriving, False


@inlined
def arrive(tasks: Records, ready: Records, c: IntArray, task: int, on_heap: bool, now: float, isolated: bool) -> None:
    """Take the task that `next_task` found; it is ready now."""
    if on_heap:
        c[READY] = pop(ready, c[READY])
    else:
        c[NEXT] += 1
    tasks[task].ready = now
    if isolated and tasks[task].first_part < 0:
        tasks[task].arrival = now


@hot
def next_return(disturbances: Records, applied: int) -> float:
    """When the next device that is down comes back; infinite when none does."""
    for k in range(applied, len(disturbances)):
        if disturbances[k].speed > 0.0:
            return disturbances[k].time  # type: ignore[no-any-return]
    return np.inf


@inlined
def settle(
    tasks: Records,
    edges: Records,
    ready: Records,
    done: Records,
    c: IntArray,
    task: int,
    finish: float,
    observing: bool,
    isolated: bool,
) -> None:
    """Note when a placed or failed task ends and release its children."""
    tasks[task].finish = finish
    if tasks[task].status == FAILED:
        tasks[task].part_count = 0
    if observing:
        c[DONE] = push(done, c[DONE], finish, tasks[task].id, task)
    if tasks[task].first_edge >= 0:
        c[READY] = release(tasks, edges, ready, c[READY], task, finish, isolated)


@inlined
def copy_times(source: FloatArray, target: FloatArray) -> None:
    """Copy the times of one task."""
    for kind in range(2):
        for d in range(source.shape[1]):
            target[kind, d] = source[kind, d]


@hot
def true_times(realised: FloatArray, device_queues: Records, task: int, result: FloatArray) -> None:
    """The realised seconds of a task at the devices' present speeds; infinite where a device is down."""
    for d in range(len(device_queues)):
        for k in range(2):
            result[k, d] = realised[task, k, d] / device_queues[d].speed if device_queues[d].speed > 0.0 else np.inf


@hot
def all_free(free: FloatArray) -> float:
    """When the last device becomes free."""
    latest = 0.0
    for d in range(len(free)):
        latest = max(latest, free[d])
    return latest


@inlined
def carry_out(
    devices: FloatArray,
    facts: FloatArray,
    free: FloatArray,
    device_queues: Records,
    out: FloatArray,
    c: IntArray,
    tasks: Records,
    features: FloatArray,
    realised: FloatArray,
    ready: Records,
    done: Records,
    edges: Records,
    parts: Records,
    queues: FloatArray,
    data: Records,
    links: FloatArray,
    savings: FloatArray,
    now: float,
    observing: bool,
    isolated: bool,
) -> None:
    """Carry out the legal decision in `out` for the current task: place it or, where it does not fit, fail it."""
    task, finish = c[CURRENT], now
    c[CURRENT] = -1
    if len(queues) > 0:
        for d in range(len(free)):
            begin = max(free[d], now)
            if tasks[task].first_data >= 0:
                begin = max(begin, data_on(tasks, parts, data, links, task, d)[0])
            queues[task, d] = begin - tasks[task].ready if device_queues[d].speed > 0.0 else np.inf
    memory, count = features[task, TASK_MEMORY], c[ANSWER]
    if c[WIDEST] > 1 and features[task, TASK_WIDTH] > 1.0:
        if count > 0:
            finish = place_gang(
                devices, free, device_queues, tasks, realised, parts, out, data, links, savings, memory,
                c[PARTS], task, now, count,
            )  # fmt: skip
    else:
        count = fit(devices, facts, out, memory, count)
        if count > 0:
            finish = place(
                devices, facts, free, device_queues, tasks, realised, parts, out, data, links, savings, memory,
                c[PARTS], task, now, count,
            )  # fmt: skip
    if count > 0:
        c[PARTS] += count
    else:
        tasks[task].status = FAILED
    settle(tasks, edges, ready, done, c, task, finish, observing, isolated)


@inlined
def checked(
    devices: FloatArray, facts: FloatArray, scratch: FloatArray, out: FloatArray, c: IntArray, features: FloatArray
) -> int:
    """0 when the decision in `out` for the current task can be carried out, else a code from `ILLEGAL` on.

    That of a wide task is completed; it has no parts when there are too few devices.
    """
    task = c[CURRENT]
    code = 0
    if c[WIDEST] > 1 and features[task, TASK_WIDTH] > 1.0:
        width, memory = int(features[task, TASK_WIDTH]), features[task, TASK_MEMORY]
        count = gather(devices, facts, scratch, out, c[ANSWER], width, memory)
        code = max(0, -count)
        if code == 0:
            c[ANSWER] = count
    else:
        code = illegal(devices, out, c[ANSWER])
    return code


@hot
def run(
    policy: Any,
    compiled: bool,
    sees: int,
    policy_state: FloatArray,
    no_times: FloatArray,
    no_free: FloatArray,
    sim: State,
    until: float,
    limit: int,
    observing: bool,
    isolated: bool,
) -> int:
    """Decide and place tasks in order of readiness until somebody else is needed; returns the reason.

    Args:
        policy: The compiled policy, a `numba.cfunc` of `KERNEL_SIGNATURE`.
        compiled: False when Python decides: the loop then returns `DECIDE` for every task.
        sees: What the policy may see beyond the queues (`SEES_*`).
        policy_state: The policy's own state.
        no_times: What a policy gets that may not see times: an array of shape (0, 0).
        no_free: What it gets for the true queues: an array of length 0.
        sim: The simulated state.
        until: Do not decide anything due after this time.
        limit: Return when so many decisions have been made in all.
        observing: Return `OUTCOMES` before a decision when an outcome is due.
        isolated: Every task meets an idle node: the next arrives when the last has ended.
    """
    # Bound once: reading a field of the tuple inside the loop costs reference counting on every access.
    devices, facts, free, device_queues, scratch, out, c, clocks, disturbances, tasks, features, nominal, realised = (
        sim[:13]
    )
    ready, done, edges, parts = sim[13:17]
    queues, _, data, links, savings = sim[22:]
    while True:
        if c[PARTS] + max(2, c[WIDEST]) > len(parts):
            return GROW
        if c[CURRENT] >= 0:
            code = checked(devices, facts, scratch, out, c, features)
            if code != 0:
                return code
            carry_out(
                devices, facts, free, device_queues, out, c, tasks, features, realised, ready, done, edges,
                parts, queues, data, links, savings, clocks[NOW], observing, isolated,
            )  # fmt: skip
        task, on_heap = next_task(tasks, ready, c)
        now = np.inf
        if task >= 0:
            now = max(all_free(free) if isolated else tasks[task].due, clocks[FLOOR])
        if c[DISTURBED] < len(disturbances) and disturbances[c[DISTURBED]].time <= min(now, until):
            return DISTURB
        if task < 0:
            return DRAINED
        if now > until:
            return WAITING
        if observing and c[DONE] > 0 and done[0].time <= now:
            clocks[NOW] = now
            return OUTCOMES
        if c[DECISIONS] >= limit:
            return PAUSED
        doomed = tasks[task].status == DOOMED
        stranded = c[DOWN] == devices.shape[0] and not doomed
        if stranded and next_return(disturbances, c[DISTURBED]) < np.inf:
            clocks[FLOOR] = next_return(disturbances, c[DISTURBED])
            continue
        arrive(tasks, ready, c, task, on_heap, now, isolated)
        clocks[NOW] = now
        if doomed or stranded:
            tasks[task].status = FAILED
            settle(tasks, edges, ready, done, c, task, now, observing, isolated)
            continue
        advance(devices, device_queues, parts, now)
        c[CURRENT] = task
        number = c[DECISIONS]
        c[DECISIONS] = number + 1
        if not compiled:
            return DECIDE
        handed = tasks[task].first_data >= 0
        if sees == SEES_ESTIMATES and handed:
            copy_times(nominal[task], scratch)
            add_data(tasks, parts, data, links, task, now, features[task, TASK_MEMORY], scratch)
            c[ANSWER] = policy(number, now, features[task], devices, scratch[:2], no_free, facts, policy_state, out)
        elif sees == SEES_ESTIMATES:
            c[ANSWER] = policy(number, now, features[task], devices, nominal[task], no_free, facts, policy_state, out)
        elif sees == SEES_TRUTH:
            true_times(realised, device_queues, task, scratch)
            begin = free
            if handed:
                begin = scratch[2]
                for d in range(len(free)):
                    begin[d] = free[d]
                add_true_data(
                    tasks, parts, data, links, savings, device_queues, task, features[task, TASK_MEMORY], scratch, begin
                )
            c[ANSWER] = policy(number, now, features[task], devices, scratch[:2], begin, facts, policy_state, out)
        elif handed:
            for d in range(scratch.shape[1]):
                scratch[FIXED, d] = 0.0
                scratch[SHARED, d] = 0.0
            add_data(tasks, parts, data, links, task, now, 0.0, scratch)
            c[ANSWER] = policy(number, now, features[task], devices, scratch[:2], no_free, facts, policy_state, out)
        else:
            c[ANSWER] = policy(number, now, features[task], devices, no_times, no_free, facts, policy_state, out)
