"""One live run without store and web half: its clock, its stream, its rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.server.live import session as session_module
from hybrid_scheduler.server.live.clock import Clock
from hybrid_scheduler.server.live.plan import Plan
from hybrid_scheduler.server.live.session import Session
from hybrid_scheduler.server.live_start import LiveStart
from hybrid_scheduler.store import Batch, RunRow, SubmittedTask
from hybrid_scheduler.store.checks import check_batch

NAMES = ("round_robin", "greedy", "oracle")
FIRST = 5000


def planned(config: Config | None = None, *, trace: Path | None = None, load: float = 0.05) -> Plan:
    return Plan.of(LiveStart(config or Config(), NAMES, trace=trace, load=load, seed=3))


def begun(plan: Plan, left: Sequence[SubmittedTask] = (), said: list[str] | None = None) -> Session:
    run = RunRow(7, "live", "", 3, {}, NAMES, None, FIRST, 10**9, None, 0, datetime.now(UTC), None, "running")
    lines = [] if said is None else said
    return Session(plan, run, {}, left, lambda level, line: lines.append(line))


def drained(session: Session) -> list[Batch]:
    return [turn.rows for turn in session.drain(60.0) if turn.finished]


def submitted(task_id: int, *dependencies: int) -> SubmittedTask:
    return SubmittedTask(task_id, 6, 900.0, 0.5, 40.0, dependencies, datetime.now(UTC))


def test_every_task_comes_out_once_with_a_result_of_everybody() -> None:
    session = begun(replace(planned(), flat_out=True))
    batches = [session.turn().rows for _ in range(20)]
    batches += drained(session)
    whole = Batch(*([row for batch in batches for row in batch[part]] for part in range(3)))  # type: ignore[arg-type]
    check_batch(whole)
    assert sorted(task.task_id for task in whole.tasks) == list(range(FIRST, FIRST + session.tasks_seen))
    assert len(whole.results) == len(NAMES) * len(whole.tasks) == len(NAMES) * len(whole.training)


def test_tasks_that_fail_can_be_stored() -> None:
    config = Config.model_validate({"physics": {"memory_policy": "fail"}, "simulation": {"num_gpus": 1}})
    session = begun(planned(config))
    session.submit(100.0, 1.0, 1e9, ())
    (batch,) = drained(session)
    assert any(result.failed for result in batch.results)
    check_batch(batch)


def test_tasks_left_over_keep_their_ids_and_their_order() -> None:
    session = begun(planned(), [submitted(4001), submitted(4002, 4001)])
    stored, answer = session.submit(500.0, 0.5, 10.0, (4002,))
    assert stored.task_id == FIRST + 2
    assert all(report["projected"] is None for report in answer["decisions"]), "it waits"
    batches = drained(session)
    tasks = {task.task_id: task for batch in batches for task in batch.tasks}
    assert {number: task.dependencies for number, task in tasks.items()} == {
        4001: (),
        4002: (4001,),
        FIRST + 2: (4002,),
    }
    finish = {(row.task_id, row.scheduler_name): row for batch in batches for row in batch.results}
    for name in NAMES:
        for child, parent in ((4002, 4001), (FIRST + 2, 4002)):
            starts = min(part.start for part in finish[child, name].parts)
            assert starts >= finish[parent, name].finish_time - 1e-9


def test_dependencies_of_a_trace_are_stored_with_stored_ids(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "task_id,size,compute_intensity,memory_required,arrival_time,dependencies\n"
        '0,500,0.5,20,0,[]\n1,700,0.2,30,1,[0]\n2,900,0.9,40,3,"[0, 1]"\n'
    )
    session = begun(replace(planned(trace=path), flat_out=True))
    rows = [task for _ in range(10) for task in session.turn().rows.tasks]
    assert [task.dependencies for task in rows[:3]] == [(), (FIRST,), (FIRST, FIRST + 1)]


def test_arrivals_wait_for_somebody_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "MOST_UNFINISHED", 400)
    monkeypatch.setattr(session_module, "HELD_UNTIL", 300)
    said: list[str] = []
    session = begun(replace(planned(load=20.0), flat_out=True), said=said)
    most = 0
    for _ in range(100):
        session.turn()
        most = max(most, *session.race.unfinished().values())
    assert session.held_back
    assert most <= 400 + session_module.CHUNK
    assert len(said) < 20, "it is not said at every turn"


def test_the_end_of_a_run_does_not_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    session = begun(replace(planned(load=20.0), flat_out=True), said=said)
    for _ in range(20):
        session.turn()
    advance = session.race.advance

    def slowly(until: float) -> object:
        time.sleep(0.05)
        return advance(until)

    monkeypatch.setattr(session.race, "advance", slowly)
    began = time.monotonic()
    list(session.drain(0.2))
    assert time.monotonic() - began < 2.0
    assert "unfinished" in said[-1]


def test_time_stands_still_while_the_race_does() -> None:
    session = begun(replace(planned(load=0.5), speed=1000.0))
    time.sleep(0.05)
    session.turn()
    session.keep_time(False)
    then = session.race.now
    time.sleep(0.1)
    assert session.clock.now() - then < 50.0
    session.keep_time(True)
    assert session.clock.now() - then < 50.0
    time.sleep(0.05)
    session.turn()
    assert session.race.now > then


def test_the_clock_goes_on_at_another_speed_from_where_it_is() -> None:
    clock = Clock(1.0)
    clock.set(100.0, 1000.0)
    time.sleep(0.05)
    clock.stop()
    stopped = clock.now()
    assert stopped > 140.0
    clock.set(200.0)
    assert clock.now() == 200.0
    assert not clock.goes
    clock.go()
    assert clock.goes
    assert clock.now() >= 200.0
