"""Giving a backlog up: every task that is not finished fails, and the devices are idle again."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.cluster.heap import push
from hybrid_scheduler.cluster.state import (
    ASK,
    CURRENT,
    DECISIONS,
    DONE,
    FAILED,
    NEWEST,
    NEXT,
    OLDEST,
    PARTS,
    PLACED,
    QUIET,
    READY,
    ROOM_LOGS,
    TASKS,
    WAITING_TASKS,
    State,
)
from hybrid_scheduler.cluster.waiting import number_anew, oldest_first
from hybrid_scheduler.model.device_columns import BACKLOG, QUEUED, SINCE
from hybrid_scheduler.model.task import IntArray


def abandon(state: State, now: float, observing: bool) -> IntArray:
    """Fail every task that has not finished by `now`; returns their positions.

    Parts that ran are lost: their time was spent all the same. Where somebody observes, `state.done` needs room for
    every task.
    """
    c = state.counters
    tasks, parts = state.tasks[: c[TASKS]], state.parts[: c[PARTS]]
    settled = ((tasks["status"] == PLACED) | (tasks["status"] == FAILED)) & (tasks["finish"] <= now)
    open_ = np.flatnonzero(~settled)
    tasks["status"][open_], tasks["finish"][open_], tasks["part_count"][open_] = FAILED, now, 0
    waiting = np.empty(c[WAITING_TASKS], dtype=np.int64)
    oldest_first(state.room, c, waiting)
    state.room["overtaken"][waiting] += c[DECISIONS] + np.arange(len(waiting)) - state.room["turn"][waiting]
    never_ready = (tasks["first_part"][open_] < 0) & ~np.isin(open_, waiting)
    tasks["ready"][open_[never_ready]] = now
    mine = ~settled[parts["task"]]
    parts["lost"][mine] = 1
    for edge in ("start", "end"):
        parts[edge][mine] = np.minimum(parts[edge][mine], now)
    for link in ("head", "tail"):
        state.device_queues[link] = -1
    state.device_queues["expected"], state.device_queues["head_end"] = 0.0, np.inf
    state.devices[:, QUEUED], state.devices[:, BACKLOG], state.devices[:, SINCE] = 0.0, 0.0, np.nan
    np.minimum(state.free, now, out=state.free)
    c[NEXT], c[READY], c[CURRENT] = c[TASKS], 0, -1
    c[WAITING_TASKS], c[OLDEST], c[NEWEST], c[ASK] = 0, -1, -1, QUIET
    state.clocks[ROOM_LOGS] = 0.0
    number_anew(state.room, state.ages, c)
    if observing:
        late = state.done[: c[DONE]][settled[state.done["task"][: c[DONE]]]].copy()
        c[DONE] = 0
        for entry in late:
            c[DONE] = push(state.done, c[DONE], entry["time"], entry["id"], entry["task"])
        for position in open_.tolist():
            c[DONE] = push(state.done, c[DONE], now, tasks[position]["id"], position)
    return open_
