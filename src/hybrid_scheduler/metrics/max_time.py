"""Longest execution time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch


class MaximumTime(Metric):
    """Longest execution time of a finished task."""

    unit = "s"

    def __init__(self) -> None:
        self._most: float | None = None

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        times = outcomes.actual_time[~outcomes.failed]
        if len(times):
            self._most = max(float(times.max()), self._most or 0.0)

    def get(self) -> float | None:
        """The longest so far, or None."""
        return self._most
