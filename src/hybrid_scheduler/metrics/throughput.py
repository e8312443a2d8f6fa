"""Throughput."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric, Span
from hybrid_scheduler.model.outcome import OutcomeBatch


class Throughput(Metric):
    """Finished tasks per second of makespan."""

    unit = "tasks/s"
    bigger_is_better = True

    def __init__(self) -> None:
        self._span = Span()

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._span.update(outcomes)

    def get(self) -> float | None:
        """The figure so far."""
        elapsed = self._span.elapsed
        return self._span.finished / elapsed if elapsed else None
