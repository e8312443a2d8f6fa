"""Retrainings of a live race: each is announced and stored once, with what it changed; figures are kept over time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.live import learning_watch
from hybrid_scheduler.live.learning_watch import LearningWatch, announcement
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.model import ClusterView, Decision, Outcome, Task
from hybrid_scheduler.schedulers.base import Learner, Refit
from hybrid_scheduler.store import LearningRow, RetrainingRow, RunRow
from hybrid_scheduler.store.learning import check_learning

NAMES = ("greedy", "hybrid_ml")
FIGURES = re.compile(r"was retrained(?: (\d+) times)?: (\d+) of (\d+) trees replaced")


class Every(Learner):
    """Goes to the CPU, and changes its model after every so many tasks."""

    def __init__(self, interval: int = 50) -> None:
        self.interval = interval
        self.seen, self.taken, self.found = 0, 0, []  # type: tuple[int, int, list[Refit]]

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(0)

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        self.seen += 1
        if self.seen % self.interval == 0:
            self.refit_checks += 1
            if self.refit_checks % 2:
                self.refits += 1
                self.found.append(Refit("interval", self.seen, 8, 5, 0.5 / self.refits, 0.4 / self.refits))

    def take_refits(self) -> tuple[Refit, ...]:
        taken, self.found = tuple(self.found), []
        return taken

    def figures(self) -> dict[str, float | None]:
        return {"loss": 1.0 / (self.seen + 1), "odd": float("nan"), "r2": None}

    def save_model(self, path: str | Path) -> None:
        raise NotImplementedError

    def load_model(self, path: str | Path) -> None:
        raise NotImplementedError


class Watched:
    """A run that is watched, with what was said and stored."""

    def __init__(self, learner: Learner | None = None, preset: str = "mixed") -> None:
        self.plan = replace(Plan.of(LiveStart(Config(), NAMES, preset=preset, load=0.05, seed=3)), flat_out=True)
        run = RunRow(7, "live", "", 3, {}, NAMES, None, 0, 10**9, None, 0, datetime.now(UTC), None, "running")
        build = Plan.build
        with patch.object(
            Plan, "build", lambda plan, name: learner if learner and name == "hybrid_ml" else build(plan, name)
        ):
            self.session = Session(self.plan, run, {}, (), lambda level, line: None)
        self.session.models["hybrid_ml"].version = 4
        self.now = 1000.0
        self.said: list[str] = []
        self.rows: list[RetrainingRow] = []
        self.figures: list[LearningRow] = []
        self.writes = 0
        self.watch = LearningWatch(self.session, self.said.append, self._keep, lambda: self.now)

    def _keep(self, rows: Sequence[RetrainingRow], figures: Sequence[LearningRow]) -> None:
        check_learning(rows, figures)
        self.rows += rows
        self.figures += figures
        self.writes += 1

    def race(self, tasks: int, seconds: float = 0.1) -> None:
        """Until so many tasks are over."""
        while self.session.figures.finished < tasks:
            self.session.turn()
            self.now += seconds
            self.watch.look()

    def announced(self) -> int:
        found = [FIGURES.search(line) for line in self.said]
        return sum(int(each[1] or 1) for each in found if each is not None)


def test_an_announcement_says_what_changed() -> None:
    one = Refit("interval", 812, 8, 5, 0.121, 0.097)
    assert announcement("hybrid_ml", [one]) == (
        "hybrid_ml was retrained: 5 of 8 trees replaced after a look at 812 rows; "
        "error on rows outside the sample 0.121 -> 0.097"
    )
    two = Refit("drift", 900, 32, 30, 0.3, 0.05)
    assert announcement("hybrid_ml", [one, two]) == (
        "hybrid_ml was retrained 2 times: 35 of 40 trees replaced after a look at 900 rows; "
        "error on rows outside the sample 0.121 -> 0.05"
    )
    assert announcement("x", [replace(one, error_before=None)]) == (
        "x was retrained: 5 of 8 trees replaced after a look at 812 rows"
    )


def test_every_refit_is_announced_and_stored_once() -> None:
    learner = Every()
    watched = Watched(learner)
    watched.race(2000)
    watched.watch.finish()
    assert watched.session.race.out == {}
    assert learner.refit_checks > learner.refits > 10
    assert watched.announced() == len(watched.rows) == learner.refits
    assert len(watched.said) < learner.refits, "some were announced together"
    assert [row.rows for row in watched.rows] == [50 + 100 * n for n in range(learner.refits)]
    assert {(row.run_id, row.scheduler_name, row.reason, row.version) for row in watched.rows} == {
        (7, "hybrid_ml", "interval", 4)
    }
    tasks = [row.tasks for row in watched.rows]
    assert tasks == sorted(tasks)
    watched.watch.finish()
    assert watched.announced() == learner.refits, "what is over is not said again"


def test_figures_are_stored_thinner_as_the_run_grows_older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_watch, "FIGURES_PER_AGE", 20)
    watched = Watched(Every(10**9))
    watched.race(3000, seconds=20.0)
    moments = [row.tasks for row in watched.figures]
    assert moments == sorted(set(moments))
    age = watched.now - 1000.0
    assert 10 < len(moments) < 80 < age / learning_watch.FIGURES_SECONDS
    assert set(watched.figures[0].figures) == {"loss", "odd", "r2"}
    assert watched.figures[0].figures["odd"] is None
    before = len(watched.figures)
    watched.watch.finish()
    watched.watch.finish()
    assert len(watched.figures) <= before + 1, "nothing new has finished"


def test_refits_of_a_fast_race_are_stored_in_few_writes() -> None:
    watched = Watched(Every(5))
    watched.race(2000, seconds=0.01)
    watched.watch.finish()
    assert len(watched.rows) > 150
    assert watched.writes < 10


def test_a_learner_that_cannot_tell_is_taken_out() -> None:
    class Broken(Every):
        """Fails when it is asked."""

        def take_refits(self) -> tuple[Refit, ...]:
            raise ZeroDivisionError

    watched = Watched(Broken())
    watched.race(100)
    assert "hybrid_ml" in watched.session.race.out


def test_a_stationary_race_announces_the_refreshes_that_replaced_a_tree() -> None:
    watched = Watched()
    watched.race(2000)
    watched.watch.finish()
    learner = watched.session.models["hybrid_ml"].learner
    assert learner.refit_checks >= 2000 // 50 - 1
    assert watched.announced() == len(watched.rows) == learner.refits
    assert all(0 < row.replaced <= row.trees for row in watched.rows)


def test_a_shift_is_announced_soon() -> None:
    watched = Watched(preset="gpu_favourable")
    watched.race(1000)
    watched.watch.finish()
    before = watched.announced()
    watched.session.change(watched.plan.changed(Path(), preset="cpu_favourable"))
    changed = watched.session.figures.finished
    watched.now += 60.0
    watched.race(changed + 200)
    assert watched.announced() > before
    assert watched.rows[-1].tasks <= changed + 264, "a turn may bring 64 tasks more"
