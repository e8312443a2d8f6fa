"""Work stealing: every device has a deque of its own, and who has nothing to do takes from others."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Explanation, Scheduler
from hybrid_scheduler.schedulers.choose import may_run


class WorkStealing(Scheduler):
    """Tasks wait where a parent ran; an idle device takes its own newest, else steals the oldest of the longest queue.

    The rule of Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing", J. ACM 46 (1999), which
    steals from a device drawn at random; here it is the one with most tasks, the lowest of equals. Tasks without
    parents go to the devices in turn, by their ids. It knows nothing of times. A device where a task does not fit
    leaves it alone unless it fits on none.
    """

    idle_only = True

    def __init__(self) -> None:
        self._home: dict[int, int] = {}
        """The device of each task that waits; nothing but a memory of what `_place` says."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Give each idle device its own newest task, or one that it steals."""
        ids = waiting.ids()
        home = {
            id_: self._home[id_] if id_ in self._home else _place(waiting[index], view) for index, id_ in enumerate(ids)
        }
        self._home = home
        deques: list[list[int]] = [[] for _ in view.names]
        for index, id_ in enumerate(ids):
            deques[home[id_]].append(index)
        started = []
        for device, idle in enumerate(view.idle.tolist()):
            if idle:
                task = _take(deques, device, waiting, view)
                if task is not None:
                    started.append((task, Decision.whole(device)))
        return started

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Whose queue it is in."""
        return Explanation(
            f"It is in the queue of {view.names[_place(task, view)]}; a device that is idle may steal it."
        )


def _place(task: Task, view: ClusterView) -> int:
    """The device whose queue a task enters: where the last of its parents that are known had its larger part."""
    for parent in reversed(task.dependencies):
        parts = view.parts_of(parent)
        if parts:
            return max(parts, key=lambda part: part.share).device
    return task.task_id % len(view.names)


def _take(deques: list[list[int]], device: int, waiting: WaitingRoom, view: ClusterView) -> Task | None:
    """Take the newest task of a device's own deque, else the oldest of the longest one, that may run on it."""
    others = sorted((d for d in range(len(deques)) if d != device), key=lambda d: -len(deques[d]))
    for owner in (device, *others):
        deque = deques[owner]
        for place in range(len(deque) - 1, -1, -1) if owner == device else range(len(deque)):
            task = waiting[deque[place]]
            if may_run(task, device, view):
                del deque[place]
                return task
    return None
