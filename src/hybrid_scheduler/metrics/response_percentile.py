"""Percentiles of the response time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray


class ResponsePercentile(Metric):
    """A percentile of the response times of the finished tasks."""

    unit = "s"
    percent: ClassVar[float]

    def __init__(self) -> None:
        self._responses: list[FloatArray] = []

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._responses.append(outcomes.response_time[~outcomes.failed])

    def get(self) -> float | None:
        """The percentile so far, or None."""
        responses = np.concatenate(self._responses) if self._responses else np.zeros(0)
        return float(np.percentile(responses, self.percent)) if len(responses) else None


class MedianResponse(ResponsePercentile):
    """Half of the tasks respond faster than this."""

    percent = 50.0


class Response95(ResponsePercentile):
    """95 of 100 tasks respond faster than this."""

    percent = 95.0


class Response99(ResponsePercentile):
    """99 of 100 tasks respond faster than this."""

    percent = 99.0
