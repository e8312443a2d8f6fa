"""Mean response time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import MeanMetric
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray


class AverageResponse(MeanMetric):
    """Mean response time, from arrival to finish."""

    name, title, short = "avg_response", "mean response time", "response"
    unit = "s"

    def values(self, outcomes: OutcomeBatch) -> FloatArray:
        """The response time of every task."""
        return outcomes.response_time
