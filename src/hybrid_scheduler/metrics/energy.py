"""Energy."""

from __future__ import annotations

import math

from hybrid_scheduler.metrics.base import OutcomeFacts, SpanMetric
from hybrid_scheduler.physics.energy import idle_energy


class Energy(SpanMetric):
    """Joules: power times busy time over all devices, plus idle power times idle time.

    On a real node the busy joules are those the machine measured; where it does not tell them nobody knows.
    """

    name, title, short = "energy", "energy", "energy"
    unit = "J"

    def __init__(self) -> None:
        super().__init__()
        self._busy = 0.0

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes; work that was lost is paid for too."""
        super().update_from(facts)
        self._busy += float(facts.outcomes.energy.sum())

    def get(self) -> float | None:
        """What the busy and the idle seconds come to; None when nobody knows."""
        joules = self._busy + float(idle_energy(self._span.idle_watts, self._span.idle).sum())
        return None if math.isnan(joules) else joules
