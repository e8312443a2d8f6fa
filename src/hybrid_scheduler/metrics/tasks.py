"""How many tasks came to an end, finished or failed."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import CountMetric
from hybrid_scheduler.model.outcome import OutcomeBatch


class Tasks(CountMetric):
    """How many tasks came to an end, finished or failed."""

    name, title, short = "tasks", "tasks", "tasks"
    bigger_is_better = None

    def counted(self, outcomes: OutcomeBatch) -> int:
        """All of them."""
        return len(outcomes)
