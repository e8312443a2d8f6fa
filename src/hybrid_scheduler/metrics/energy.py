"""Energy."""

from __future__ import annotations

import math

from hybrid_scheduler.metrics.base import BusyMetric
from hybrid_scheduler.physics.energy import idle_energy


class Energy(BusyMetric):
    """Joules: power times busy time over all devices, plus idle power times idle time.

    On a real node the busy joules are those the machine measured; where it does not tell them nobody knows.
    """

    name, title, short = "energy", "energy", "energy"
    unit = "J"
    figure = "energy"

    def get(self) -> float | None:
        """What the busy and the idle seconds come to; None when nobody knows."""
        joules = self._busy + float(idle_energy(self._span.idle_watts, self._span.idle).sum())
        return None if math.isnan(joules) else joules
