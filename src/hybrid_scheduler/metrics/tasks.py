"""How many tasks came to an end, finished or failed."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch


class Tasks(Metric):
    """How many tasks came to an end, finished or failed."""

    name, title, short = "tasks", "tasks", "tasks"
    unit = "tasks"
    bigger_is_better = None

    def __init__(self) -> None:
        self._count = 0

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._count += len(outcomes)

    def get(self) -> int:
        """The number so far."""
        return self._count
