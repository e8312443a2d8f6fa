"""Sum of execution times."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch


class TotalTime(Metric):
    """Sum of the execution times of the finished tasks. Not a makespan."""

    unit = "s"

    def __init__(self) -> None:
        self._sum = 0.0

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._sum += float(outcomes.actual_time[~outcomes.failed].sum())

    def get(self) -> float:
        """The sum so far."""
        return self._sum
