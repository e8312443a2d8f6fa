"""Whether the CPU was ours while it was measured.

Threads of one product wait for each other. When another program takes a core away from one of them, all of them wait
for the system's next time slice, and a product of a fraction of a millisecond takes many; every repetition suffers
alike, so the spread of the times does not show it. The processor time we were given does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENOUGH = 0.8
"""Measured on 2 cores: above 0.98 when idle, 0.5 and less beside one busy program."""


class CpuShare:
    """Adds up processor time and time passed while the CPU computes."""

    def __init__(self, clock: Callable[[], float], processor_seconds: Callable[[], float]) -> None:
        self._clock = clock
        self._processor_seconds = processor_seconds
        self._passed = 0.0
        self._used = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count what happens inside."""
        began, used = self._clock(), self._processor_seconds()
        yield
        self._passed += self._clock() - began
        self._used += self._processor_seconds() - used

    def of(self, threads: int) -> float:
        """The share of these threads' time in which they ran."""
        return self._used / (self._passed * threads)


def contention_warning(share: float, threads: int) -> str | None:
    """What to tell the user; None when all is well."""
    if share >= ENOUGH:
        return None
    return (
        f"the CPU's {threads} threads ran only {share:.0%} of the time: other programs were busy, or the products use "
        "fewer threads; the CPU's times may be too long, so measure again on a quiet machine"
    )
