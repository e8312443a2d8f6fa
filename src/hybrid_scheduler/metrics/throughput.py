"""Throughput."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import SpanMetric


class Throughput(SpanMetric):
    """Finished tasks per second of makespan."""

    name, title, short = "throughput", "throughput", "throughput"
    unit = "tasks/s"
    bigger_is_better = True

    def get(self) -> float | None:
        """The figure so far."""
        elapsed = self._span.elapsed
        return self._span.finished / elapsed if elapsed else None
