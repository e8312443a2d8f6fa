"""Percentiles of the response time."""

from __future__ import annotations

from hybrid_scheduler.metrics.base import PercentileMetric


class ResponsePercentile(PercentileMetric):
    """A percentile of the response times of the finished tasks."""

    unit = "s"
    figure = "responses"


class MedianResponse(ResponsePercentile):
    """Half of the tasks respond faster than this."""

    name, title, short = "p50_response", "median response time", "median"
    percent = 50.0


class Response95(ResponsePercentile):
    """95 of 100 tasks respond faster than this."""

    name, title, short = "p95_response", "95th percentile of response", "p95"
    percent = 95.0


class Response99(ResponsePercentile):
    """99 of 100 tasks respond faster than this."""

    name, title, short = "p99_response", "99th percentile of response", "p99"
    percent = 99.0
