"""The contract of a metric: outcomes in, one figure out."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hybrid_scheduler.metrics.facts import Figure, OutcomeFacts, Span
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray

__all__ = [
    "BusyMetric",
    "CountMetric",
    "FigureMetric",
    "MaximumMetric",
    "MeanMetric",
    "Metric",
    "MetricInfo",
    "OutcomeFacts",
    "PercentileMetric",
    "SharingMetric",
    "Span",
    "SpanMetric",
    "Value",
]

Value = float | int | bool | dict[str, object] | None

NO_SYMBOL = ("1", "ratio", "share", "tasks", "yes/no")
"""Units that nobody writes behind a number."""


@dataclass(frozen=True)
class MetricInfo:
    """How a figure is called and read, for tables, reports, the API and the dashboard.

    Attributes:
        name: Its key in documents.
        title: As people say it: "mean response time".
        short: The head of a column: "response".
        unit: What it is measured in.
        bigger_is_better: True, False, or None where neither holds.
        description: In one sentence.
    """

    name: str
    title: str
    short: str
    unit: str
    bigger_is_better: bool | None = False
    description: str = ""

    @property
    def symbol(self) -> str:
        """The unit as it is written behind a number; empty for a plain number."""
        return "" if self.unit in NO_SYMBOL else self.unit

    @property
    def head(self) -> str:
        """The head of a column, with the unit: "response s"."""
        return f"{self.short} {self.symbol}".rstrip()


class Metric(ABC):
    """Reads outcomes and nothing else. `None` means that there is no data.

    Implement `update`, or `update_from` to use what several metrics share.

    Attributes:
        name: Its key in documents: the name under which it is registered.
        title: As people say it; by default the name.
        short: The head of a column; by default the title.
        unit: What the figure is measured in.
        bigger_is_better: True, False, or None where neither holds.
        covers_warmup: Whether it is about all outcomes, also where the others leave out a warm-up.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    short: ClassVar[str] = ""
    unit: ClassVar[str]
    bigger_is_better: ClassVar[bool | None] = False
    covers_warmup: ClassVar[bool] = False

    @abstractmethod
    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes: one or a million."""

    def update_from(self, facts: OutcomeFacts) -> None:
        """The same, with what several metrics need of these outcomes worked out once."""
        self.update(facts.outcomes)

    @abstractmethod
    def get(self) -> Value:
        """The figure for everything taken in so far."""

    @classmethod
    def info(cls, name: str) -> MetricInfo:
        """How the metric that is registered under this name is called and read."""
        title = cls.title or name.replace("_", " ")
        description = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
        return MetricInfo(name, title, cls.short or title, cls.unit, cls.bigger_is_better, description)


class CountMetric(Metric):
    """A number of tasks."""

    unit = "tasks"

    def __init__(self) -> None:
        self._count = 0

    @abstractmethod
    def counted(self, outcomes: OutcomeBatch) -> int:
        """How many of these."""

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self._count += self.counted(outcomes)

    def get(self) -> int:
        """The number so far."""
        return self._count


class SharingMetric(Metric):
    """A metric that implements `update_from`."""

    def update(self, outcomes: OutcomeBatch) -> None:
        """Take in more outcomes."""
        self.update_from(OutcomeFacts(outcomes))

    @abstractmethod
    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""


class MeanMetric(SharingMetric):
    """The mean of one figure per finished task."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    @abstractmethod
    def values(self, outcomes: OutcomeBatch) -> FloatArray:
        """The figure of every outcome."""

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes; failed ones have no time to average."""
        self._sum += float(facts.of_finished(self.values(facts.outcomes)).sum())
        self._count += facts.span.finished

    def get(self) -> float | None:
        """The mean, or None."""
        return self._sum / self._count if self._count else None


class MaximumMetric(SharingMetric):
    """The greatest value of one figure per finished task.

    Attributes:
        figure: Of what.
    """

    figure: ClassVar[Figure]

    def __init__(self) -> None:
        self._most: float | None = None

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        if len(values := getattr(facts, self.figure)):
            self._most = max(float(values.max()), self._most or 0.0)

    def get(self) -> float | None:
        """The greatest so far, or None."""
        return self._most


class FigureMetric(SharingMetric):
    """Made from all values of one figure per finished task.

    Attributes:
        figure: Of what.
    """

    figure: ClassVar[Figure]

    def __init__(self) -> None:
        self._batches: list[OutcomeFacts] = []

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        self._batches.append(facts)

    def values(self) -> FloatArray:
        """The figure of every finished task so far."""
        return np.concatenate([np.zeros(0), *(getattr(batch, self.figure) for batch in self._batches)])


class PercentileMetric(FigureMetric):
    """A percentile of one figure per finished task.

    Attributes:
        percent: Which one.
    """

    percent: ClassVar[float]

    def get(self) -> float | None:
        """The percentile so far, or None."""
        if len(self._batches) == 1:
            return self._batches[0].percentile(self.figure, self.percent)
        values = self.values()
        return float(np.percentile(values, self.percent)) if len(values) else None


class SpanMetric(SharingMetric):
    """A figure of the whole stretch of time: makespan, idle seconds and what follows from them."""

    def __init__(self) -> None:
        self._span = Span()

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        self._span.add(facts.span)


class BusyMetric(SpanMetric):
    """What the busy seconds of all devices come to, and what the idle ones do.

    Attributes:
        figure: Which figure of the outcomes the busy seconds come to.
    """

    figure: ClassVar[Literal["cost", "energy"]]

    def __init__(self) -> None:
        super().__init__()
        self._busy = 0.0

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes; work that was lost is paid for too."""
        super().update_from(facts)
        self._busy += float(getattr(facts.outcomes, self.figure).sum())
