"""Money."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import BusyMetric


class Cost(BusyMetric):
    """Dollars for the busy seconds of all devices, and for idle electricity where that is paid."""

    name, title, short = "cost", "cost", "cost"
    unit = "$"
    figure = "cost"

    def get(self) -> float:
        """What the busy and the idle seconds come to."""
        return self._busy + float((self._span.idle_price * self._span.idle).sum())
