"""Watches the learners of one run: announces what their refreshes changed, and has it stored with their figures."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from hybrid_scheduler.engine.driver import named_failures
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.model.errors import HybridSchedulerError
from hybrid_scheduler.schedulers.base import Refit
from hybrid_scheduler.store import LearningRow, RetrainingRow
from hybrid_scheduler.store.learning import MOST_FIGURES

NOTICE_SECONDS = 5.0
"""Between two announcements of one learner; what happens meanwhile is announced together."""
STORE_SECONDS = 1.0
FIGURES_SECONDS, FIGURES_PER_AGE = 5.0, 500
"""Figures are stored so often at most, and no more often than every five-hundredth of the run's age: a week
has some three thousand points then."""

Keep = Callable[[Sequence[RetrainingRow], Sequence[LearningRow]], None]


def announcement(name: str, refits: Sequence[Refit]) -> str:
    """One sentence on one or several refreshes, oldest first."""
    times = "" if len(refits) == 1 else f" {len(refits)} times"
    replaced, made = sum(refit.replaced for refit in refits), sum(refit.trees for refit in refits)
    before, after = refits[0].error_before, refits[-1].error_after
    error = "" if before is None or after is None else f"; error on rows outside the sample {before:.3g} -> {after:.3g}"
    looked = f"{replaced} of {made} trees replaced after a look at {refits[-1].rows} rows"
    return f"{name} was retrained{times}: {looked}{error}"


class LearningWatch:
    """Looks at the learners of a run after every turn. Every refit is announced once and stored once.

    Args:
        session: The run.
        announce: Called with a line for users.
        keep: Has rows stored.
        clock: Seconds.
    """

    def __init__(
        self, session: Session, announce: Callable[[str], None], keep: Keep, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._session, self._announce, self._keep, self._clock = session, announce, keep, clock
        self._began = clock()
        self._pending: dict[str, list[Refit]] = {}
        self._announced: dict[str, float] = {}
        self._rows: list[RetrainingRow] = []
        self._stored = self._began
        self._figures_due = self._began
        self._figures_at = 0

    def look(self) -> None:
        """Take what the learners have done; announce and store what is due."""
        now = self._clock()
        self._take()
        for name in list(self._pending):
            if now - self._announced.get(name, -math.inf) >= NOTICE_SECONDS:
                self._tell(name)
        figures = self._figures() if now >= self._figures_due else []
        if figures:
            self._figures_due = now + max(FIGURES_SECONDS, (now - self._began) / FIGURES_PER_AGE)
        if figures or (self._rows and now - self._stored >= STORE_SECONDS):
            self._store(figures)

    def finish(self) -> None:
        """Announce and store what is left; the run is over."""
        self._take()
        for name in list(self._pending):
            self._tell(name)
        figures = self._figures()
        if figures or self._rows:
            self._store(figures)

    def _take(self) -> None:
        session = self._session
        for name, model in session.models.items():
            try:
                with named_failures(model.learner):
                    refits = model.learner.take_refits()
            except HybridSchedulerError as error:
                session.race.take_out(name, str(error))
                continue
            if not refits:
                continue
            self._pending.setdefault(name, []).extend(refits)
            moment = datetime.now(UTC)
            self._rows += [
                RetrainingRow(
                    0,
                    session.run.id,
                    name,
                    moment,
                    session.figures.finished,
                    refit.reason,
                    refit.rows,
                    refit.trees,
                    refit.replaced,
                    _finite(refit.error_before),
                    _finite(refit.error_after),
                    model.version,
                )
                for refit in refits
            ]

    def _tell(self, name: str) -> None:
        self._announce(announcement(name, self._pending.pop(name)))
        self._announced[name] = self._clock()

    def _figures(self) -> list[LearningRow]:
        """The figures of this moment; nothing when no task has finished since the last ones."""
        session, tasks = self._session, self._session.figures.finished
        if tasks == self._figures_at:
            return []
        self._figures_at = tasks
        moment = datetime.now(UTC)
        return [
            LearningRow(0, session.run.id, model["scheduler_name"], moment, tasks, _kept(model["figures"]))
            for model in session.learning()
            if model["figures"]
        ]

    def _store(self, figures: Sequence[LearningRow]) -> None:
        rows, self._rows = self._rows, []
        self._stored = self._clock()
        self._keep(rows, figures)


def _kept(figures: dict[str, float | None]) -> dict[str, float | None]:
    return {name: _finite(figures[name]) for name in list(figures)[:MOST_FIGURES]}


def _finite(figure: float | None) -> float | None:
    return None if figure is None or not math.isfinite(figure) else float(figure)
