"""Utilization of the devices."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import SpanMetric


class Utilization(SpanMetric):
    """Busy time of every device over elapsed time, and the mean over the devices."""

    name, title, short = "utilization", "utilization", "utilization"
    unit = "share"
    bigger_is_better = None

    def get(self) -> dict[str, object] | None:
        """The figure so far."""
        elapsed = self._span.observed
        if elapsed is None:
            return None
        shares = self._span.busy / elapsed
        devices = {name: {"utilization": float(share)} for name, share in zip(self._span.names, shares, strict=True)}
        return {"average_utilization": float(shares.mean()), **devices}
