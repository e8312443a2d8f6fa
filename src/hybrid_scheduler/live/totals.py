"""What schedulers have done since the engine's process began, over all its runs. It only grows, as Prometheus wants."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.engine.live_data import Advance, Effort
from hybrid_scheduler.live.documents import known
from hybrid_scheduler.live.figures import Means
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.schedulers.base import Learner

RESPONSE_BOUNDS = tuple(float(f"{digit}e{power}") for power in range(-3, 4) for digit in (1, 2.5, 5))
"""Upper edges of the histogram of response times, in simulated seconds; a last class takes what is above."""
LEARNED = ("updates", "refits", "refit_checks", "drifts")
"""What learners count themselves."""


class SchedulerTotals(Means):
    """Sums over the tasks of one scheduler, a histogram of its response times, and what its learner has counted."""

    def __init__(self) -> None:
        super().__init__()
        self.responses = np.zeros(len(RESPONSE_BOUNDS) + 1, dtype=np.int64)
        self.effort = Effort(0, 0.0, 0.0)
        self.learned = dict.fromkeys(LEARNED, 0)
        self._learner: Learner | None = None
        self._before: dict[str, int] = {}

    def add(self, outcomes: OutcomeBatch, least_seconds: FloatArray, whole_seconds: FloatArray) -> None:
        """Take in finished tasks; those that failed are counted apart."""
        super().add(outcomes, least_seconds, whole_seconds)
        responses = outcomes.response_time[~outcomes.failed]
        classes = np.searchsorted(RESPONSE_BOUNDS, responses)  # a bound belongs to the class it ends
        self.responses += np.bincount(classes, minlength=len(self.responses))

    def add_effort(self, effort: Effort) -> None:
        """Take in what a step of time took."""
        before = self.effort
        self.effort = Effort(
            before.decisions + effort.decisions,
            before.seconds + effort.seconds,
            before.learning_seconds + effort.learning_seconds,
        )

    def add_learned(self, learner: Learner) -> None:
        """Add what a learner has counted since it was seen first; what it counted before does not belong here."""
        counts = {name: int(getattr(learner, name)) for name in LEARNED}
        if learner is self._learner:
            for name, count in counts.items():
                self.learned[name] += max(count - self._before[name], 0)
        self._learner, self._before = learner, counts

    def document(self) -> dict[str, Any]:
        """As in `SchedulerTotals` of the API, less the name."""
        return {
            "tasks": self.tasks,
            "failed": self.failed,
            "response": {
                "bounds": list(RESPONSE_BOUNDS),
                "counts": self.responses.tolist(),
                "sum": self.response,
            },
            "wait_seconds": self.wait,
            "execution_seconds": self.time,
            "energy_joules": known(self.energy),
            "cost_dollars": self.cost,
            "decisions": self.effort.decisions,
            "decision_seconds": self.effort.seconds,
            "learning_seconds": self.effort.learning_seconds,
            "learned": None if self._learner is None else dict(self.learned),
        }


class Totals:
    """The totals of every scheduler that has raced in this process."""

    def __init__(self) -> None:
        self._schedulers: dict[str, SchedulerTotals] = {}

    def of(self, name: str) -> SchedulerTotals:
        """Those of one scheduler."""
        return self._schedulers.setdefault(name, SchedulerTotals())

    def add(self, advance: Advance) -> None:
        """Take in what a step of time brought."""
        for name, outcomes in advance.by_scheduler.items():
            self.of(name).add(outcomes, advance.least_seconds[name], advance.whole_seconds[name])
        for name, effort in advance.efforts.items():
            self.of(name).add_effort(effort)

    def document(self) -> list[dict[str, Any]]:
        """As in `Status`."""
        return [{"name": name, **totals.document()} for name, totals in self._schedulers.items()]
