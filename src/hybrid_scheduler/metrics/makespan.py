"""Makespan."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric, Span
from hybrid_scheduler.model.outcome import OutcomeBatch


class Makespan(Metric):
    """Last finish less first arrival. Not a sum of task times."""

    unit = "s"
    bigger_is_better = False

    def __init__(self) -> None:
        self._span = Span()

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._span.update(outcomes)

    def get(self) -> float | None:
        """The figure so far."""
        return self._span.elapsed
