"""Mean waiting time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import MeanMetric
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray


class AverageWait(MeanMetric):
    """Mean wait: response time less execution time."""

    name, title, short = "avg_wait", "mean wait", "wait"
    unit = "s"

    def values(self, outcomes: OutcomeBatch) -> FloatArray:
        """The wait: response time less execution time of every task."""
        return outcomes.response_time - outcomes.actual_time
