"""Mean execution time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import MeanMetric
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray


class AverageTime(MeanMetric):
    """Mean execution time without queueing."""

    name, title, short = "avg_time", "mean execution time", "execution"
    unit = "s"

    def values(self, outcomes: OutcomeBatch) -> FloatArray:
        """The execution time without queueing of every task."""
        return outcomes.actual_time
