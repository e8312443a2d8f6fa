"""Mean bounded slowdown."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.metrics.base import OutcomeFacts, SharingMetric

THRESHOLD = 10.0
"""Seconds; a task that takes less counts as if it took so long."""


class BoundedSlowdown(SharingMetric):
    """Mean bounded slowdown: response over the best time on an idle node, but over 10 s for a shorter task; at least 1.

    Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong, "Theory and practice in parallel job scheduling", JSSPP (1997):
    without the bound, the shortest jobs of a log decide its mean slowdown.
    """

    name, title, short = "bounded_slowdown", "mean bounded slowdown", "bounded slowdown"
    unit = "ratio"

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        if facts.outcomes.least_seconds is None:
            return
        least = facts.of_finished(facts.outcomes.least_seconds)
        self._sum += float(np.maximum(facts.responses / np.maximum(least, THRESHOLD), 1.0).sum())
        self._count += len(least)

    def get(self) -> float | None:
        """The mean so far, or None where the best times are not known."""
        return self._sum / self._count if self._count else None
