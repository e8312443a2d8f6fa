"""A live race on simulated nodes, by the clock on the wall."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np

from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.live_data import Advance
from hybrid_scheduler.live.clock import Clock
from hybrid_scheduler.live.race import Stream
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

STEPS = 64
"""In so many steps the last tasks finish."""
LATELY = 5.0


class SimulatedRace(LiveRace):
    """Implements `Race`: simulated time goes on as the clock does, or as fast as it can.

    Args:
        schedulers: The contestants by name.
        world: The devices and how they behave.
        seed: Seed of the noise.
        speed: Simulated seconds per second of the clock.
        flat_out: Whether the clock is set aside.

    Attributes:
        clock: Says what is due.
    """

    def __init__(
        self,
        schedulers: Mapping[str, Scheduler],
        world: World,
        *,
        seed: int = 0,
        speed: float = 1.0,
        flat_out: bool = False,
    ) -> None:
        super().__init__(schedulers, world, seed=seed)
        self.clock, self._speed, self._flat_out = Clock(speed), speed, flat_out

    @property
    def at_rest(self) -> bool:
        """See `Race.at_rest`."""
        return True

    @property
    def at_once(self) -> bool:
        """See `Race.at_once`."""
        return self._flat_out

    @property
    def lately(self) -> float:
        """See `Race.lately`."""
        return LATELY

    @property
    def turn(self) -> None:
        """See `Race.turn`."""
        return

    def clock_of(self, name: str) -> float:
        """See `Race.clock_of`."""
        return self.now

    def raced_seconds(self) -> dict[str, float]:
        """See `Race.raced_seconds`."""
        return dict.fromkeys(self.contestants, self.now)

    def replace(self, name: str, scheduler: Scheduler) -> None:
        """See `Race.replace`."""
        self.contestants[name].scheduler = scheduler

    def go_on(self, stream: Stream, most: int) -> Advance:
        """See `Race.go_on`: what is due by the clock."""
        clock = np.inf if self._flat_out else self.clock.now()
        until = target = max(min(clock, self.nth_finish(most)), self.now)
        arrived = stream.take(target, most)
        if arrived is not None and (len(arrived) == most or self._flat_out):
            until = float(arrived.arrival_time[-1])
        if not np.isfinite(until):
            until = self.now
        if until < clock and not self._flat_out:
            self.clock.set(until)  # the race cannot keep up with the clock: the clock waits for it
        return self.advance(max(until, self.now))

    def keep_time(self, racing: bool) -> bool:
        """See `Race.keep_time`."""
        if racing and not self.clock.goes:
            self.clock.set(self.now)
            self.clock.go()
            return True
        if not racing and self.clock.goes:
            self.clock.stop()
        return False

    def pace(self, speed: float, flat_out: bool) -> None:
        """See `Race.pace`."""
        if (speed, flat_out) != (self._speed, self._flat_out):
            self._speed, self._flat_out = speed, flat_out
            self.clock.set(self.now, speed)

    def finish(self, seconds: float) -> Iterator[Advance]:
        """See `Race.finish`."""
        until = time.monotonic() + seconds
        # In steps, since learners learn from every task that finishes: thousands of them can take long.
        for step in np.linspace(self.now, max(self.all_free(), self.now), STEPS + 1)[1:]:
            if time.monotonic() > until:
                return
            yield self.advance(float(step))
        yield self.drain()

    def close(self) -> None:
        """See `Race.close`."""
