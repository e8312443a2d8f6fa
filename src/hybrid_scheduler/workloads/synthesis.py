"""Drawing a synthetic workload block by block; the same code serves whole batches and endless streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray, InvalidInputError
from hybrid_scheduler.model.ranges import FORMULA_SIZES, INTENSITIES, MEGABYTES
from hybrid_scheduler.workloads.dependencies import WINDOW, draw_parents
from hybrid_scheduler.workloads.graphs.base import GraphPreset
from hybrid_scheduler.workloads.kernel_preset import KernelPreset
from hybrid_scheduler.workloads.presets import Preset, WorkloadPreset
from hybrid_scheduler.workloads.shapes import Features, Range
from hybrid_scheduler.workloads.streams import Streams

MOST_TASKS = 10**8
# Beyond these, times would leave the range of floating-point numbers or the arithmetic on them would lose all digits.
RATE_LIMITS = (1e-12, 1e12)
FEATURE_LIMITS = {
    name: (legal.low, legal.high)
    for name, legal in (("size", FORMULA_SIZES), ("intensity", INTENSITIES), ("memory", MEGABYTES))
}


class Block(NamedTuple):
    """Some consecutive tasks; `parents` holds task numbers, `parent_counts` of them for each task."""

    size: FloatArray
    compute_intensity: FloatArray
    memory_required: FloatArray
    arrival_time: FloatArray
    parent_counts: IntArray
    parents: IntArray


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """What to draw; checked when it is made. A range that is None is the preset's own; graphs have no others.

    `ranges` are what size, intensity and memory are mapped onto.
    """

    preset: WorkloadPreset
    num_tasks: int | None
    arrival_rate: float
    ranges: tuple[Range | None, Range | None, Range | None]
    dependency_prob: float
    max_dependencies: int

    def __post_init__(self) -> None:
        if self.num_tasks is not None:
            _check_whole("num_tasks", self.num_tasks, 1, MOST_TASKS)
        _check_number("arrival_rate", self.arrival_rate, *RATE_LIMITS, " tasks per second")
        _check_number("dependency_prob", self.dependency_prob, 0.0, 1.0)
        _check_whole("max_dependencies", self.max_dependencies, 1, WINDOW)
        for (name, limits), wanted in zip(FEATURE_LIMITS.items(), self.ranges, strict=True):
            if wanted is not None:
                _check_range(f"{name} range", wanted, *limits)
                self._refuse_for_others(f"a {name} range")
        if self.dependency_prob:
            self._refuse_for_others("dependency_prob")

    def _refuse_for_others(self, what: str) -> None:
        if isinstance(self.preset, GraphPreset):
            raise InvalidInputError(
                f"{what} is for presets of single tasks, but {self.preset.text} makes whole graphs; leave one out"
            )
        if isinstance(self.preset, KernelPreset):
            raise InvalidInputError(
                f"{what} is for synthetic tasks, but {self.preset.name} makes kernels, of which kind and size say "
                f"everything; leave it out, or give sizes as in {self.preset.name}:sizes=100-2000"
            )


class Synthesis:
    """The state of one drawing: every call of `take` gives the tasks after those of the last."""

    def __init__(self, spec: WorkloadSpec, seed: int) -> None:
        assert isinstance(spec.preset, Preset)  # others draw themselves
        self._spec, self._preset = spec, spec.preset
        self._streams = Streams(seed)
        self._first = 0
        self._clock = 0.0

    def take(self, count: int) -> Block:
        """The next tasks. How they are divided over calls does not change a bit of them."""
        spec, streams = self._spec, self._streams
        own = self._preset.shapes.ranges
        drawn = self._preset.shapes.draw(streams, self._first, count, spec.num_tasks)
        features = Features(*map(_onto, drawn, own, spec.ranges))
        # In units of the mean gap: workloads of different rates are then exact rescalings of each other.
        times = np.cumsum(np.concatenate(([self._clock], self._preset.arrivals.gaps(streams, count))))
        if spec.dependency_prob > 0:
            parents = draw_parents(streams, self._first, count, spec.dependency_prob, spec.max_dependencies)
        else:
            parents = np.zeros(count, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._first += count
        self._clock = float(times[-1])
        size, intensity, memory = features
        return Block(size, intensity, memory, times[1:] / spec.arrival_rate, *parents)


def _onto(values: FloatArray, own: Range, wanted: Range | None) -> FloatArray:
    """Map linearly from one range onto another; clipped because the last digit may be rounded out of the range."""
    if wanted is None or wanted == own:
        return values
    (low, high), (new_low, new_high) = own, wanted
    return np.clip(new_low + (values - low) * ((new_high - new_low) / (high - low)), new_low, new_high)


def _check_number(name: str, value: float, low: float, high: float, unit: str = "") -> None:
    # NaN fails the comparison too.
    if not (isinstance(value, int | float | np.number) and low <= value <= high):
        raise InvalidInputError(f"{name} is {value!r}, but it must be a number from {low:g} to {high:g}{unit}")


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    if not (isinstance(value, int | np.integer) and low <= value <= high):
        raise InvalidInputError(f"{name} is {value!r}, but it must be a whole number from {low} to {high}")


def _check_range(name: str, value: Range, low: float, high: float) -> None:
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    if not is_pair or not all(isinstance(v, int | float | np.number) and math.isfinite(v) for v in value):
        raise InvalidInputError(f"{name} is {value!r}, but it must be two numbers (lowest, highest)")
    if value[0] > value[1]:
        raise InvalidInputError(f"{name} is {value!r}, but the lowest comes first: give ({value[1]!r}, {value[0]!r})")
    if not (low <= value[0] and value[1] <= high):
        raise InvalidInputError(f"{name} is {value!r}, but it must lie within {low:g} to {high:g}")
