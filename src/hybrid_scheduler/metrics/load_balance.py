"""Load balance."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric, Span
from hybrid_scheduler.model.outcome import OutcomeBatch


class LoadBalance(Metric):
    """Mean over largest utilization of the devices in use: 1 is perfectly even."""

    unit = "ratio"
    bigger_is_better = True

    def __init__(self) -> None:
        self._span = Span()

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._span.update(outcomes)

    def get(self) -> float | None:
        """The figure so far."""
        used = self._span.busy[self._span.busy > 0]
        return float(used.mean() / used.max()) if len(used) else None
