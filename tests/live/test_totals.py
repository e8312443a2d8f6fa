"""What Prometheus is told of the schedulers: sums that only grow, over all runs of the engine's process."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.engine.live_data import Effort
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.live.figures import Means
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.live.totals import RESPONSE_BOUNDS, SchedulerTotals, Totals
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.store import ResultRow, RunRow

NAMES = ("greedy", "hybrid_ml")


def begun(totals: Totals) -> Session:
    plan = replace(Plan.of(LiveStart(Config(), NAMES, load=0.1, seed=3)), flat_out=True)
    run = RunRow(7, "live", "", 3, {}, NAMES, None, 0, 10**9, None, 0, datetime.now(UTC), None, "running")
    return Session(plan, run, {}, (), lambda level, line: None, totals)


def raced(session: Session, turns: int = 8) -> list[ResultRow]:
    rows = [row for _ in range(turns) for row in session.turn().rows.results]
    return rows + [row for turn in session.drain(60.0) for row in turn.rows.results]


def by_name(totals: Totals) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in totals.document()}


def test_totals_are_the_sums_of_what_is_stored() -> None:
    totals = Totals()
    rows = raced(begun(totals))
    for name, entry in by_name(totals).items():
        mine = [row for row in rows if row.scheduler_name == name]
        responses = [row.response_time for row in mine]
        assert entry["tasks"] == len(mine) > 200
        assert entry["failed"] == 0
        assert entry["response"]["sum"] == pytest.approx(sum(responses))
        edges = [-np.inf, *entry["response"]["bounds"], np.inf]
        counted = [sum(low < response <= high for response in responses) for low, high in pairwise(edges)]
        assert entry["response"]["counts"] == counted
        assert entry["energy_joules"] == pytest.approx(sum(row.energy_consumption or 0.0 for row in mine))
        assert entry["cost_dollars"] == pytest.approx(sum(row.execution_cost for row in mine))
        assert entry["wait_seconds"] + entry["execution_seconds"] == pytest.approx(sum(responses))
        assert entry["decisions"] == len(mine)
        assert entry["decision_seconds"] > 0.0
        assert (entry["learning_seconds"] > 0.0) == (name == "hybrid_ml")


def test_energy_that_a_machine_does_not_tell_is_unknown_from_then_on() -> None:
    totals, means = SchedulerTotals(), Means()
    tasks = TaskBatch.from_columns(*np.ones((3, 4)), task_id=np.arange(4))
    outcomes = Race(tasks, World()).run(create_scheduler("mct"))
    untold = replace(outcomes, energy=np.where(outcomes.task_id == 2, np.nan, outcomes.energy))
    nothing = np.ones(len(outcomes))
    for batch, known in ((outcomes, True), (untold, False), (outcomes, False)):
        for sums in (totals, means):
            sums.add(batch, nothing, nothing)
        told, shown = totals.document(), means.document()
        assert (told["energy_joules"] is not None, shown["avg_energy"] is not None) == (known, known)
        assert told["cost_dollars"] == pytest.approx(shown["avg_cost"] * shown["tasks"])


def test_they_go_on_growing_with_the_next_run_and_when_the_history_is_cleared() -> None:
    totals = Totals()
    first = begun(totals)
    raced(first)
    before = by_name(totals)
    first.figures.clear()
    assert by_name(totals) == before
    raced(begun(totals))
    for name, entry in by_name(totals).items():
        assert entry["tasks"] > before[name]["tasks"]
        counts = np.array(entry["response"]["counts"])
        assert (counts >= before[name]["response"]["counts"]).all()
        assert entry["decision_seconds"] > before[name]["decision_seconds"]


def test_learners_are_counted_from_when_they_joined() -> None:
    totals = Totals()
    learner = HybridML()
    learner.refits = 5  # of another life
    for refits in (5, 7, 8):
        learner.refits = refits
        totals.of("hybrid_ml").add_learned(learner)
    totals.of("hybrid_ml").add_learned(HybridML())  # the next run begins with another
    (entry,) = totals.document()
    assert entry["learned"] == {"updates": 0, "refits": 3, "refit_checks": 0, "drifts": 0}
    assert totals.of("greedy").document()["learned"] is None


def test_what_a_race_taught_is_in_the_totals() -> None:
    totals = Totals()
    session = begun(totals)
    raced(session)
    learner = session.models["hybrid_ml"].learner
    learned = by_name(totals)["hybrid_ml"]["learned"]
    assert learned["refit_checks"] + learned["refits"] > 0
    assert learned["refits"] == learner.refits
    assert by_name(totals)["greedy"]["learned"] is None


def test_bounds_grow_and_efforts_add_up() -> None:
    assert list(RESPONSE_BOUNDS) == sorted(set(RESPONSE_BOUNDS))
    assert RESPONSE_BOUNDS[0] == 0.001
    assert RESPONSE_BOUNDS[-1] == 5000.0
    totals = SchedulerTotals()
    for _ in range(2):
        totals.add_effort(Effort(3, 0.5, 0.25))
    assert totals.effort == Effort(6, 1.0, 0.5)
