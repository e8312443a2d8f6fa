"""Stored tasks as a graph, and the critical path through what happened."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from hybrid_scheduler.model.task import split_dependencies
from hybrid_scheduler.store.rows import ComparedTask, PartRow

SAME = 1e-9
"""Moments so close, in seconds or relative to the later one, are one: sums round."""


class Step(NamedTuple):
    """One task of a critical path (`CriticalStep`); from `start` to `end` it was at work, at last on this device."""

    task_id: int
    device: str
    start: float
    end: float
    waited_for: str | None


class _Cause(NamedTuple):
    """A part that had ended when another began; `rank` is a place in `REASONS`."""

    end: float
    rank: int
    task_id: int
    part: PartRow


REASONS = ("device", "parent", "own part")
"""What a part may wait for. Of two that ended together the later in this list explains more: a task waits for its
parents whatever the scheduler decides."""
Parts = dict[int, tuple[PartRow, ...]]
"""Of each task by its id."""


def graph_tasks(tasks: Sequence[ComparedTask]) -> list[dict[str, Any]]:
    """A `GraphTask` of each; every one has one result."""
    return [_graph_task(each) for each in tasks]


def _graph_task(compared: ComparedTask) -> dict[str, Any]:
    task = compared.task
    parts = _parts(compared)
    parents, megabytes = split_dependencies(task.dependencies)
    return {
        "task_id": task.task_id,
        "kind": task.kind,
        "size": task.size,
        "arrival_time": task.arrival_time,
        "parents": [
            {"task_id": parent, "megabytes": amount}
            for parent, amount in zip(parents, megabytes or [None] * len(parents), strict=True)
        ],
        "parts": [{"device": p.device, "share": p.share, "start": p.start, "end": p.end} for p in parts],
        "start": min((part.start for part in parts), default=None),
        "end": max((part.end for part in parts), default=None),
    }


def critical_path(tasks: Sequence[ComparedTask]) -> list[Step]:
    """Why the last of these tasks ended when it did: a chain of tasks, oldest first, each waiting for the one before.

    Of what happened, not of what the graph alone would demand. Walks back from the part that ended last. A part began
    no earlier because the task's last parent ended only then, or because its device was occupied until then: the
    one that ended later is the task before it in the path. Where both ended together it is the parent. The walk ends at
    a task that waited for neither, e.g. because it arrived after both.

    Tasks that are not given are not looked at: where one of those occupied the device, the path goes on with the last
    parent, and the time between is time that was waited.
    """
    parts: Parts = {each.task.task_id: _parts(each) for each in tasks}
    known = {each.task.task_id: each.task for each in tasks}
    occupied: dict[str, list[tuple[float, int, PartRow]]] = {}
    for task_id, part in ((each, part) for each, mine in parts.items() for part in mine):
        occupied.setdefault(part.device, []).append((part.end, task_id, part))
    if not occupied:
        return []
    for ended in occupied.values():
        ended.sort()
    _, task_id, part = max(ended[-1] for ended in occupied.values())
    path, seen = [Step(task_id, part.device, part.start, part.end, None)], {(task_id, part)}
    while True:
        parents, _ = split_dependencies(known[task_id].dependencies)
        cause = _cause(task_id, part, parents, parts, occupied)
        # Tasks that take no time could wait for each other in a circle.
        if cause is None or (cause.task_id, cause.part) in seen or _before(cause.end, known[task_id].arrival_time):
            return path[::-1]
        seen.add((cause.task_id, cause.part))
        if cause.task_id == task_id:
            path[-1] = path[-1]._replace(start=cause.part.start)
        else:
            path[-1] = path[-1]._replace(waited_for=REASONS[cause.rank])
            path.append(Step(cause.task_id, cause.part.device, cause.part.start, cause.part.end, None))
        task_id, part = cause.task_id, cause.part


def _cause(
    task_id: int,
    part: PartRow,
    parents: Sequence[int],
    parts: Parts,
    occupied: dict[str, list[tuple[float, int, PartRow]]],
) -> _Cause | None:
    """What a part waited for last: another part of its task, a parent, or whoever was on its devices before."""
    causes = [_Cause(each.end, 2, task_id, each) for each in parts[task_id] if each is not part]
    causes += [_Cause(each.end, 1, parent, each) for parent in parents for each in parts.get(parent, ())]
    # A wide task begins on all its devices together, so each of them may have kept it.
    for device in {each.device for each in parts[task_id] if _together(each.start, part.start)}:
        at = bisect_right(occupied[device], part.start + SAME * max(1.0, part.start), key=lambda entry: entry[0])
        earlier = (entry for entry in reversed(occupied[device][:at]) if entry[1] != task_id)
        causes += [_Cause(end, 0, other, each) for end, other, each in islice(earlier, 1)]
    causes = [cause for cause in causes if not _before(part.start, cause.end)]
    latest = max((cause.end for cause in causes), default=0.0)
    last = (cause for cause in causes if _together(cause.end, latest))
    return max(last, key=lambda cause: (cause.rank, cause.end, -cause.task_id), default=None)


def _parts(compared: ComparedTask) -> tuple[PartRow, ...]:
    """The parts that count: nothing came of those that were lost, or of a task that failed."""
    (result,) = compared.results
    return () if result.failed else tuple(part for part in result.parts if not part.lost)


def _together(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(1.0, abs(one), abs(other))


def _before(one: float, other: float) -> bool:
    return one < other and not _together(one, other)
