"""Percentiles of the slowdown."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import PercentileMetric


class SlowdownPercentile(PercentileMetric):
    """A percentile of the slowdowns of the finished tasks; None where the best times are not known."""

    unit = "ratio"
    figure = "slowdowns"


class MedianSlowdown(SlowdownPercentile):
    """Half of the tasks are slowed down less than this: response over the task's best time on an idle node."""

    name, title, short = "p50_slowdown", "median slowdown", "median slowdown"
    percent = 50.0


class Slowdown95(SlowdownPercentile):
    """95 of 100 tasks are slowed down less than this: response over the task's best time on an idle node."""

    name, title, short = "p95_slowdown", "95th percentile of slowdown", "p95 slowdown"
    percent = 95.0


class Slowdown99(SlowdownPercentile):
    """99 of 100 tasks are slowed down less than this: response over the task's best time on an idle node."""

    name, title, short = "p99_slowdown", "99th percentile of slowdown", "p99 slowdown"
    percent = 99.0
