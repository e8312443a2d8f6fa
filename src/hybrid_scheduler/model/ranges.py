"""The values that mean something: one range each for files, the API, the command line and Python."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.errors import InvalidInputError

N = TypeVar("N", bound=float)


@dataclass(frozen=True, slots=True)
class Range:
    """The legal values of a quantity, both ends included.

    Attributes:
        low: The least.
        high: The greatest.
        what: What the values are, for errors.
    """

    low: float
    high: float
    what: str = "a number"

    def holds(self, value: float) -> bool:
        """Whether a value is one of them; NaN is not."""
        return bool(self.low <= value <= self.high)

    def first_outside(self, values: NDArray[np.float64] | NDArray[np.int64]) -> int | None:
        """Position of the first value that is none of them; None when all are."""
        if len(values) == 0 or (values.min() >= self.low and values.max() <= self.high):
            return None
        outside = np.flatnonzero(~((values >= self.low) & (values <= self.high)))
        return int(outside[0])

    def __str__(self) -> str:
        return f"{self.what} from {self.low:g} to {self.high:g}"


SECONDS: Final = Range(1e-9, 1e9, "a number of seconds")
"""How long a task may take on one device: a nanosecond to thirty years."""
SIZES: Final = Range(1e-6, 1e12)
"""Sizes of tasks whose time is given or measured."""
FORMULA_SIZES: Final = Range(2e-3, 1e8)
"""Sizes of tasks whose time follows from them: what the formula makes of these is a nanosecond to two years."""
INTENSITIES: Final = Range(0.0, 1.0)
MEGABYTES: Final = Range(0.0, 1e9, "a number of megabytes")
ARRIVALS: Final = Range(0.0, 1e10, "a number of seconds")
"""Arrival times: a clock that says more can no longer tell short tasks apart."""
RATES: Final = Range(1e-6, 1e6, "a number of tasks per second")
LOADS: Final = Range(1e-4, 100.0)
"""Arrivals as a share of what a node can take."""
SPEEDS: Final = Range(1e-6, 1e6, "a number of simulated seconds per second")


def within(name: str, value: N, low: float, high: float) -> N:
    """An argument that must be within its limits, both included.

    Raises:
        InvalidInputError: It is not.
    """
    if not low <= value <= high:
        raise InvalidInputError(f"{name} is {value}, but it must be from {low} to {high}")
    return value


def refuse_beyond_memory(what: str, needed: float, fix: str) -> None:
    """Refuse what does not fit into this machine's memory: one that swaps or kills the process says less than a line.

    Args:
        what: Who needs it, verb included, for the error.
        needed: Bytes.
        fix: What to do instead.

    Raises:
        InvalidInputError: There is less.
    """
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return
    if needed > there:
        raise InvalidInputError(
            f"{what} about {needed / 1e9:.1f} GB of memory, but this machine has {there / 1e9:.1f} GB; {fix}"
        )
