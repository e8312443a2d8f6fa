"""The contract of a metric: outcomes in, one figure out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray

Value = float | int | bool | dict[str, object] | None


class Metric(ABC):
    """Reads outcomes and nothing else. `None` means that there is no data.

    Attributes:
        unit: What the figure is measured in.
        bigger_is_better: True, False, or None where neither holds.
    """

    unit: ClassVar[str]
    bigger_is_better: ClassVar[bool | None] = False

    @abstractmethod
    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes: one or a million."""

    @abstractmethod
    def get(self) -> Value:
        """The figure for everything taken in so far."""


class MeanMetric(Metric):
    """The mean of one figure per finished task."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    @abstractmethod
    def values(self, outcomes: OutcomeBatch) -> FloatArray:
        """The figure of every outcome."""

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes; failed ones have no time to average."""
        finished = ~outcomes.failed
        self._sum += float(self.values(outcomes)[finished].sum())
        self._count += int(finished.sum())

    def get(self) -> float | None:
        """The mean, or None."""
        return self._sum / self._count if self._count else None


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

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        seconds = outcomes.part_end - outcomes.part_start
        busy = np.zeros(len(outcomes.device_names))
        np.add.at(busy, outcomes.part_device, seconds)
        self.busy = busy if not self.names else self.busy + busy
        self.names = outcomes.device_names
        self.idle_watts, self.idle_price = outcomes.device_idle_watts, outcomes.device_idle_price
        finished = ~outcomes.failed
        used = finished.copy()
        used[outcomes.part_task] = True
        if used.any():
            self._from = min(self._from, float(outcomes.arrival_time[used].min()))
            self._to = max(self._to, float(outcomes.finish_time[used].max()))
        if finished.any():
            self.first = min(self.first, float(outcomes.arrival_time[finished].min()))
            self.last = max(self.last, float(outcomes.finish_time[finished].max()))
            self.finished += int(finished.sum())

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
