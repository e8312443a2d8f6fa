"""Forgetting tasks that are over, so that a simulation without an end needs no memory without an end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.arrays import grown
from hybrid_scheduler.cluster.data import linked_parents
from hybrid_scheduler.cluster.queues import advance
from hybrid_scheduler.cluster.state import (
    CURRENT,
    DATA_ROWS,
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
from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.task import FloatArray


@hot
def leave_queues(devices: FloatArray, device_queues: Records, parts: Records, now: float) -> None:
    """Let finished parts leave the queues, as the next decision would."""
    advance(devices, device_queues, parts, now)


def forget(state: State, gone: NDArray[np.bool_], now: float) -> State:
    """The same state without the tasks where `gone` is true, which must all have finished by `now` and been taken.

    Whose data a task that stays may yet need (`needed`) must stay too. Tasks and parts are numbered anew; nothing that
    a scheduler or an outcome could see changes.
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
    edges, tasks["first_edge"] = _lists(state.edges[: c[EDGES]], tasks["first_edge"], "child", new_task)
    data, tasks["first_data"] = _lists(state.data[: c[DATA_ROWS]], tasks["first_data"], "parent", new_task)
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
    c[DATA_ROWS] = len(data)
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
        data=data,
        savings=state.savings[:count][stays[: len(state.savings)]],
        **heaps,
    )


def _numbers(kept: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """The new number of every old one, -1 for those that go; the last entry serves the -1 of "none"."""
    numbers = np.full(count + 1, -1, dtype=np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    return numbers


def needed(state: State, over: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whose data tasks may yet need that are not `over`."""
    kept = np.zeros(len(over), dtype=bool)
    handed = state.tasks["first_data"][: len(over)] >= 0
    kept[linked_parents(state.tasks, state.data, np.flatnonzero(handed & ~over).tolist())] = True
    return kept


def _lists(
    records: Records, first: Records, names: str, new_task: NDArray[np.int32]
) -> tuple[Records, NDArray[np.int32]]:
    """The records of the lists of staying tasks that name staying tasks, and where each list starts now."""
    starts, kept = np.full(len(first), -1, dtype=np.int32), list[int]()
    following, task = records["next"].tolist(), new_task[records[names]].tolist()
    links: list[int] = []
    for i, row in enumerate(first.tolist()):
        last = -1
        while row >= 0:
            if task[row] >= 0:
                if last < 0:
                    starts[i] = len(kept)
                else:
                    links[last] = len(kept)
                last = len(kept)
                kept.append(row)
                links.append(-1)
            row = following[row]
    staying = records[kept]
    staying[names], staying["next"] = [task[row] for row in kept], links
    return staying, starts
