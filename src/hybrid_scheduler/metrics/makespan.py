"""Makespan."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import SpanMetric


class Makespan(SpanMetric):
    """Last finish less first arrival. Not a sum of task times."""

    name, title, short = "makespan", "makespan", "makespan"
    unit = "s"
    bigger_is_better = False

    def get(self) -> float | None:
        """The figure so far."""
        return self._span.elapsed
