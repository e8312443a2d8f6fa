"""Money."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import OutcomeFacts, SpanMetric


class Cost(SpanMetric):
    """Dollars for the busy seconds of all devices, and for idle electricity where that is paid."""

    name, title, short = "cost", "cost", "cost"
    unit = "$"

    def __init__(self) -> None:
        super().__init__()
        self._busy = 0.0

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes; work that was lost is paid for too."""
        super().update_from(facts)
        self._busy += float(facts.outcomes.cost.sum())

    def get(self) -> float:
        """What the busy and the idle seconds come to."""
        return self._busy + float((self._span.idle_price * self._span.idle).sum())
