"""Energy."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric, Span
from hybrid_scheduler.model.outcome import OutcomeBatch


class Energy(Metric):
    """Joules: power times busy time over all devices, plus idle power times idle time."""

    unit = "J"

    def __init__(self) -> None:
        self._busy, self._span = 0.0, Span()

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes; work that was lost is paid for too."""
        self._busy += float(outcomes.energy.sum())
        self._span.update(outcomes)

    def get(self) -> float:
        """What the busy and the idle seconds come to."""
        return self._busy + float((self._span.idle_watts * self._span.idle).sum())
