"""Columns of tasks and of their times in the arrays that compiled policies read."""

from __future__ import annotations

from typing import Final

TASK_SIZE: Final = 0
TASK_INTENSITY: Final = 1
TASK_MEMORY: Final = 2
TASK_KIND: Final = 3
TASK_PARENTS: Final = 4
TASK_WIDTH: Final = 5
"""Column: how many devices of one kind the task occupies together."""
TASK_RANK: Final = 6
"""Column: the upward rank of a task of a graph, relative to the largest of its graph; 0 outside graphs."""
TASK_COLUMNS: Final = 7

WAITING_SINCE: Final = TASK_COLUMNS
"""Column of a waiting task, behind the `TASK_*` columns: when it became ready."""
OVERTAKEN: Final = TASK_COLUMNS + 1
"""Column of a waiting task: how often tasks that became ready after it were started before it."""
WAITING_COLUMNS: Final = TASK_COLUMNS + 2

FIXED: Final = 0
"""Row of `times`: seconds every part costs, however small its share."""
SHARED: Final = 1
"""Row of `times`: seconds that scale with the share."""
