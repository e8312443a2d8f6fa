"""The waiting room of a real node: who waits, by expected seconds and by age."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import OVERTAKEN, WAITING_COLUMNS, WAITING_SINCE
from hybrid_scheduler.model.view import task_row
from hybrid_scheduler.model.waiting import WaitingRoom, highest_ranked

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.nodes.real_task import RealTask

SHORTEST = 1e-9
"""Seconds below which two tasks count as equally short."""


class RoomLists:
    """The tasks that wait, kept in both orders; a task enters and leaves by a binary search.

    Attributes:
        by_age: Their numbers, in the order in which they became ready.
        by_seconds: (expected seconds, id), ascending; infinite where nobody knows.
        tasks: The tasks by number.
        by_id: The tasks by their ids.
        ranked: Those of graphs, by number.
    """

    def __init__(self) -> None:
        self.by_age: list[int] = []
        self.by_seconds: list[tuple[float, int]] = []
        self.tasks: dict[int, RealTask] = {}
        self.by_id: dict[int, RealTask] = {}
        self.ranked: dict[int, RealTask] = {}
        self._entered = 0
        self._logs, self._known = 0.0, 0

    def __len__(self) -> int:
        return len(self.by_age)

    def enter(self, task: RealTask, seconds: float) -> None:
        """A task has become ready; it gets the next number."""
        task.number, task.expected = self._entered, seconds
        task.row = np.empty(WAITING_COLUMNS)
        task.row[:WAITING_SINCE], task.row[WAITING_SINCE] = task_row(task.shown), task.ready
        self._entered += 1
        self.tasks[task.number] = self.by_id[task.task.task_id] = task
        self.by_age.append(task.number)
        insort(self.by_seconds, (seconds, task.task.task_id))
        if task.shown.upward_rank > 0.0:
            self.ranked[task.number] = task
        self._count(seconds, 1)

    def leave(self, task: RealTask) -> None:
        """A task waits no more."""
        del self.tasks[task.number], self.by_id[task.task.task_id]
        self.ranked.pop(task.number, None)
        del self.by_age[bisect_left(self.by_age, task.number)]
        del self.by_seconds[bisect_left(self.by_seconds, (task.expected, task.task.task_id))]
        self._count(task.expected, -1)

    def expect(self, seconds: Iterable[tuple[RealTask, float]]) -> None:
        """Tasks that wait are expected to take something else now."""
        for task, expected in seconds:
            task.expected = expected
        self.by_seconds = sorted((task.expected, task_id) for task_id, task in self.by_id.items())
        self._logs, self._known = 0.0, 0
        for task in self.tasks.values():
            self._count(task.expected, 1)

    def overtaken(self, task: RealTask) -> int:
        """How often tasks that became ready after this one, which waits, have left before it."""
        before = bisect_left(self.by_age, task.number)
        left_before = task.number - before
        return self._entered - len(self.by_age) - left_before

    def shortest(self, count: int) -> list[RealTask]:
        """The few that are expected to take least."""
        return [self.by_id[task_id] for _, task_id in self.by_seconds[:count]]

    def oldest(self, count: int) -> list[RealTask]:
        """The few that have waited longest."""
        return [self.tasks[number] for number in self.by_age[:count]]

    def sample(self, count: int, generator: np.random.Generator) -> list[RealTask]:
        """At most so many, drawn anew."""
        if not self.by_age or not count:
            return []
        # Several times as fast as drawing without replacement; a place that is drawn twice counts once.
        drawn = dict.fromkeys(generator.integers(len(self.by_age), size=count).tolist())
        return [self.tasks[self.by_age[place]] for place in drawn]

    def highest_ranked(self, count: int) -> list[RealTask]:
        """The few of the highest upward rank, those of a graph alone."""
        shown = {each.task.task_id: each for each in self.ranked.values()}
        return [shown[task.task_id] for task in highest_ranked((each.shown for each in shown.values()), count)]

    def table(self, tasks: Sequence[RealTask]) -> FloatArray:
        """Rows of some of them (`WaitingRoom.table`)."""
        table = np.array([each.row for each in tasks]).reshape(-1, WAITING_COLUMNS)
        table[:, OVERTAKEN] = [self.overtaken(each) for each in tasks]
        return table

    @property
    def mean_log(self) -> float:
        """Mean of the logarithms of the expected seconds, of those that are known; 0 when none is."""
        return self._logs / self._known if self._known else 0.0

    def _count(self, seconds: float, sign: int) -> None:
        if math.isfinite(seconds):
            self._logs += sign * math.log(max(seconds, SHORTEST))
            self._known += sign
        if not self._known:
            self._logs = 0.0  # rounding does not pile up


class RealRoom(WaitingRoom):
    """What a scheduler sees of those lists; or, for one that decides at once, the task that has its turn.

    Args:
        lists: Who waits.
        alone: The task that has its turn, for a scheduler that decides at once.
        generator: Draws samples.
    """

    def __init__(self, lists: RoomLists, alone: RealTask | None, generator: np.random.Generator) -> None:
        self._lists, self._alone, self._generator = lists, alone, generator

    @cached_property
    def _all(self) -> list[RealTask]:
        if self._alone is not None:
            return [self._alone]
        return [self._lists.tasks[number] for number in self._lists.by_age]

    def __len__(self) -> int:
        return 1 if self._alone is not None else len(self._lists)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        if isinstance(index, slice):
            return [each.shown for each in self._all[index]]
        if self._alone is None and index == 0 and self._lists.by_age:
            return self._lists.tasks[self._lists.by_age[0]].shown
        return self._all[index].shown

    def __contains__(self, task: object) -> bool:
        if not isinstance(task, Task):
            return False
        if self._alone is not None:
            return task.task_id == self._alone.task.task_id
        return task.task_id in self._lists.by_id

    def ids(self) -> list[int]:
        """See `WaitingRoom.ids`."""
        return [each.task.task_id for each in self._all]

    def shortest(self, count: int) -> list[Task]:
        """See `WaitingRoom.shortest`."""
        if self._alone is not None:
            return [self._alone.shown][:count]
        return [each.shown for each in self._lists.shortest(count)]

    def oldest(self, count: int) -> list[Task]:
        """See `WaitingRoom.oldest`."""
        if self._alone is not None:
            return [self._alone.shown][:count]
        return [each.shown for each in self._lists.oldest(count)]

    def sample(self, count: int) -> list[Task]:
        """See `WaitingRoom.sample`."""
        if self._alone is not None:
            return [self._alone.shown][:count]
        return [each.shown for each in self._lists.sample(count, self._generator)]

    def highest_ranked(self, count: int) -> list[Task]:
        """See `WaitingRoom.highest_ranked`."""
        if self._alone is not None:
            return super().highest_ranked(count)
        return [each.shown for each in self._lists.highest_ranked(count)]

    def table(self, tasks: Sequence[Task]) -> FloatArray:
        """See `WaitingRoom.table`."""
        if self._alone is not None:
            return super().table(tasks)
        return self._lists.table([self._lists.by_id[task.task_id] for task in tasks])

    def since(self, task: Task) -> float:
        """See `WaitingRoom.since`."""
        return self._find(task).ready

    def overtaken(self, task: Task) -> int:
        """See `WaitingRoom.overtaken`."""
        return 0 if self._alone is not None else self._lists.overtaken(self._find(task))

    def seconds_ahead(self, task: Task, *, shortest_first: bool = False) -> float:
        """See `WaitingRoom.seconds_ahead`; what nobody knows counts as nothing."""
        own = self._find(task)
        if shortest_first:
            key = own.expected, own.task.task_id
            ahead = [each[0] for each in self._lists.by_seconds if each < key]
        else:
            ahead = [each.expected for each in self._all if each.number < own.number]
        return float(sum(seconds for seconds in ahead if math.isfinite(seconds)))

    def _find(self, task: Task) -> RealTask:
        return self._lists.by_id[task.task_id] if self._alone is None else self._alone
