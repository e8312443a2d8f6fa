"""Batch mode: tasks are mapped to devices together, not one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import FloatArray, IntArray, Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Explanation, Scheduler

Mapping = tuple[IntArray, IntArray]
"""The rows of the tasks in the order in which they are mapped, and the device of every task."""
WINDOW = 128


@nb.njit(cache=True)
def first_to_finish(seconds: FloatArray, ready: FloatArray) -> int:
    """The device that would finish a task first, the lowest of equals."""
    best = 0
    for d in range(1, len(ready)):
        if ready[d] + seconds[d] < ready[best] + seconds[best]:
            best = d
    return best


@nb.njit(cache=True)
def makespan(times: FloatArray, ready: FloatArray, device: IntArray) -> float:
    """When the last device is free after every task has run on its device."""
    free = ready.copy()
    for i in range(len(device)):
        free[device[i]] += times[i, device[i]]
    return float(free.max())


class BatchScheduler(Scheduler):
    """Maps all tasks at hand to devices together; a subclass says how in `assign`.

    Tasks that come over time wait. At every change those that wait are mapped anew, and on each idle device the first
    task that is mapped to it starts: the batch mode of Maheswaran, Ali, Siegel, Hensgen and Freund, "Dynamic mapping of
    a class of independent tasks onto heterogeneous computing systems", J. Parallel Distrib. Comput. 59 (1999), with a
    mapping event at every change. A batch that comes at once, without dependencies, is mapped as a whole when it is
    there, and queued in that order: the static mapping of Braun et al. (2001).

    A device that is down gets nothing, one where a task does not fit only when the task fits on none. Tasks are not
    split.

    Args:
        window: At most so many of the oldest waiting tasks are mapped at a change, so that a mapping costs the same
            however many wait. A batch that comes at once is mapped whole.
    """

    uses_estimates = True
    idle_only = True
    rule: ClassVar[str] = ""
    """In a sentence without a full stop: who goes first, and where."""

    def __init__(self, window: int = WINDOW) -> None:
        self.window = within("window", window, 1, 100_000)
        self._batch: frozenset[int] = frozenset()

    @abstractmethod
    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """Map tasks to devices.

        Args:
            times: Seconds of each task on each device, infinite where it may not go; every task may go somewhere.
            ready: In how many seconds each device is expected to be free.
        """

    def assign_batch(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """As `assign`, for a batch that is mapped only once."""
        return self.assign(times, ready)

    def prepare(self, tasks: Sequence[Task], view: ClusterView) -> None:
        """Note whether these tasks are a batch: several, all there at the same moment, none depending on another."""
        at = tasks[0].arrival_time if tasks else 0.0
        together = len(tasks) > 1 and all(task.arrival_time == at and not task.dependencies for task in tasks)
        self._batch = frozenset(task.task_id for task in tasks) if together else frozenset()

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Queue the batch that is there, or start the first task of each idle device's share of those that wait."""
        batch = [task for task in waiting if task.task_id in self._batch] if self._batch else []
        tasks = batch or waiting.oldest(self.window)
        times = allowed_times(tasks, view)
        order, device = (self.assign_batch if batch else self.assign)(times, view.backlog)
        rows = order.tolist()
        if not batch:
            first: dict[int, int] = {}
            for i in rows:
                first.setdefault(int(device[i]), i)
            rows = [i for d, i in first.items() if view.idle[d]]
        return [(tasks[i], Decision.whole(int(device[i]), float(times[i, device[i]]))) for i in rows]

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """The rule, and where the task would go by itself."""
        seconds = view.times_of(task).sum(axis=0)
        if not view.available.any():
            return Explanation("It waits because no device is up.", seconds)
        alone = view.names[first_to_finish(allowed_times([task], view)[0], view.backlog)]
        return Explanation(f"{self.rule}; by itself it would finish first on {alone}.", seconds)


def allowed_times(tasks: Sequence[Task], view: ClusterView, up: NDArray[np.bool_] | None = None) -> FloatArray:
    """Seconds of each task on each device; infinite where the device is down or, unless it fits nowhere, too small.

    Args:
        tasks: The tasks.
        view: The node.
        up: The devices that count as up; those that are, unless given.
    """
    times = np.array([view.times_of(task).sum(axis=0) for task in tasks])
    memory = np.array([task.memory_required for task in tasks])
    up = view.available > 0.0 if up is None else up
    allowed = up & ((view.kind != "gpu") | (memory[:, None] <= view.memory_mb))
    allowed[~allowed.any(axis=1)] = up
    return np.where(allowed, times, np.inf)
