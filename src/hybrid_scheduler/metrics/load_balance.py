"""Load balance."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import SpanMetric


class LoadBalance(SpanMetric):
    """Mean over largest utilization of the devices in use: 1 is perfectly even."""

    name, title, short = "load_balance", "load balance", "balance"
    unit = "ratio"
    bigger_is_better = True

    def get(self) -> float | None:
        """The figure so far."""
        used = self._span.busy[self._span.busy > 0]
        return float(used.mean() / used.max()) if len(used) else None
