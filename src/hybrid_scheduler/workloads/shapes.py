"""Shapes: how size, intensity and memory of a synthetic task are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypedDict

import numpy as np

from hybrid_scheduler.model import FloatArray, InvalidInputError
from hybrid_scheduler.workloads.streams import Streams

Range = tuple[float, float]


class FeatureRanges(TypedDict, total=False):
    """Ranges to map a preset's features onto; None keeps the preset's own."""

    size_range: Range | None
    intensity_range: Range | None
    memory_range: Range | None


ENDLESS_DRIFT_TASKS = 1000


class Ranges(NamedTuple):
    """The lowest and the highest value of each feature."""

    size: Range
    intensity: Range
    memory: Range


class Features(NamedTuple):
    """The features of some tasks, one array each."""

    size: FloatArray
    intensity: FloatArray
    memory: FloatArray


class Shapes(Protocol):
    """Where the features of tasks come from."""

    @property
    def ranges(self) -> Ranges:
        """The bounds every value lies within."""
        ...

    def draw(self, streams: Streams, first: int, count: int, length: int | None) -> Features:
        """Features of the next tasks.

        Args:
            streams: Where random numbers come from; the same object in every call for one workload.
            first: Number of the first task drawn.
            count: How many tasks.
            length: Tasks in the whole workload; None when it never ends.
        """
        ...


@dataclass(frozen=True, slots=True)
class UniformShapes:
    """Every feature uniform and real-valued in its range."""

    ranges: Ranges

    def draw(self, streams: Streams, first: int, count: int, length: int | None) -> Features:
        """See `Shapes.draw`."""
        columns = zip(Ranges._fields, self.ranges, strict=True)
        return Features(*(low + (high - low) * streams.of(name).random(count) for name, (low, high) in columns))


@dataclass(frozen=True, slots=True)
class MixedShapes:
    """The default workload: many small tasks, few huge ones, two groups of intensity, memory that grows with size."""

    @property
    def ranges(self) -> Ranges:
        """The bounds at which values are clipped."""
        return Ranges((100.0, 5000.0), (0.05, 1.0), (10.0, 500.0))

    def draw(self, streams: Streams, first: int, count: int, length: int | None) -> Features:
        """See `Shapes.draw`."""
        # NumPy's pareto is the Lomax distribution, which starts at 0: one more makes it Pareto's.
        size = 100.0 * (1.0 + streams.of("size").pareto(1.5, count))
        size = np.clip(size, *self.ranges.size)
        centre = np.where(streams.of("intensity mode").random(count) < 0.3, 0.2, 0.8)
        intensity = centre + 0.1 * streams.of("intensity").standard_normal(count)
        memory = size / 10.0 + 50.0 * streams.of("memory").standard_normal(count)
        return Features(size, np.clip(intensity, *self.ranges.intensity), np.clip(memory, *self.ranges.memory))


@dataclass(frozen=True, slots=True)
class DriftingShapes:
    """From one kind of task to another: the chance of the second grows linearly from 0 to 1, then stays.

    Attributes:
        start: What the first task is drawn from.
        end: What the last task is drawn from.
        tasks: Over how many tasks the change goes; None: over the whole workload, or 1000 tasks of an endless one.
    """

    start: Shapes
    end: Shapes
    tasks: int | None = None

    def __post_init__(self) -> None:
        if self.tasks is not None and self.tasks < 1:
            raise InvalidInputError(f"a drift over {self.tasks} tasks is impossible; give at least 1")

    @property
    def ranges(self) -> Ranges:
        """The hull of both."""
        pairs = zip(self.start.ranges, self.end.ranges, strict=True)
        return Ranges(*((min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs))

    def draw(self, streams: Streams, first: int, count: int, length: int | None) -> Features:
        """See `Shapes.draw`."""
        start = self.start.draw(streams.branch("drift start"), first, count, length)
        end = self.end.draw(streams.branch("drift end"), first, count, length)
        span = self.tasks or length or ENDLESS_DRIFT_TASKS
        chance = np.arange(first, first + count) / max(span - 1, 1)
        moved = streams.of("drift").random(count) < chance
        return Features(*(np.where(moved, new, old) for old, new in zip(start, end, strict=True)))
