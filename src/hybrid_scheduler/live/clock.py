"""From seconds of the wall to simulated seconds."""

from __future__ import annotations

import time


class Clock:
    """Simulated time that runs `speed` times as fast as the wall's; can be stopped and set.

    Args:
        speed: Simulated seconds per second.
    """

    def __init__(self, speed: float) -> None:
        self._speed, self._simulated = speed, 0.0
        self._since: float | None = time.monotonic()

    @property
    def goes(self) -> bool:
        """Whether it is not stopped."""
        return self._since is not None

    def now(self) -> float:
        """The simulated time."""
        passed = 0.0 if self._since is None else time.monotonic() - self._since
        return self._simulated + passed * self._speed

    def set(self, simulated: float, speed: float | None = None) -> None:
        """Go on from a simulated time, at another speed if one is given."""
        self._simulated, self._speed = simulated, self._speed if speed is None else speed
        self._since = None if self._since is None else time.monotonic()

    def stop(self) -> None:
        """Stand still."""
        self._simulated, self._since = self.now(), None

    def go(self) -> None:
        """Go on."""
        if self._since is None:
            self._since = time.monotonic()
