"""The worst slowdown."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import OutcomeFacts, SharingMetric


class MaximumSlowdown(SharingMetric):
    """The worst slowdown of all: response over the task's best time on an idle node; who starves shows here."""

    name, title, short = "max_slowdown", "worst slowdown", "worst slowdown"
    unit = "ratio"

    def __init__(self) -> None:
        self._worst: float | None = None

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        if len(facts.slowdowns):
            self._worst = max(self._worst or 0.0, float(facts.slowdowns.max()))

    def get(self) -> float | None:
        """The worst so far, or None where the best times are not known."""
        return self._worst
