"""Forgetting tasks that are over, so that a simulation without an end needs no memory without an end."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.cluster.compiled import hot
from hybrid_scheduler.cluster.queues import advance
from hybrid_scheduler.cluster.state import CURRENT, DONE, EDGES, NEXT, PARTS, READY, TASKS, Records, State
from hybrid_scheduler.model.task import FloatArray


@hot
def leave_queues(devices: FloatArray, lanes: Records, parts: Records, now: float) -> None:
    """Let finished parts leave the queues, as the next decision would."""
    advance(devices, lanes, parts, now)


def forget(state: State, count: int, now: float) -> State:
    """The same state without its first `count` tasks, which must all have finished by `now` and been taken.

    Tasks and parts are numbered anew; nothing that a scheduler or an outcome could see changes.
    """
    leave_queues(state.devices, state.lanes, state.parts, now)
    c = state.counters
    used_parts, used_edges = int(c[PARTS]), int(c[EDGES])
    kept = np.flatnonzero(state.parts["task"][:used_parts] >= count)
    new_part = np.full(used_parts + 1, -1, dtype=np.int32)  # the last entry serves the -1 of "none"
    new_part[kept] = np.arange(len(kept), dtype=np.int32)
    parts = state.parts[kept]
    parts["task"] -= count
    for link in ("next", "after", "before"):
        parts[link] = new_part[parts[link]]
    lanes = state.lanes.copy()
    for link in ("head", "tail"):
        lanes[link] = new_part[lanes[link]]
    tasks = state.tasks[count : c[TASKS]].copy()
    for link in ("first_part", "last_part"):
        tasks[link] = new_part[tasks[link]]
    edges, tasks["first_edge"] = _edges(state, tasks["first_edge"], count, used_edges)
    heaps = {"ready": state.ready[: c[READY]].copy(), "done": state.done[: c[DONE]].copy()}
    for heap in heaps.values():
        heap["task"] -= count
    rest = slice(count, int(c[TASKS]))
    c[TASKS] -= count
    c[NEXT] -= count
    c[PARTS], c[EDGES] = len(parts), len(edges)
    c[CURRENT] = -1
    return state._replace(
        lanes=lanes,
        tasks=tasks,
        parts=parts,
        edges=edges,
        features=state.features[rest].copy(),
        nominal=state.nominal[rest].copy(),
        realised=state.realised[rest].copy(),
        **heaps,
    )


def _edges(state: State, first_edge: Records, count: int, used: int) -> tuple[Records, Records]:
    """The edges to tasks that stay, and where each staying task's list of children starts now."""
    edges = state.edges[:used].copy()
    # Children stand behind their parents, so an edge of a staying parent has a staying child.
    kept = np.zeros(used, dtype=bool)
    for start in first_edge[first_edge >= 0]:
        edge = int(start)
        while edge >= 0:
            kept[edge] = True
            edge = int(edges[edge]["next"])
    new_edge = np.full(used + 1, -1, dtype=np.int32)
    new_edge[np.flatnonzero(kept)] = np.arange(int(kept.sum()), dtype=np.int32)
    staying = edges[kept]
    staying["child"] -= count
    staying["next"] = new_edge[staying["next"]]
    return staying, new_edge[first_edge]
