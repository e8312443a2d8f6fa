"""How many tasks failed."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import CountMetric
from hybrid_scheduler.model.outcome import OutcomeBatch


class Failed(CountMetric):
    """How many tasks failed."""

    name, title, short = "failed", "failed tasks", "failed"

    def counted(self, outcomes: OutcomeBatch) -> int:
        """The failed ones."""
        return int(outcomes.failed.sum())
