"""From simulated state to outcomes: the one place where parts become times, joules and dollars of a task."""

from __future__ import annotations

import numba as nb
import numpy as np

from hybrid_scheduler.cluster.state import FAILED, State
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.view import SPLIT
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics


def collect(state: State, positions: IntArray, cluster: ClusterSpec, physics: Physics) -> OutcomeBatch:
    """Outcomes of the tasks at `positions` (in that order), with their parts in the order they were decided."""
    parts, part_task = _parts_of(state, positions)
    order = np.argsort(parts, kind="stable")
    parts, part_task = parts[order], part_task[order]
    # Column by column: taking whole records first would copy every field of a million rows.
    device, lost = state.parts["device"][parts].astype(np.int64), state.parts["lost"][parts] != 0
    start, end = state.parts["start"][parts], state.parts["end"][parts]
    watts, price = cluster.column("watts"), physics.busy_price(cluster)
    actual, energy, cost = _totals(
        len(positions), part_task, device, lost, end - start, watts, price, state.facts[SPLIT] != 0.0
    )
    return OutcomeBatch(
        state.tasks["id"][positions],
        state.tasks["arrival"][positions],
        state.tasks["ready"][positions],
        state.tasks["finish"][positions],
        actual,
        energy,
        cost,
        state.tasks["status"][positions] == FAILED,
        part_task,
        device,
        state.parts["share"][parts],
        start,
        end,
        state.parts["expected"][parts],
        lost,
        cluster.names,
        cluster.gpu_id,
        cluster.column("idle_watts"),
        physics.idle_price(cluster),
    )


@nb.njit(cache=True)
def _parts_of(sim: State, positions: IntArray) -> tuple[IntArray, IntArray]:
    """The parts of these tasks, lost ones too, and whose they are."""
    count = 0
    for t in positions:
        p = sim.tasks[t].last_part
        while p >= 0:
            count += 1
            p = sim.parts[p].before
    parts, owner = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    k = 0
    for i in range(len(positions)):
        p = sim.tasks[positions[i]].last_part
        while p >= 0:
            parts[k] = p
            owner[k] = i
            k += 1
            p = sim.parts[p].before
    return parts, owner


@nb.njit(cache=True)
def _totals(
    tasks: int,
    part_task: IntArray,
    device: IntArray,
    lost: np.ndarray,
    seconds: FloatArray,
    watts: FloatArray,
    price: FloatArray,
    serial: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    actual, energy, cost = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks)
    for p in range(len(part_task)):
        t, d = part_task[p], device[p]
        energy[t] += watts[d] * seconds[p]
        cost[t] += price[d] * seconds[p]
        if lost[p]:
            continue
        actual[t] = actual[t] + seconds[p] if serial else max(actual[t], seconds[p])
    return actual, energy, cost
