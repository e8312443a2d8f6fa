"""The arrays of a simulated node: made once, filled in one pass, grown by doubling when tasks come in bit by bit."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.data import link_data
from hybrid_scheduler.cluster.state import (
    CLOCKS,
    COUNTERS,
    CURRENT,
    DATA,
    DATA_ROWS,
    DEVICE_QUEUE,
    DISTURBANCE,
    EDGE,
    EDGES,
    HEAP,
    NEWEST,
    OLDEST,
    PART,
    ROOM,
    TASK,
    TASKS,
    UNDECIDED,
    WIDEST,
    Records,
    State,
)
from hybrid_scheduler.cluster.waiting import new_ages
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import TASK_COLUMNS, WAITING_COLUMNS
from hybrid_scheduler.physics.world import TimedTasks, World


def empty_state(world: World, shortest: int, others: int) -> State:
    """A node that has never seen a task; a dispatching scheduler will be shown so many of the waiting ones."""
    cluster = world.cluster
    count = len(cluster.devices)
    device_queues = np.zeros(count, dtype=DEVICE_QUEUE)
    device_queues["speed"], device_queues["head_end"], device_queues["head"], device_queues["tail"] = (
        1.0,
        np.inf,
        -1,
        -1,
    )
    counters = np.zeros(COUNTERS, dtype=np.int64)
    counters[[CURRENT, OLDEST, NEWEST]] = -1
    counters[WIDEST] = 1
    events = [(d.time, d.speed, cluster.names.index(d.device)) for d in cluster.disturbances]
    return State(
        devices=world.public_table(),
        facts=world.physics.facts(),
        free=np.zeros(count),
        device_queues=device_queues,
        scratch=np.zeros((3, count)),
        out=np.zeros((3, 3)),
        counters=counters,
        clocks=np.zeros(CLOCKS),
        disturbances=np.array(sorted(events, key=lambda e: e[0]), dtype=DISTURBANCE),
        tasks=np.zeros(0, dtype=TASK),
        features=np.zeros((0, TASK_COLUMNS)),
        nominal=np.zeros((0, 2, count)),
        realised=np.zeros((0, 2, count)),
        ready=np.zeros(0, dtype=HEAP),
        done=np.zeros(0, dtype=HEAP),
        edges=np.zeros(0, dtype=EDGE),
        parts=np.zeros(0, dtype=PART),
        room=np.zeros(0, dtype=ROOM),
        shortest=np.zeros(0, dtype=HEAP),
        candidates=np.zeros(2 * shortest + others + 1, dtype=np.int64),
        waiting=np.zeros((shortest + others, WAITING_COLUMNS)),
        waiting_times=np.zeros((shortest + others, 2, count)),
        queues=np.zeros((0, count)),
        ages=np.zeros(0, dtype=np.int64),
        data=np.zeros(0, dtype=DATA),
        links=world.links() + np.diag(world.resident_seconds()),
        savings=np.zeros((0, count)),
    )


def with_tasks(
    state: State, timed: TimedTasks, *, observing: bool, waiting: bool, recording: bool, expecting: bool
) -> State:
    """The state with tasks appended; parents must be in the same batch.

    Args:
        state: The state before; its arrays may be used on.
        timed: What comes in.
        observing: Outcomes wait to be taken.
        waiting: There is a waiting room.
        recording: The queues at every decision are kept.
        expecting: The scheduler expects times by itself and does not see those of others.
    """
    tasks, nominal, realised = timed.tasks, timed.nominal, timed.realised
    base, n = int(state.counters[TASKS]), len(tasks)
    total, rows = base + n, slice(base, base + n)
    if expecting:
        nominal = np.full(nominal.shape, np.nan)
    if base == 0:
        # A million tasks need not be copied for every scheduler in the race.
        nominal, realised = np.ascontiguousarray(nominal), np.ascontiguousarray(realised)
        state = state._replace(features=tasks.feature_rows(), nominal=nominal, realised=realised)
    else:
        features, times = grown(state.features, total), grown(state.nominal, total)
        truth = grown(state.realised, total)
        features[rows], times[rows], truth[rows] = tasks.feature_rows(), nominal, realised
        state = state._replace(features=features, nominal=times, realised=truth)
    ready = total if tasks.has_dependencies or len(state.disturbances) or len(state.edges) else 0
    edges = int(state.counters[EDGES])
    if len(tasks.width):
        widest = max(int(state.counters[WIDEST]), int(tasks.width.max()))
        state.counters[WIDEST] = widest
        state = state._replace(out=grown(state.out, widest))
    state = state._replace(
        tasks=grown(state.tasks, total),
        ready=grown(state.ready, ready),
        done=grown(state.done, total if observing else 0),
        edges=grown(state.edges, edges + len(tasks.parents)),
        parts=grown(state.parts, total + max(2, int(state.counters[WIDEST])), spare=total),
        room=grown(state.room, total if waiting else 0),
        shortest=grown(state.shortest, total if waiting else 0),
        queues=grown(state.queues, total if recording else 0),
    )
    state.queues[rows] = np.nan
    state.room[rows] = 0
    if 2 * len(state.room) > len(state.ages):
        state = state._replace(ages=new_ages(state.room, state.counters))
    _fill(state.tasks, base, tasks.task_id, tasks.arrival_time, tasks.parent_start)
    if len(tasks.parents):
        children = base + np.repeat(np.arange(n), np.diff(tasks.parent_start))
        link(state.tasks, state.edges, edges, base + tasks.parents, children)
        state.counters[EDGES] = edges + len(tasks.parents)
        if len(tasks.parent_mb):
            state = with_data(state, base + tasks.parents, children, tasks.parent_mb, rows, timed.savings(), total)
    state.counters[TASKS] = total
    return state


def with_data(
    state: State,
    parents: IntArray,
    children: IntArray,
    megabytes: FloatArray,
    rows: slice,
    savings: FloatArray,
    total: int,
) -> State:
    """The state with data on edges.

    Args:
        state: The state before, with these tasks in it.
        parents: Where the data comes from, by position.
        children: Where it goes.
        megabytes: How much it is.
        rows: Positions of tasks among which all children are.
        savings: For these tasks the seconds a resident megabyte saves on each device.
        total: How many tasks there are.
    """
    used = int(state.counters[DATA_ROWS])
    state = state._replace(data=grown(state.data, used + len(parents)), savings=grown(state.savings, total))
    state.savings[rows] = savings
    state.counters[DATA_ROWS] = link_data(state.tasks, state.data, used, parents, children, megabytes)
    return state


def grown(rows: NDArray[Any], needed: int, *, spare: int = 0) -> NDArray[Any]:
    """The same rows with space for `needed`; grows by doubling, so that adding one task at a time stays cheap.

    Args:
        rows: The rows.
        needed: How many are wanted.
        spare: How many more may be: address space, and memory only when it is used.
    """
    if needed <= len(rows):
        return rows
    made = np.empty((max(needed + spare, 2 * len(rows)), *rows.shape[1:]), dtype=rows.dtype)
    made[: len(rows)] = rows
    # Touched, not only reserved: the loop should not wait for the operating system to hand out pages.
    made[len(rows) : needed].view(np.uint8).reshape(-1)[::4096] = 0
    return made


@nb.njit(cache=True)
def _fill(records: Records, base: int, ids: IntArray, arrival: FloatArray, parent_start: IntArray) -> None:
    """Every field of the new records, in one pass over them."""
    for i in range(len(ids)):
        task = records[base + i]
        parents = parent_start[i + 1] - parent_start[i]
        task.id = ids[i]
        task.arrival = arrival[i]
        task.earliest = arrival[i]
        task.due = arrival[i]
        task.ready = 0.0
        task.finish = 0.0
        task.status = UNDECIDED
        task.parents = parents
        task.waiting = parents
        task.first_edge = -1
        task.first_part = -1
        task.part_count = 0
        task.last_part = -1
        task.first_data = -1


@nb.njit(cache=True)
def link(tasks: Records, edges: Records, first: int, parents: IntArray, children: IntArray) -> None:
    """Write an edge from every parent to its child, numbered from `first`."""
    for k in range(len(parents)):
        edges[first + k].child = children[k]
        edges[first + k].next = tasks[parents[k]].first_edge
        tasks[parents[k]].first_edge = first + k
