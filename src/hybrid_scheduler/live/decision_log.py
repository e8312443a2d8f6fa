"""Decisions for the live log: as many lines a second as a person can read, every scheduler in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch

LINES_PER_SECOND = 6.0
FEW = 4
"""So many devices of a task are named one by one."""


class DecisionLine(NamedTuple):
    """One line.

    Attributes:
        scheduler: Who decided.
        message: What, in words.
        skipped: Decisions of this scheduler since its last line that got no line.
    """

    scheduler: str
    message: str
    skipped: int


class DecisionLog:
    """Picks which decisions get a line, once their tasks have finished; the others are counted.

    Args:
        schedulers: Who races.
        lines_per_second: Of the clock, over all schedulers.
        clock: What time it is, in seconds.
    """

    def __init__(
        self,
        schedulers: Iterable[str],
        lines_per_second: float = LINES_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turn = list(schedulers)
        self._rate, self._clock = lines_per_second, clock
        self._budget, self._at = lines_per_second, clock()
        self._latest: dict[str, tuple[int, OutcomeBatch]] = {}
        self._finished = dict.fromkeys(self._turn, 0)

    def add(self, finished: Mapping[str, OutcomeBatch], stored_id: Callable[[int], int]) -> None:
        """Take in what each scheduler has finished.

        Args:
            finished: Outcomes by scheduler.
            stored_id: The id under which people know a task.
        """
        for name, outcomes in finished.items():
            if len(outcomes):
                self._finished[name] += len(outcomes)
                self._latest[name] = stored_id(int(outcomes.task_id[-1])), outcomes

    def lines(self) -> list[DecisionLine]:
        """The lines that are due: the latest decision of those who have waited longest for one; each only once."""
        now = self._clock()
        self._budget = min(self._budget + (now - self._at) * self._rate, self._rate)
        self._at = now
        lines: list[DecisionLine] = []
        for name in list(self._turn):
            if self._budget < 1.0:
                break
            if name not in self._latest:
                continue
            task_id, outcomes = self._latest.pop(name)
            lines.append(DecisionLine(name, _words(name, task_id, outcomes[-1]), self._finished[name] - 1))
            self._finished[name] = 0
            self._budget -= 1.0
            self._turn.remove(name)
            self._turn.append(name)
        return lines


def _words(scheduler: str, task_id: int, outcome: Outcome) -> str:
    kept = [part for part in outcome.parts if not part.lost]
    places = " and ".join(_place(part.device, part.share) for part in kept)
    if len(kept) > FEW:
        places = f"{len(kept)} devices together"
    return f"Task {task_id} assigned to {places} by {scheduler}" if places else f"Task {task_id} failed by {scheduler}"


def _place(device: str, share: float) -> str:
    kind, _, number = device.partition("_")
    part = "" if share >= 1.0 else f" ({share:.0%})"
    return f"{kind.upper()} {number}{part}"
