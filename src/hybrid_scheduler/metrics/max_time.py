"""Longest execution time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import MaximumMetric


class MaximumTime(MaximumMetric):
    """Longest execution time of a finished task."""

    name, title, short = "max_time", "longest execution time", "longest"
    unit = "s"
    figure = "times"
