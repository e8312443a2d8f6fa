"""How many tasks failed."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch


class Failed(Metric):
    """How many tasks failed."""

    name, title, short = "failed", "failed tasks", "failed"
    unit = "tasks"
    bigger_is_better = False

    def __init__(self) -> None:
        self._count = 0

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._count += int(outcomes.failed.sum())

    def get(self) -> int:
        """The number so far."""
        return self._count
