"""The worst slowdown."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import MaximumMetric


class MaximumSlowdown(MaximumMetric):
    """The worst slowdown of all: response over the task's best time on an idle node; who starves shows here."""

    name, title, short = "max_slowdown", "worst slowdown", "worst slowdown"
    unit = "ratio"
    figure = "slowdowns"
