"""Whether the backlog keeps growing: the one rule, for a finished race and for one that goes on."""

from __future__ import annotations

from collections import deque

import numpy as np

from hybrid_scheduler.metrics.base import Metric
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray

SERVICE_TIMES = 10.0
"""A backlog below so many mean service times is no overload."""
GROWTH = 2.0
"""By how much it grows from the second to the last quarter of a race."""
SAMPLES = 40
GROWS, HOLDS = 1.05, 0.9
"""By how much it grows from one half to the other of the last `SAMPLES` samples, which are some seconds apart, when an
overload begins, and at least while it lasts."""


def piles_up(early: float, late: float, mean_service: float, growth: float) -> bool:
    """Whether a backlog, in seconds of work per device, is large and has grown by more than a factor."""
    return late > growth * early and late > SERVICE_TIMES * mean_service


class Overloaded(Metric):
    """True when work piles up: more than twice the backlog late in the run, and above 10 mean service times.

    The run is the time in which tasks arrive, warm-up included: a queue that has grown since the first task must be
    looked at from the first task on. Its last quarter is compared with its second. Backlog is the seconds of work that
    wait in the queues, per device: work in service is left out, because one huge task that is being served says nothing
    about the rest.
    """

    name, title, short = "overloaded", "overloaded", "overloaded"
    unit = "yes/no"
    covers_warmup = True

    def __init__(self) -> None:
        self._batches: list[OutcomeBatch] = []

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._batches.append(outcomes)

    def get(self) -> bool | None:
        """Whether the node was overloaded so far; None when nobody knows since when the tasks waited."""
        batches = [b for b in self._batches if len(b)]
        if not batches:
            return False
        first = min(float(b.arrival_time.min()) for b in batches)
        last = max(float(b.arrival_time.max()) for b in batches)
        if last <= first:
            return False
        waits = [_waits(b) for b in batches]
        if any(np.isnan(ready).any() for ready, _, _ in waits):
            return None
        quarter, devices = (last - first) / 4, len(batches[0].device_names)
        early = sum(_backlog(*wait, first + quarter, first + 2 * quarter, devices) for wait in waits)
        late = sum(_backlog(*wait, first + 3 * quarter, last, devices) for wait in waits)
        finished = sum(int((~b.failed).sum()) for b in batches)
        service = sum(float(b.actual_time.sum()) for b in batches) / max(finished, 1)
        return piles_up(early, late, service, GROWTH)


class OverloadWatch:
    """Watches one scheduler's backlog in a race that goes on: overloaded while it is large and grows."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=SAMPLES)
        self.now = False

    def notice(self, waiting_seconds: float, mean_service: float) -> None:
        """Take in the seconds of work that wait, about twice a second."""
        self._seen.append(waiting_seconds)
        half = len(self._seen) // 2
        if half < 3:
            return
        seen = list(self._seen)
        early, late = sum(seen[:half]) / half, sum(seen[half:]) / (len(seen) - half)
        self.now = piles_up(early, late, mean_service, HOLDS if self.now else GROWS)


def _waits(outcomes: OutcomeBatch) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of every part that was not lost: since when it waited, when it started and its seconds of work."""
    task, start, end = outcomes.part_task, outcomes.part_start, outcomes.part_end
    if outcomes.part_lost.any():
        kept = ~outcomes.part_lost
        task, start, end = task[kept], start[kept], end[kept]
    return outcomes.ready_time[task], start, end - start


def _backlog(ready: FloatArray, start: FloatArray, work: FloatArray, low: float, high: float, devices: int) -> float:
    """Mean seconds of work that wait on a device between two times."""
    waiting = work * np.maximum(np.minimum(high, start) - np.maximum(low, ready), 0.0)
    return float(waiting.sum() / (high - low) / devices)
