"""The preset `kernels`: a stream of kernels, each with a size, for machines that were measured and for real ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch, UnknownNameError
from hybrid_scheduler.model.ranges import Range as Legal
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.workloads.arrivals import PoissonArrivals
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_columns, kernel_kind
from hybrid_scheduler.workloads.shapes import Range
from hybrid_scheduler.workloads.streams import Streams

KERNEL_SIZES = Legal(1, 20_000, "a whole number")
"""What can be measured and run."""
BLOCK = 4096
PARAMETERS = ("kinds", "sizes")
KERNEL_COLUMNS = ("task_id", "kind", "size", "arrival_time")
"""What a file of kernels needs: the rest follows from kind and size."""


@dataclass(frozen=True, slots=True)
class KernelPreset:
    """Kernels of some kinds, equally often, of round sizes all over a range; they arrive as a Poisson process.

    The logarithms of the sizes are uniform, but for that each is rounded to a size as people choose them
    (`round_sizes`).

    Attributes:
        kinds: Which.
        sizes: The least and the greatest size, whole numbers.
    """

    name: ClassVar = "kernels"
    summary: ClassVar = "kernels that really run (matmul, sort, fft, ...), kinds and sizes by parameters"

    kinds: tuple[str, ...] = tuple(KERNEL_KINDS)
    sizes: Range = (100, 2000)
    given: frozenset[str] = field(default=frozenset(), compare=False)
    """The parameters that somebody asked for."""

    def __post_init__(self) -> None:
        for number, kind in enumerate(self.kinds):
            kernel_kind(kind)
            if kind in self.kinds[:number]:
                raise InvalidInputError(f"preset {self.name}: kind {kind} is named twice; leave one out")
        low, high = self.sizes
        if not self.kinds or not (KERNEL_SIZES.holds(low) and KERNEL_SIZES.holds(high) and low <= high):
            raise InvalidInputError(
                f"preset {self.name}: sizes are {low:g} to {high:g}, but each must be {KERNEL_SIZES}, the least first"
            )
        if low != int(low) or high != int(high):
            raise InvalidInputError(f"preset {self.name}: sizes are {low:g} to {high:g}, but must be whole numbers")

    @property
    def text(self) -> str:
        """The preset as users write it, with every parameter."""
        return f"{self.name}:kinds={'+'.join(self.kinds)},sizes={self.sizes[0]:.0f}-{self.sizes[1]:.0f}"

    @classmethod
    def read(cls, text: str) -> KernelPreset:
        """The preset with parameters such as ``kinds=matmul+sort,sizes=100-2000``; what is left out is as usual.

        Raises:
            InvalidInputError: There is no such parameter, or it breaks its rule.
        """
        kinds, sizes, given = tuple(KERNEL_KINDS), (100.0, 2000.0), set()
        for setting in filter(None, text.split(",")):
            name, _, value = setting.partition("=")
            given.add(name)
            if name == "kinds":
                kinds = tuple(value.split("+"))
            elif name == "sizes":
                sizes = _sizes(value)
            else:
                raise UnknownNameError(f"parameter of preset {cls.name}", name, PARAMETERS)
        return cls(kinds, sizes, frozenset(given))

    def generate(self, seed: int, num_tasks: int, rate: float) -> TaskBatch:
        """So many tasks at a mean rate per second; a shorter workload is the beginning of a longer one."""
        return KernelDrawing(self, seed, rate).take(num_tasks)

    def stream(self, seed: int, num_tasks: int | None, rate: float) -> Iterator[Task]:
        """The tasks of `generate` one after the other; without `num_tasks` there is no end."""
        drawing, left = KernelDrawing(self, seed, rate), num_tasks
        while left is None or left > 0:
            block = drawing.take(BLOCK if left is None else min(BLOCK, left))
            yield from block
            left = None if left is None else left - len(block)


def round_sizes(low: float, high: float) -> FloatArray:
    """The two ends, and between them the multiples of 8 that have no other prime factors than 2, 3 and 5, ascending.

    Between such sizes the time of a kernel is no smooth function of its size, and no calibration at a few sizes can
    foretell it: a Fourier transform of a prime length takes three times as long as its neighbours, a product of
    matrices of odd size half as long again.
    """
    sizes = {low, high}
    twos = 8
    while twos <= high:
        threes = twos
        while threes <= high:
            fives = threes
            while fives <= high:
                if fives >= low:
                    sizes.add(float(fives))
                fives *= 5
            threes *= 3
        twos *= 2
    return np.array(sorted(sizes), dtype=np.float64)


class KernelDrawing:
    """The state of one drawing: every call of `take` gives the tasks after those of the last."""

    def __init__(self, preset: KernelPreset, seed: int, rate: float = 1.0) -> None:
        self._preset, self._rate = preset, rate
        self._streams = Streams(seed)
        self._first = 0
        self._clock = 0.0

    def take(self, count: int) -> TaskBatch:
        """The next tasks. How they are divided over calls does not change a bit of them."""
        kinds, (low, high) = self._preset.kinds, self._preset.sizes
        sizes = round_sizes(low, high)
        index = self._streams.of("kind").integers(0, len(kinds), count)
        logs = self._streams.of("size").uniform(np.log(low), np.log(high), count)
        nearest = np.searchsorted(np.log(sizes[1:] * sizes[:-1]) / 2.0, logs)
        size = sizes[nearest]
        # In units of the mean gap, as `Synthesis` does.
        times = np.cumsum(np.concatenate(([self._clock], PoissonArrivals().gaps(self._streams, count))))
        first, self._first, self._clock = self._first, self._first + count, float(times[-1])
        distinct, which = np.unique(np.stack([index, size]), axis=1, return_inverse=True)
        which = which.ravel()
        figures = kernel_columns([kinds[int(number)] for number in distinct[0]], distinct[1])
        return TaskBatch.from_columns(
            size,
            figures["compute_intensity"][which],
            figures["memory_required"][which],
            task_id=np.arange(first, first + count, dtype=np.int64),
            arrival_time=times[1:] / self._rate,
            duration_estimate=figures["duration_estimate"][which],
            kind=[kinds[number] for number in index],
        )


def find_kernels(name: str) -> KernelPreset | None:
    """The preset ``kernels``, e.g. ``kernels:kinds=matmul+sort,sizes=100-2000``; None when the name is another.

    Raises:
        InvalidInputError: A parameter is unknown or breaks its rule.
    """
    kind, _, parameters = name.partition(":")
    return KernelPreset.read(parameters) if kind == KernelPreset.name else None


def _sizes(text: str) -> Range:
    ends: Sequence[str] = text.split("-")
    try:
        low, high = int(ends[0]), int(ends[-1])
    except ValueError:
        low, high = 0, 0
    if len(ends) > 2 or low == 0:
        raise InvalidInputError(
            f"sizes={text!r} of preset {KernelPreset.name} must be the least and the greatest, each {KERNEL_SIZES}, "
            "e.g. sizes=100-2000"
        )
    return float(low), float(high)
