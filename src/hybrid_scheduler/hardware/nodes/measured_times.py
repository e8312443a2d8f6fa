"""How long tasks take on a real node's devices, as far as anybody knows: as calibrated, or as measured."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.cost import CostModel
from hybrid_scheduler.physics.device import ClusterSpec

STEPS_PER_OCTAVE = 4
"""Sizes within a quarter of a doubling count as one."""
MEMORY = 32
"""An old mean counts as at most so many measurements, so that a device that has changed is known soon."""

MOVED = 0.1
"""A tenth more or less is worth looking at waiting tasks again."""
REMEMBERED = 10_000
"""Tasks whose times are kept at hand."""

K = TypeVar("K")
F = TypeVar("F")


def bounded(found: dict[K, F]) -> dict[K, F]:
    """The same dictionary, emptied when it has grown long."""
    if len(found) >= REMEMBERED:
        found.clear()
    return found


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one kind of task, of about one size, on one kind of hardware.

    Attributes:
        kind: The task's.
        hardware: The device's (`Lanes.hardware`).
        step: The size, as steps of a logarithm (`STEPS_PER_OCTAVE`).
        count: How many measurements the mean counts for.
        log_seconds: Mean of the logarithms of the seconds of the whole task.
    """

    kind: str
    hardware: str
    step: int
    count: int
    log_seconds: float


class Times(Protocol):
    """What a real node shows those schedulers that see times."""

    @property
    def version(self) -> int:
        """Another number says that times have changed enough for waiting tasks to be looked at again."""

    def of(self, task: Task) -> FloatArray:
        """`FIXED` and `SHARED` seconds per device; NaN where nobody knows. Not to be written to."""

    def learn(self, task: Task, lane: int, seconds: float) -> None:
        """A whole task of this kind and size has taken so long on a lane."""


class CalibratedTimes:
    """The times of a calibration; of what was not calibrated, those that were measured.

    Args:
        cost: The calibrated cost model.
        cluster: The devices, as the lanes have them.
        measured: What is known besides.
    """

    def __init__(self, cost: CostModel, cluster: ClusterSpec, measured: MeasuredTimes) -> None:
        self._cost, self._cluster, self._measured = cost, cluster, measured
        self._found: dict[tuple[str, float], FloatArray | None] = {}

    @property
    def version(self) -> int:
        """See `Times.version`."""
        return self._measured.version

    def of(self, task: Task) -> FloatArray:
        """See `Times.of`."""
        key = task.kind, task.size
        if key not in self._found:
            bounded(self._found)[key] = self._calibrated(task)
        times = self._found[key]
        return self._measured.of(task) if times is None else times

    def learn(self, task: Task, lane: int, seconds: float) -> None:
        """See `Times.learn`; the calibration stays as it is."""
        self._measured.learn(task, lane, seconds)

    def _calibrated(self, task: Task) -> FloatArray | None:
        alone = replace(task, dependencies=(), dependency_mb=())
        try:
            times: FloatArray = self._cost.times(TaskBatch.from_tasks([alone]), self._cluster)[0]
        except InvalidInputError:  # a kind or a size that was not calibrated
            return None
        return times


@dataclass
class _Curve:
    """Means of one kind on one hardware, by ascending size."""

    steps: list[int] = field(default_factory=list)
    means: dict[int, tuple[int, float]] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)
    """The means when waiting tasks were last looked at again."""

    def put(self, step: int, count: int, log_seconds: float) -> None:
        if step not in self.means:
            insort(self.steps, step)
        self.means[step] = count, log_seconds

    def has_moved(self) -> bool:
        """Whether a mean has changed so much that waiting tasks are to be looked at again."""
        return any(abs(mean - self.told.get(step, math.inf)) > MOVED for step, (_, mean) in self.means.items())

    def at(self, place: float) -> float:
        """The log of the seconds at a size: linear between two that are known, proportional to the size beyond."""
        steps = self.steps
        above = bisect_left(steps, place)
        if above < len(steps) and steps[above] == place:
            return self.means[steps[above]][1]
        if 0 < above < len(steps):
            low, high = steps[above - 1], steps[above]
            share = (place - low) / (high - low)
            return (1.0 - share) * self.means[low][1] + share * self.means[high][1]
        nearest = steps[0] if above == 0 else steps[-1]
        return self.means[nearest][1] + (place - nearest) / STEPS_PER_OCTAVE * math.log(2.0)


class MeasuredTimes:
    """What this node's own outcomes say, per kind, size and hardware; it learns while tasks finish.

    Args:
        hardware: What each lane is (`Lanes.hardware`).
        known: What was measured before.

    Attributes:
        version: See `Times.version`: it moves when something is measured for the first time, or as often again as
            before and came out another.
    """

    def __init__(self, hardware: tuple[str, ...], known: Iterable[Measured] = ()) -> None:
        self.version = 0
        self._hardware = hardware
        self._curves: dict[tuple[str, str], _Curve] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._found: dict[tuple[str, float], FloatArray] = {}
        for row in known:
            self._curves.setdefault((row.kind, row.hardware), _Curve()).put(row.step, row.count, row.log_seconds)

    def of(self, task: Task) -> FloatArray:
        """See `Times.of`."""
        key = task.kind, task.size
        times = self._found.get(key)
        if times is None:
            times = np.zeros((2, len(self._hardware)))
            place = math.log2(task.size) * STEPS_PER_OCTAVE
            for lane, hardware in enumerate(self._hardware):
                curve = self._curves.get((task.kind, hardware))
                times[SHARED, lane] = math.nan if curve is None else math.exp(curve.at(place))
            times[FIXED] = 0.0
            bounded(self._found)[key] = times
        return times

    def learn(self, task: Task, lane: int, seconds: float) -> None:
        """See `Times.learn`."""
        key, step = (task.kind, self._hardware[lane]), round(math.log2(task.size) * STEPS_PER_OCTAVE)
        curve = self._curves.setdefault(key, _Curve())
        count, mean = curve.means.get(step, (0, 0.0))
        count = min(count + 1, MEMORY)
        curve.put(step, count, mean + (math.log(max(seconds, 1e-9)) - mean) / count)
        seen = self._seen[key] = self._seen.get(key, 0) + 1
        if count == 1 or (seen & (seen - 1) == 0 and curve.has_moved()):
            curve.told = {step: mean for step, (_, mean) in curve.means.items()}
            self.version += 1
            self._found.clear()

    def rows(self) -> list[Measured]:
        """Everything, to be kept."""
        return [
            Measured(kind, hardware, step, count, mean)
            for (kind, hardware), curve in self._curves.items()
            for step, (count, mean) in curve.means.items()
        ]
