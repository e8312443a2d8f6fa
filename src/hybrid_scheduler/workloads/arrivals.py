"""Arrival processes: gaps between tasks with mean 1, which the arrival rate then scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hybrid_scheduler.model import FloatArray
from hybrid_scheduler.workloads.streams import Streams


class Arrivals(Protocol):
    """When tasks come."""

    def gaps(self, streams: Streams, count: int) -> FloatArray:
        """The next gaps, in units of the mean gap."""
        ...


@dataclass(frozen=True, slots=True)
class PoissonArrivals:
    """Independent exponential gaps."""

    def gaps(self, streams: Streams, count: int) -> FloatArray:
        """See `Arrivals.gaps`."""
        return streams.of("gap").standard_exponential(count)


@dataclass(frozen=True, slots=True)
class BurstyArrivals:
    """Bursts with silence between them, at the mean rate of the Poisson process.

    Within a burst gaps are Exp(`within`); after a task, with probability `stop`, a silence is added, exponential with
    the mean that makes the mean gap 1. The defaults give silences of mean 18, and gaps with a squared coefficient of
    variation of ``within^2 + 2 stop 18^2 - (stop 18)^2 = 31.6`` (a Poisson process has 1).
    """

    within: float = 0.1
    stop: float = 1 / 20

    def gaps(self, streams: Streams, count: int) -> FloatArray:
        """See `Arrivals.gaps`."""
        result = self.within * streams.of("gap").standard_exponential(count)
        silent = streams.of("burst end").random(count) < self.stop
        silence = (1.0 - self.within) / self.stop
        result[silent] += silence * streams.of("silence").standard_exponential(int(silent.sum()))
        return result
