"""How well task graphs use the devices."""

from __future__ import annotations

from hybrid_scheduler.metrics.speedup import Speedup


class Efficiency(Speedup):
    """Speedup over the best device, per device.

    Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002, section 5.1.
    """

    name, title, short = "efficiency", "speedup per device", "efficiency"

    def get(self) -> float | None:
        """The figure so far; None where the speedup is."""
        speedup = super().get()
        return None if speedup is None else speedup / len(self._span.names)
