"""From simulated state to outcomes."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.state import FAILED, PARTS, TASKS, WIDEST, Records, State
from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.kernel import SPLIT
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import TASK_WIDTH
from hybrid_scheduler.physics.energy import task_totals
from hybrid_scheduler.physics.world import World

FEW = 8
"""Below one in so many tasks, their parts are looked for task by task; else all parts are gone through."""


def collect(state: State, positions: IntArray, world: World) -> OutcomeBatch:
    """Outcomes of the tasks at `positions` (in that order), with their parts in the order they were decided."""
    cluster, physics = world.cluster, world.physics
    tasks, parts = state.tasks[: state.counters[TASKS]], state.parts[: state.counters[PARTS]]
    if FEW * len(positions) < len(tasks):
        rows, owner = _parts_of(tasks, parts, positions)
        order = np.argsort(rows, kind="stable")
        rows, owner = rows[order], owner[order]
    else:
        place = np.full(len(tasks), -1)
        (rows, owner), _, _ = _columns(len(parts), 2, 0, 0)
        count = _fill_owners(parts, positions, place, rows, owner)
        rows, owner = rows[:count], owner[:count]
    serial = bool(state.facts[SPLIT] != 0.0)
    # Made here and filled there: NumPy asks for large pages, compiled code for thousands of small ones.
    (identity,), (arrival, ready, finish), (failed,) = _columns(len(positions), 1, 3, 1)
    _fill_tasks(tasks, positions, identity, arrival, ready, finish, failed)
    decided, overtaken = ready, np.zeros(len(positions), dtype=np.int64)
    if len(state.room):
        decided, overtaken = _waiting_columns(tasks, parts, state.room, positions)
    (device,), (share, start, end, expected), (lost,) = _columns(len(rows), 1, 4, 1)
    _fill_parts(parts, rows, device, share, start, end, expected, lost)
    width = state.features[positions, TASK_WIDTH] if state.counters[WIDEST] > 1 else np.zeros(0)
    watts, price = cluster.column("watts"), physics.busy_price(cluster)
    actual, energy, cost = task_totals(len(positions), owner, device, lost, start, end, watts, price, serial, width)
    return OutcomeBatch(
        identity,
        arrival,
        ready,
        decided,
        finish,
        actual,
        energy,
        cost,
        failed,
        overtaken,
        owner,
        device,
        share,
        start,
        end,
        expected,
        lost,
        cluster.names,
        cluster.gpu_id,
        cluster.column("idle_watts"),
        physics.idle_price(cluster),
        state.queues[positions] if len(state.queues) else None,
    )


@nb.njit(cache=True)
def _parts_of(tasks: Records, parts: Records, positions: IntArray) -> tuple[IntArray, IntArray]:
    """The parts of these tasks, lost ones too, and whose they are; task by task."""
    count = 0
    for t in positions:
        p = tasks[t].last_part
        while p >= 0:
            count += 1
            p = parts[p].before
    rows, owner = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    k = 0
    for i in range(len(positions)):
        p = tasks[positions[i]].last_part
        while p >= 0:
            rows[k] = p
            owner[k] = i
            k += 1
            p = parts[p].before
    return rows, owner


@hot
def _fill_owners(parts: Records, positions: IntArray, place: IntArray, rows: IntArray, owner: IntArray) -> int:
    """The parts of these tasks and whose they are, in the order they were decided; returns how many there are.

    `place` is -1 for every task there is.
    """
    for i in range(len(positions)):
        place[positions[i]] = i
    k = 0
    for p in range(len(parts)):
        i = place[parts[p].task]
        if i >= 0:
            rows[k] = p
            owner[k] = i
            k += 1
    return k


def _columns(
    rows: int, whole: int, real: int, truth: int
) -> tuple[list[IntArray], list[FloatArray], list[NDArray[np.bool_]]]:
    """So many columns of whole numbers, of real numbers and of truth values, to be filled."""
    return (
        [np.empty(rows, dtype=np.int64) for _ in range(whole)],
        [np.empty(rows) for _ in range(real)],
        [np.empty(rows, dtype=np.bool_) for _ in range(truth)],
    )


@hot
def _fill_tasks(
    tasks: Records,
    positions: IntArray,
    identity: IntArray,
    arrival: FloatArray,
    ready: FloatArray,
    finish: FloatArray,
    failed: NDArray[np.bool_],
) -> None:
    """Id, arrival, readiness, finish and failure, in one pass over the records."""
    for i in range(len(positions)):
        task = tasks[positions[i]]
        identity[i] = task.id
        arrival[i] = task.arrival
        ready[i] = task.ready
        finish[i] = task.finish
        failed[i] = task.status == FAILED


@nb.njit(cache=True)
def _waiting_columns(tasks: Records, parts: Records, room: Records, positions: IntArray) -> tuple[FloatArray, IntArray]:
    """When each was decided, or failed undecided, and how often it was overtaken, where tasks may wait."""
    decided, overtaken = np.empty(len(positions)), np.empty(len(positions), dtype=np.int64)
    for i in range(len(positions)):
        task = tasks[positions[i]]
        decided[i] = task.finish
        if task.last_part >= 0 and parts[task.last_part].decided >= task.ready:
            decided[i] = parts[task.last_part].decided
        overtaken[i] = room[positions[i]].overtaken
    return decided, overtaken


@hot
def _fill_parts(
    parts: Records,
    rows: IntArray,
    device: IntArray,
    share: FloatArray,
    start: FloatArray,
    end: FloatArray,
    expected: FloatArray,
    lost: NDArray[np.bool_],
) -> None:
    """Device, share, start, end, expected seconds and loss, in one pass over the records."""
    for k in range(len(rows)):
        part = parts[rows[k]]
        device[k] = part.device
        share[k] = part.share
        start[k] = part.start
        end[k] = part.end
        expected[k] = part.expected
        lost[k] = part.lost != 0
