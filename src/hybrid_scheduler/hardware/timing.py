"""How long a call takes: warmed up, repeated, and with its spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

WARM_UP_SECONDS = 0.05
"""Long enough for a device to leave its power-saving clock."""
WARM_UP_CALLS = (2, 2000)
"""At least so many, as the first call loads libraries; at most so many, however short they are."""
FEWEST_REPEATS = 3
ENOUGH_SECONDS = 1.0


@dataclass(frozen=True)
class Timing:
    """Seconds per call over `count` calls: the median, and the extremes."""

    median: float
    minimum: float
    maximum: float
    count: int

    def to_json(self) -> dict[str, float | int]:
        """The figures under short names."""
        return {"median": self.median, "min": self.minimum, "max": self.maximum, "count": self.count}


def time_calls(action: Callable[[], None], repeats: int, clock: Callable[[], float]) -> Timing:
    """Time a call that ends only when its work is done.

    After the warm-up `repeats` calls are timed one by one; fewer, but at least three, when they take long.
    """
    fewest, most = WARM_UP_CALLS
    began, calls = clock(), 0
    while calls < fewest or (calls < most and clock() - began < WARM_UP_SECONDS):
        action()
        calls += 1
    seconds: list[float] = []
    while len(seconds) < repeats and (len(seconds) < FEWEST_REPEATS or sum(seconds) < ENOUGH_SECONDS):
        start = clock()
        action()
        seconds.append(clock() - start)
    return Timing(median(seconds), min(seconds), max(seconds), len(seconds))
