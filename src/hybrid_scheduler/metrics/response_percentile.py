"""Percentiles of the response time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hybrid_scheduler.metrics.base import OutcomeFacts, SharingMetric


class ResponsePercentile(SharingMetric):
    """A percentile of the response times of the finished tasks."""

    unit = "s"
    percent: ClassVar[float]

    def __init__(self) -> None:
        self._batches: list[OutcomeFacts] = []

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        self._batches.append(facts)

    def get(self) -> float | None:
        """The percentile so far, or None."""
        if len(self._batches) == 1:
            return self._batches[0].response_percentile(self.percent)
        responses = np.concatenate([np.zeros(0), *(batch.responses for batch in self._batches)])
        return float(np.percentile(responses, self.percent)) if len(responses) else None


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
