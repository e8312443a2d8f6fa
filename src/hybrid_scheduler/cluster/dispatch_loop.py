"""The compiled event loop of schedulers that let tasks wait: they are asked what to start when something changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.cluster.data import add_data, add_true_delay
from hybrid_scheduler.cluster.gangs import widest_possible
from hybrid_scheduler.cluster.loop import (
    all_free,
    arrive,
    carry_out,
    checked,
    copy_times,
    next_return,
    next_task,
    settle,
    true_times,
)
from hybrid_scheduler.cluster.queues import advance, advance_device
from hybrid_scheduler.cluster.state import (
    ANSWER,
    ASK,
    ASKING,
    CHANGED,
    CURRENT,
    DECISIONS,
    DISPATCH,
    DISTURB,
    DISTURBED,
    DONE,
    DOOMED,
    DOWN,
    DRAINED,
    EXPECTED_VERSION,
    FAILED,
    GROW,
    NEWEST,
    NOT_WAITING,
    NOW,
    OUTCOMES,
    PARTS,
    PAUSED,
    QUIET,
    RENEWED,
    ROOM_LOGS,
    SEES_ESTIMATES,
    SEES_EXPECTED,
    SEES_TRUTH,
    STALLED,
    WAITING,
    WAITING_TASKS,
    WIDEST,
    Records,
    State,
)
from hybrid_scheduler.cluster.waiting import enter, leave, pick, pick_ranked, reorder, shortest_seconds, times_overtaken
from hybrid_scheduler.compiled import hot, inlined
from hybrid_scheduler.model.device_columns import QUEUED
from hybrid_scheduler.model.kernel import CHOSEN, PART_DEVICE, WAITING_COUNT, WAITING_LOG
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import OVERTAKEN, TASK_MEMORY, TASK_WIDTH, WAITING_SINCE

OFTEN = 16
"""Where a scheduler changes its mind often, the room is put in order after a part of it has been started, so that a
decision costs the same however many wait."""


@inlined
def any_idle(devices: FloatArray, device_queues: Records) -> bool:
    """Whether a device that is up has nothing to do."""
    idle = False
    for d in range(len(device_queues)):
        idle = idle or (devices[d, QUEUED] == 0.0 and device_queues[d].speed > 0.0)
    return idle


@inlined
def expected_key(
    expect: Any,
    expect_state: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    features: FloatArray,
    nominal: FloatArray,
    task: int,
) -> float:
    """Ask what a task is expected to take; returns the seconds it is ordered by, 0 when nothing is known."""
    expect(features[task], devices, facts, expect_state, nominal[task])
    seconds = shortest_seconds(nominal[task], devices, features[task, TASK_MEMORY], features[task, TASK_WIDTH])
    return seconds if seconds < np.inf else 0.0


@hot
def renew(
    expect: Any,
    expect_state: FloatArray,
    devices: FloatArray,
    facts: FloatArray,
    features: FloatArray,
    nominal: FloatArray,
    room: Records,
    heap: Records,
    c: IntArray,
    clocks: FloatArray,
) -> None:
    """Ask anew what the tasks that wait are expected to take, and order them by that."""
    for rank in range(c[WAITING_TASKS]):
        task = heap[rank].task
        heap[rank].time = expected_key(expect, expect_state, devices, facts, features, nominal, task)
    reorder(room, heap, c, clocks)


@hot
def run_dispatch(
    policy: Any,
    compiled: bool,
    sees: int,
    shortest: int,
    oldest: int,
    sampled: int,
    ranked: int,
    idle_only: bool,
    first_fit: bool,
    policy_state: FloatArray,
    expect: Any,
    expect_state: FloatArray,
    version: int,
    no_free: FloatArray,
    sim: State,
    until: float,
    limit: int,
    observing: bool,
    isolated: bool,
) -> int:
    """Go from change to change and let the policy start waiting tasks, until somebody else is needed.

    Everything that happens at one moment has happened before the policy is asked. It is asked again after every task
    it starts.

    Args:
        policy: The compiled policy, a `numba.cfunc` of `DISPATCH_SIGNATURE`.
        compiled: False when Python dispatches: the loop then returns `DISPATCH` whenever it is to be asked.
        sees: What the policy may see beyond the queues (`SEES_*`).
        shortest: How many of the shortest waiting tasks the policy is shown.
        oldest: How many of the oldest.
        sampled: How many of the others.
        ranked: How many of those of the highest upward rank.
        idle_only: The policy starts nothing while every device is busy, so it need not be asked then.
        first_fit: The policy starts the first of the tasks shown that it would start alone, so it is shown the shortest
            alone before it is shown all.
        policy_state: The policy's own state.
        expect: What the scheduler expects of a task that enters, a `numba.cfunc` of `EXPECT_SIGNATURE`; asked when it
            sees that (`SEES_EXPECTED`).
        expect_state: Its state.
        version: Another number says that it expects something else now.
        no_free: What a policy gets for the true queues that may not see them: an array of length 0.
        sim: The simulated state.
        until: Stop before anything that happens after this time.
        limit: Return when so many decisions have been made in all.
        observing: Return `OUTCOMES` before the policy is asked when an outcome is due.
        isolated: Every task meets an idle node: the next arrives when the last has ended.

    Returns:
        The reason (`cluster.state`).
    """
    devices, facts, free, device_queues, scratch, out, c, clocks, disturbances, tasks, features, nominal, realised = (
        sim[:13]
    )
    ready, done, edges, parts, room, heap, candidates, waiting, waiting_times, queues, ages = sim[13:24]
    data, links, savings = sim[24:]
    while True:
        if c[PARTS] + max(2, c[WIDEST]) > len(parts):
            return GROW
        if c[CURRENT] >= 0:
            code = checked(devices, facts, scratch, out, c, features)
            if code != 0:
                return code
            leave(room, heap, ages, c, clocks, c[CURRENT])
            c[DECISIONS] += 1
            carry_out(
                devices, facts, free, device_queues, out, c, tasks, features, realised, ready, done, edges,
                parts, queues, data, links, savings, clocks[NOW], observing, isolated,
            )  # fmt: skip
            for k in range(c[ANSWER]):  # it is asked again, and shall see what it has done
                advance_device(devices, device_queues, parts, int(out[k, PART_DEVICE]), clocks[NOW])
        if c[ASK] == ASKING:
            now = clocks[NOW]
            if observing and c[DONE] > 0 and done[0].time <= now:
                return OUTCOMES
            if c[WAITING_TASKS] > 0 and c[DOWN] == devices.shape[0]:
                while next_return(disturbances, c[DISTURBED]) == np.inf and c[WAITING_TASKS] > 0:
                    task = c[NEWEST]
                    leave(room, heap, ages, c, clocks, task)
                    tasks[task].status = FAILED
                    settle(tasks, edges, ready, done, c, task, now, observing, isolated)
                c[ASK] = QUIET
                continue
            if c[WIDEST] > 1 and c[DOWN] > 0 and next_return(disturbances, c[DISTURBED]) == np.inf:
                task, possible = c[NEWEST], widest_possible(devices)
                while task >= 0:
                    older = room[task].older
                    if features[task, TASK_WIDTH] > possible:
                        leave(room, heap, ages, c, clocks, task)
                        tasks[task].status = FAILED
                        settle(tasks, edges, ready, done, c, task, now, observing, isolated)
                    task = older
            if c[WAITING_TASKS] == 0 or (idle_only and not any_idle(devices, device_queues)):
                c[ASK] = QUIET
                continue
            if c[DECISIONS] >= limit:
                return PAUSED
            if version != c[EXPECTED_VERSION] and (
                c[EXPECTED_VERSION] == 0 or OFTEN * (c[DECISIONS] - c[RENEWED]) >= c[WAITING_TASKS]
            ):
                renew(expect, expect_state, devices, facts, features, nominal, room, heap, c, clocks)
                c[EXPECTED_VERSION], c[RENEWED] = version, c[DECISIONS]
            facts[WAITING_COUNT] = c[WAITING_TASKS]
            facts[WAITING_LOG] = clocks[ROOM_LOGS] / c[WAITING_TASKS]
            if not compiled:
                return DISPATCH
            alone = first_fit and shortest > 0
            first = 0
            while True:
                if alone:
                    count = pick(room, heap, c, 1, 0, 0, candidates)
                else:
                    count = pick(room, heap, c, shortest, oldest, sampled, candidates)
                    count = pick_ranked(heap, c, features, ranked, candidates, count)
                if count == first:  # there are no others
                    break
                for k in range(first, count):
                    task = candidates[k]
                    for column in range(WAITING_SINCE):
                        waiting[k, column] = features[task, column]
                    waiting[k, WAITING_SINCE] = tasks[task].ready
                    waiting[k, OVERTAKEN] = times_overtaken(room, ages, c, task)
                    handed = tasks[task].first_data >= 0
                    if sees in (SEES_ESTIMATES, SEES_EXPECTED):
                        copy_times(nominal[task], waiting_times[k])
                        if handed:
                            memory = features[task, TASK_MEMORY]
                            add_data(tasks, parts, data, links, task, now, memory, waiting_times[k])
                    elif sees == SEES_TRUTH:
                        true_times(realised, device_queues, task, waiting_times[k])
                        if handed:
                            memory = features[task, TASK_MEMORY]
                            add_true_delay(
                                tasks, parts, data, links, savings, device_queues, task, memory, now, free,
                                waiting_times[k], scratch[2],
                            )  # fmt: skip
                c[ANSWER] = policy(
                    c[DECISIONS], now, waiting[first:count], waiting_times[first:count], devices,
                    free if sees == SEES_TRUTH else no_free, facts, policy_state, out,
                )  # fmt: skip
                if c[ANSWER] > 0 or not alone:
                    break
                alone, first = False, count
            if c[ANSWER] == 0:
                c[ASK] = QUIET
                continue
            row = out[CHOSEN, 0]
            if not (row >= 0.0 and row < count - first and row == np.floor(row)):
                return NOT_WAITING
            c[CURRENT] = candidates[first + int(row)]
            continue
        task, on_heap = next_task(tasks, ready, c)
        arrives = np.inf
        if task >= 0 and not isolated:
            arrives = tasks[task].due
        elif task >= 0 and c[WAITING_TASKS] == 0:
            arrives = all_free(free)
        now = max(arrives, clocks[NOW])
        if c[ASK] == CHANGED:
            now = clocks[NOW]
        if c[WAITING_TASKS] > 0:
            for d in range(len(device_queues)):
                now = min(now, device_queues[d].head_end)
        if c[DISTURBED] < len(disturbances) and disturbances[c[DISTURBED]].time <= min(now, until):
            return DISTURB
        if now == np.inf:
            if c[WAITING_TASKS] == 0:
                return DRAINED
            return STALLED if until == np.inf else WAITING
        if now > until:
            return WAITING
        clocks[NOW] = now
        advance(devices, device_queues, parts, now)
        while task >= 0 and (arrives if isolated else tasks[task].due) <= now:
            arrive(tasks, ready, c, task, on_heap, now, isolated)
            if tasks[task].status == DOOMED:
                tasks[task].status = FAILED
                settle(tasks, edges, ready, done, c, task, now, observing, isolated)
            else:
                key = now
                if sees == SEES_ESTIMATES:
                    key = shortest_seconds(
                        nominal[task], devices, features[task, TASK_MEMORY], features[task, TASK_WIDTH]
                    )
                elif sees == SEES_TRUTH:
                    key = shortest_seconds(
                        realised[task], devices, features[task, TASK_MEMORY], features[task, TASK_WIDTH]
                    )
                elif sees == SEES_EXPECTED:
                    key = expected_key(expect, expect_state, devices, facts, features, nominal, task)
                enter(tasks, room, heap, ages, c, clocks, task, key)
                if isolated:
                    break
            task, on_heap = next_task(tasks, ready, c)
        c[ASK] = ASKING
