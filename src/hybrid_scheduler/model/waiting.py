"""The waiting room as a scheduler sees it: tasks that are ready and that nobody has started."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from heapq import nsmallest

import numpy as np

from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import OVERTAKEN, WAITING_COLUMNS, WAITING_SINCE
from hybrid_scheduler.model.view import task_row


def highest_ranked(of_graphs: Iterable[Task], count: int) -> list[Task]:
    """The few of the highest upward rank, of equals the lowest ids."""
    return nsmallest(count, of_graphs, key=lambda task: (-task.upward_rank, task.task_id))


class WaitingRoom(Sequence[Task]):
    """Tasks that wait to be started, in the order in which they became ready.

    Valid for the call it is handed to. Going through all of it costs its length; `shortest` and `oldest` do not.
    """

    def ids(self) -> list[int]:
        """The ids of all, in order; cheaper than going through the tasks."""
        return [task.task_id for task in self]

    @abstractmethod
    def shortest(self, count: int) -> list[Task]:
        """The few with the shortest estimated time on their best device; the oldest, where there are no estimates."""

    @abstractmethod
    def oldest(self, count: int) -> list[Task]:
        """The few that have waited longest."""

    @abstractmethod
    def sample(self, count: int) -> list[Task]:
        """At most so many of all, another sample at every decision."""

    def highest_ranked(self, count: int) -> list[Task]:
        """The few of the highest upward rank, those of a graph alone; of equals the lowest ids."""
        return highest_ranked((task for task in self if task.upward_rank > 0.0), count)

    def table(self, tasks: Sequence[Task]) -> FloatArray:
        """The `WAITING_COLUMNS` columns of some of the tasks, a row each, as compiled policies see them."""
        table = np.empty((len(tasks), WAITING_COLUMNS))
        for row, task in enumerate(tasks):
            table[row, :WAITING_SINCE] = task_row(task)
            table[row, WAITING_SINCE], table[row, OVERTAKEN] = self.since(task), self.overtaken(task)
        return table

    @abstractmethod
    def since(self, task: Task) -> float:
        """When a waiting task became ready."""

    @abstractmethod
    def overtaken(self, task: Task) -> int:
        """How often tasks that became ready after a waiting task were started before it."""

    @abstractmethod
    def seconds_ahead(self, task: Task, *, shortest_first: bool = False) -> float:
        """Estimated seconds of the tasks that entered before a waiting task, or that are shorter than it."""
