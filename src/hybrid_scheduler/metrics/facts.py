"""What several metrics need of the same outcomes, worked out once."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray

USUAL_PERCENTS = (50.0, 95.0, 99.0)
Figure = Literal["responses", "slowdowns", "times"]
"""What percentiles and maxima are taken of."""


class Span:
    """First arrival, last finish and busy seconds per device; several metrics are built from these.

    Tasks that failed have no part in the makespan, but devices may have worked for them, in vain: utilization and idle
    time cover those, too.
    """

    def __init__(self) -> None:
        self.first, self.last, self.finished = np.inf, -np.inf, 0
        self._from, self._to = np.inf, -np.inf
        self.names: tuple[str, ...] = ()
        self.busy: FloatArray = np.zeros(0)
        self.idle_watts: FloatArray = np.zeros(0)
        self.idle_price: FloatArray = np.zeros(0)

    @classmethod
    def of(cls, outcomes: OutcomeBatch) -> Span:
        """The span of these outcomes."""
        span = cls()
        span.names = outcomes.device_names
        span.idle_watts, span.idle_price = outcomes.device_idle_watts, outcomes.device_idle_price
        seconds = outcomes.part_end - outcomes.part_start
        busy = np.bincount(outcomes.part_device, weights=seconds, minlength=len(span.names))
        span.busy = busy.astype(np.float64, copy=False)
        arrival, finish = outcomes.arrival_time, outcomes.finish_time
        span.finished = len(outcomes) - int(np.count_nonzero(outcomes.failed))
        if span.finished == len(outcomes):
            if span.finished:
                span.first, span.last = float(arrival.min()), float(finish.max())
                span._from, span._to = span.first, span.last
            return span
        finished = ~outcomes.failed
        used = finished.copy()
        used[outcomes.part_task] = True
        if used.any():
            span._from, span._to = float(arrival[used].min()), float(finish[used].max())
        if span.finished:
            span.first, span.last = float(arrival[finished].min()), float(finish[finished].max())
        return span

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self.add(Span.of(outcomes))

    def add(self, more: Span) -> None:
        """Take in the span of more outcomes."""
        self.busy = self.busy + more.busy if self.names else more.busy
        self.names, self.idle_watts, self.idle_price = more.names, more.idle_watts, more.idle_price
        self._from, self._to = min(self._from, more._from), max(self._to, more._to)
        self.first, self.last = min(self.first, more.first), max(self.last, more.last)
        self.finished += more.finished

    @property
    def elapsed(self) -> float | None:
        """Last finish less first arrival, or None."""
        return self.last - self.first if self.finished else None

    @property
    def observed(self) -> float | None:
        """The same, with the tasks that failed after devices had worked for them, or None."""
        return self._to - self._from if self._to > self._from else None

    @property
    def idle(self) -> FloatArray:
        """Idle seconds per device."""
        return np.maximum((self.observed or 0.0) - self.busy, 0.0)


class OutcomeFacts:
    """Outcomes, and what more than one metric asks of them; each is worked out when it is first asked for.

    Nobody may write into the arrays.
    """

    def __init__(self, outcomes: OutcomeBatch) -> None:
        self.outcomes = outcomes
        self._percentiles: dict[str, dict[float, float]] = {}

    @cached_property
    def span(self) -> Span:
        """Arrivals, finishes and busy seconds."""
        return Span.of(self.outcomes)

    @cached_property
    def responses(self) -> FloatArray:
        """The response times of the finished tasks."""
        return self.of_finished(self.outcomes.response_time)

    @cached_property
    def times(self) -> FloatArray:
        """The execution times of the finished tasks."""
        return self.of_finished(self.outcomes.actual_time)

    @cached_property
    def slowdowns(self) -> FloatArray:
        """Response time over the best time on an idle node, of the finished tasks; empty where that is not known."""
        if self.outcomes.least_seconds is None:
            return np.zeros(0)
        least = self.of_finished(self.outcomes.least_seconds)
        return np.divide(self.responses, least, out=np.ones(len(least)), where=least > 0.0)

    def percentile(self, figure: Figure, percent: float) -> float | None:
        """A percentile of the responses or slowdowns, or None; the usual ones are found in one go."""
        values: FloatArray = getattr(self, figure)
        if not len(values):
            return None
        known = self._percentiles.setdefault(figure, {})
        if percent not in known:
            wanted = sorted({*USUAL_PERCENTS, percent})
            known.update(zip(wanted, np.percentile(values, wanted).tolist(), strict=True))
        return known[percent]

    def of_finished(self, values: FloatArray) -> FloatArray:
        """Of one value per task, those of the tasks that finished."""
        return values if self.span.finished == len(values) else values[~self.outcomes.failed]
