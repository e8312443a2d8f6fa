"""Sum of execution times."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import OutcomeFacts, SharingMetric


class TotalTime(SharingMetric):
    """Sum of the execution times of the finished tasks. Not a makespan."""

    name, title, short = "total_time", "total execution time", "total"
    unit = "s"

    def __init__(self) -> None:
        self._sum = 0.0

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        self._sum += float(facts.times.sum())

    def get(self) -> float:
        """The sum so far."""
        return self._sum
