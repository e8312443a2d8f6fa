"""Whether the backlog keeps growing."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray

GROWTH = 2.0
SERVICE_TIMES = 10.0


class Overloaded(Metric):
    """True when work piles up: more than twice the backlog late in the run, and above 10 mean service times.

    The run is the time in which tasks arrive; its last quarter is compared with its second. Backlog is the seconds of
    work that wait in the queues, per device: work in service is left out, because one huge task that is being served
    says nothing about the rest.
    """

    unit = "yes/no"

    def __init__(self) -> None:
        self._batches: list[OutcomeBatch] = []

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._batches.append(outcomes)

    def get(self) -> bool:
        """Whether the node was overloaded so far."""
        batches = [b for b in self._batches if len(b)]
        if not batches:
            return False
        first = min(float(b.arrival_time.min()) for b in batches)
        last = max(float(b.arrival_time.max()) for b in batches)
        if last <= first:
            return False
        quarter = (last - first) / 4
        early = sum(_backlog(b, first + quarter, first + 2 * quarter) for b in batches)
        late = sum(_backlog(b, first + 3 * quarter, last) for b in batches)
        finished = sum(int((~b.failed).sum()) for b in batches)
        service = sum(float(b.actual_time.sum()) for b in batches) / max(finished, 1)
        return bool(late > GROWTH * early and late > SERVICE_TIMES * service)


def _backlog(outcomes: OutcomeBatch, low: float, high: float) -> float:
    """Mean seconds of work that wait on a device between two times."""
    kept = ~outcomes.part_lost
    ready = outcomes.ready_time[outcomes.part_task[kept]]
    start, end = outcomes.part_start[kept], outcomes.part_end[kept]
    waiting = (end - start) * _positive(np.minimum(high, start) - np.maximum(low, ready))
    return float(waiting.sum() / (high - low) / len(outcomes.device_names))


def _positive(values: FloatArray) -> FloatArray:
    return np.maximum(values, 0.0)
