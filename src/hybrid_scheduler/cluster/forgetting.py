"""Forgetting tasks that are over, so that a simulation without an end needs no memory without an end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.arrays import grown
from hybrid_scheduler.cluster.compiled import hot
from hybrid_scheduler.cluster.queues import advance
from hybrid_scheduler.cluster.state import (
    CURRENT,
    DONE,
    EDGES,
    NEWEST,
    NEXT,
    OLDEST,
    PARTS,
    READY,
    TASKS,
    WAITING_TASKS,
    Records,
    State,
)
from hybrid_scheduler.cluster.waiting import new_ages
from hybrid_scheduler.model.task import FloatArray


@hot
def leave_queues(devices: FloatArray, device_queues: Records, parts: Records, now: float) -> None:
    """Let finished parts leave the queues, as the next decision would."""
    advance(devices, device_queues, parts, now)


def forget(state: State, gone: NDArray[np.bool_], now: float) -> State:
    """The same state without the tasks where `gone` is true, which must all have finished by `now` and been taken.

    A task may only go together with its parents. Tasks and parts are numbered anew; nothing that a scheduler or an
    outcome could see changes.
    """
    leave_queues(state.devices, state.device_queues, state.parts, now)
    c = state.counters
    used_parts, stays = int(c[PARTS]), ~gone
    kept = np.flatnonzero(stays[state.parts["task"][:used_parts]])
    new_task, new_part = _numbers(np.flatnonzero(stays), len(gone)), _numbers(kept, used_parts)
    parts = state.parts[kept]
    parts["task"] = new_task[parts["task"]]
    for link in ("next", "after", "before"):
        parts[link] = new_part[parts[link]]
    device_queues = state.device_queues.copy()
    for link in ("head", "tail"):
        device_queues[link] = new_part[device_queues[link]]
    tasks = state.tasks[: c[TASKS]][stays]
    for link in ("first_part", "last_part"):
        tasks[link] = new_part[tasks[link]]
    edges, tasks["first_edge"] = _edges(state, tasks["first_edge"], new_task)
    sizes = {"ready": c[READY], "done": c[DONE], "shortest": c[WAITING_TASKS]}
    heaps = {name: getattr(state, name)[:size].copy() for name, size in sizes.items()}
    for name, heap in heaps.items():
        heap["task"] = new_task[heap["task"]]
        # Every task that stays may yet go on it before more come in.
        heaps[name] = grown(heap, len(tasks)) if len(getattr(state, name)) else heap
    room = state.room[: len(gone)][stays[: len(state.room)]]
    waiting = heaps["shortest"]["task"][: sizes["shortest"]]
    for link in ("older", "newer"):
        room[link][waiting] = new_task[room[link][waiting]]
    c[[OLDEST, NEWEST]] = new_task[c[[OLDEST, NEWEST]]]
    c[NEXT] = int(stays[: c[NEXT]].sum())
    count = len(gone)
    c[TASKS], c[PARTS], c[EDGES], c[CURRENT] = len(tasks), len(parts), len(edges), -1
    return state._replace(
        device_queues=device_queues,
        tasks=tasks,
        parts=parts,
        edges=edges,
        room=room,
        features=state.features[:count][stays],
        nominal=state.nominal[:count][stays],
        realised=state.realised[:count][stays],
        queues=state.queues[:count][stays[: len(state.queues)]],
        ages=new_ages(room, c),
        **heaps,
    )


def _numbers(kept: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """The new number of every old one, -1 for those that go; the last entry serves the -1 of "none"."""
    numbers = np.full(count + 1, -1, dtype=np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    return numbers


def _edges(state: State, first_edge: Records, new_task: NDArray[np.int32]) -> tuple[Records, Records]:
    """The edges to tasks that stay, and where each staying task's list of children starts now."""
    used = int(state.counters[EDGES])
    edges = state.edges[:used].copy()
    # A child stays as long as a parent does, so an edge of a staying parent has a staying child.
    kept = np.zeros(used, dtype=bool)
    for start in first_edge[first_edge >= 0]:
        edge = int(start)
        while edge >= 0:
            kept[edge] = True
            edge = int(edges[edge]["next"])
    new_edge = _numbers(np.flatnonzero(kept), used)
    staying = edges[kept]
    staying["child"] = new_task[staying["child"]]
    staying["next"] = new_edge[staying["next"]]
    return staying, new_edge[first_edge]
