"""Backlogs: a scheduler that is hopelessly behind gives its unfinished tasks up, so that the race goes on."""

from __future__ import annotations

import time
from typing import Any

from hybrid_scheduler.live.figures import RunFigures
from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.live.race import Race

MOST_UNFINISHED = 20_000
"""A scheduler with more unfinished tasks than this is hopelessly behind."""
MOST_STUCK = 100
"""So is one with more tasks than this that will not finish within the horizon."""
HORIZON_SECONDS = 3600.0
"""The horizon in seconds of the clock."""
HORIZON_SERVICES = 1000.0
"""The horizon in mean execution times, where tasks themselves take hours."""
SHOWN_SECONDS = 60.0
"""How long a scheduler is shown as hopelessly behind after it gave up a backlog."""


class Backlogs:
    """Watches the backlogs of one run; logs which scheduler gave one up and which was taken out of the race.

    Args:
        race: The race.
        log: Called with a level and a line for the log.
        most_unfinished: More unfinished tasks than this are hopeless.

    Attributes:
        least_unfinished: Unfinished tasks of the scheduler that has fewest.
    """

    def __init__(self, race: Race, log: Log, most_unfinished: int = MOST_UNFINISHED) -> None:
        self._race, self._log, self._most = race, log, most_unfinished
        self._told: set[str] = set()
        self._given_up = dict.fromkeys(race.contestants, 0)
        self._last: dict[str, float] = {}
        self.least_unfinished = 0

    def check(self, speed: float, figures: RunFigures) -> None:
        """Have every scheduler that is hopelessly behind give up.

        Args:
            speed: Simulated seconds per second of the clock; infinite when the race runs flat out.
            figures: Of the run so far.
        """
        race = self._race
        for name in race.out.keys() - self._told:
            self._told.add(name)
            self._log("error", f"{name} was taken out of the race: {race.out[name]}")
        racing = {name: count for name, count in race.unfinished().items() if name not in race.out}
        self.least_unfinished = min(racing.values(), default=0)
        for name, unfinished in racing.items():
            horizon = max(HORIZON_SECONDS * speed, HORIZON_SERVICES * figures.mean_service(name))
            if unfinished > self._most:
                self._give_up(name, f"{unfinished} tasks were unfinished, more than {self._most}")
            elif unfinished > MOST_STUCK and (stuck := race.stuck(name, horizon)) > MOST_STUCK:
                self._give_up(name, f"{stuck} tasks would have taken {horizon:.3g} simulated seconds or more to finish")

    def document(self, name: str) -> dict[str, Any]:
        """`state`, `reason` and `given_up` of a `RacerInfo`."""
        if name in self._race.out:
            state, reason = "out", self._race.out[name]
        elif time.monotonic() - self._last.get(name, -SHOWN_SECONDS) < SHOWN_SECONDS:
            state, reason = "behind", "hopelessly behind: it gave its backlog up and goes on with idle devices"
        else:
            state, reason = "racing", ""
        return {"state": state, "reason": reason, "given_up": self._given_up[name]}

    def _give_up(self, name: str, why: str) -> None:
        failed = self._race.give_up(name, f"given up: {name} was hopelessly behind, {why}")
        if time.monotonic() - self._last.get(name, -SHOWN_SECONDS) >= SHOWN_SECONDS:
            self._log("warning", f"{name} is hopelessly behind and gives {failed} tasks up: {why}")
        self._given_up[name] += failed
        self._last[name] = time.monotonic()
