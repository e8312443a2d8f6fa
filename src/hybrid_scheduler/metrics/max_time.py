"""Longest execution time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import OutcomeFacts, SharingMetric


class MaximumTime(SharingMetric):
    """Longest execution time of a finished task."""

    name, title, short = "max_time", "longest execution time", "longest"
    unit = "s"

    def __init__(self) -> None:
        self._most: float | None = None

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        times = facts.of_finished(facts.outcomes.actual_time)
        if len(times):
            self._most = max(float(times.max()), self._most or 0.0)

    def get(self) -> float | None:
        """The longest so far, or None."""
        return self._most
