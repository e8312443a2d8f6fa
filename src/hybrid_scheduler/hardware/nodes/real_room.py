"""The waiting room of a real node: who waits, by expected seconds and by age."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np

from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import OVERTAKEN, WAITING_COLUMNS, WAITING_SINCE
from hybrid_scheduler.model.view import task_row
from hybrid_scheduler.model.waiting import WaitingRoom, highest_ranked

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.nodes.real_task import RealTask, ShownTimes

SHORTEST = 1e-9
"""Seconds below which two tasks count as equally short."""


ROOM = 64
"""Tasks there is room for at first."""


class RoomLists:
    """The tasks that wait, kept in both orders; a task enters and leaves by a binary search.

    Attributes:
        by_age: Their numbers, in the order in which they became ready.
        by_seconds: (expected seconds, id), ascending; infinite where nobody knows.
        tasks: The tasks by number.
        by_id: The tasks by their ids.
        ranked: Those of graphs, by number.

    Args:
        devices: How many there are.
    """

    def __init__(self, devices: int) -> None:
        self.by_age: list[int] = []
        self.by_seconds: list[tuple[float, int]] = []
        self.tasks: dict[int, RealTask] = {}
        self.by_id: dict[int, RealTask] = {}
        self.ranked: dict[int, RealTask] = {}
        self._entered = 0
        self._logs, self._known = 0.0, 0
        # What schedulers are shown of each, in one piece: a few rows are taken out of it at every decision.
        self._rows, self._times = np.zeros((ROOM, WAITING_COLUMNS)), np.zeros((ROOM, 2, devices))
        self._free = list(range(ROOM))

    def __len__(self) -> int:
        return len(self.by_age)

    def enter(self, task: RealTask, shown: ShownTimes) -> None:
        """A task has become ready; it gets the next number."""
        if not self._free:
            self._grow()
        seconds, place = shown.least, self._free.pop()
        task.number, task.expected, task.place = self._entered, seconds, place
        self._rows[place, :WAITING_SINCE], self._rows[place, WAITING_SINCE] = task_row(task.shown), task.ready
        if len(shown.times):
            self._times[place] = shown.times
        self._entered += 1
        self.tasks[task.number] = self.by_id[task.task.task_id] = task
        self.by_age.append(task.number)
        insort(self.by_seconds, (seconds, task.task.task_id))
        if task.shown.upward_rank > 0.0:
            self.ranked[task.number] = task
        self._count(shown.log, 1)

    def leave(self, task: RealTask) -> None:
        """A task waits no more."""
        del self.tasks[task.number], self.by_id[task.task.task_id]
        self.ranked.pop(task.number, None)
        del self.by_age[bisect_left(self.by_age, task.number)]
        del self.by_seconds[bisect_left(self.by_seconds, (task.expected, task.task.task_id))]
        self._free.append(task.place)
        self._count(log_of(task.expected), -1)

    def expect(self, look_up: Callable[[RealTask], ShownTimes]) -> None:
        """Tasks that wait are expected to take something else now."""
        self._logs, self._known, self.by_seconds = 0.0, 0, []
        for task_id, task in self.by_id.items():
            shown = look_up(task)
            task.expected = shown.least
            self._times[task.place] = shown.times
            self.by_seconds.append((shown.least, task_id))
            self._count(shown.log, 1)
        self.by_seconds.sort()

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
        # Ten times as fast as drawing without replacement; a place that is drawn twice counts once.
        by_age, draw = self.by_age, generator.random
        drawn = dict.fromkeys([by_age[int(draw() * len(by_age))] for _ in range(count)])
        return [self.tasks[number] for number in drawn]

    def highest_ranked(self, count: int) -> list[RealTask]:
        """The few of the highest upward rank, those of a graph alone."""
        shown = {each.task.task_id: each for each in self.ranked.values()}
        return [shown[task.task_id] for task in highest_ranked((each.shown for each in shown.values()), count)]

    def table(self, tasks: Sequence[RealTask]) -> FloatArray:
        """Rows of some of them (`WaitingRoom.table`)."""
        return self.shown(tasks)[0]

    def shown(self, tasks: Sequence[RealTask]) -> tuple[FloatArray, FloatArray]:
        """The table of some of them, and their `FIXED` and `SHARED` seconds per device."""
        places = np.array([each.place for each in tasks], dtype=np.intp)
        table, by_age = self._rows[places], self.by_age
        left = self._entered - len(by_age)
        table[:, OVERTAKEN] = [left + bisect_left(by_age, each.number) - each.number for each in tasks]
        return table, self._times[places]

    @property
    def mean_log(self) -> float:
        """Mean of the logarithms of the expected seconds, of those that are known; 0 when none is."""
        return self._logs / self._known if self._known else 0.0

    def _count(self, log: float, sign: int) -> None:
        if log < math.inf:
            self._logs += sign * log
            self._known += sign
        if not self._known:
            self._logs = 0.0  # rounding does not pile up

    def _grow(self) -> None:
        """Make twice as much room."""
        count = len(self._rows)
        self._rows, self._times = (np.concatenate([each, np.zeros_like(each)]) for each in (self._rows, self._times))
        self._free = list(range(count, 2 * count))


def log_of(seconds: float) -> float:
    """The logarithm of expected seconds; infinite where nobody knows."""
    return math.log(max(seconds, SHORTEST))


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
