"""Utilization of the devices."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import Metric, Span
from hybrid_scheduler.model.outcome import OutcomeBatch


class Utilization(Metric):
    """Busy time of every device over elapsed time, and the mean over the devices."""

    unit = "share"
    bigger_is_better = None

    def __init__(self) -> None:
        self._span = Span()

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._span.update(outcomes)

    def get(self) -> dict[str, object] | None:
        """The figure so far."""
        elapsed = self._span.observed
        if elapsed is None:
            return None
        shares = self._span.busy / elapsed
        each = {name: {"utilization": float(share)} for name, share in zip(self._span.names, shares, strict=True)}
        return {"average_utilization": float(shares.mean()), **each}
