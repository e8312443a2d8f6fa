"""One live run without store and web half: its clock, its stream, its rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.engine.live_data import Advance
from hybrid_scheduler.live.backlogs import Backlogs
from hybrid_scheduler.live.clock import Clock
from hybrid_scheduler.live.plan import Plan
from hybrid_scheduler.live.quarantine import is_suspect, quarantined
from hybrid_scheduler.live.session import Session
from hybrid_scheduler.live.simulated_race import SimulatedRace
from hybrid_scheduler.live.start import LiveStart
from hybrid_scheduler.model import ClusterView, Decision, Task
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.server.schemas.messages import WaitingRoom
from hybrid_scheduler.server.schemas.tasks import DecisionReport
from hybrid_scheduler.store import Batch, ResultRow, RunRow, SubmittedTask
from hybrid_scheduler.store.checks import check_batch

NAMES = ("round_robin", "greedy", "oracle")
FIRST = 5000


def planned(config: Config | None = None, *, trace: Path | None = None, load: float = 0.05) -> Plan:
    return Plan.of(LiveStart(config or Config(), NAMES, trace=trace, load=load, seed=3))


def simulated(session: Session) -> SimulatedRace:
    """Its race, which has a clock that a test can turn."""
    assert isinstance(session.race, SimulatedRace)
    return session.race


def begun(plan: Plan, left: Sequence[SubmittedTask] = (), said: list[str] | None = None) -> Session:
    run = RunRow(7, "live", "", 3, {}, NAMES, None, FIRST, 10**9, None, 0, datetime.now(UTC), None, "running")
    lines = [] if said is None else said
    return Session(plan, run, {}, left, lambda level, line: lines.append(line))


def submit(
    session: Session, size: float, intensity: float, memory: float, dependencies: Sequence[int]
) -> tuple[SubmittedTask, dict[str, Any]]:
    task = {
        "size": size,
        "compute_intensity": intensity,
        "memory_required": memory,
        "kind": None,
        "dependencies": dependencies,
    }
    (accepted,) = session.submit([task])
    return accepted


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


def test_the_waiting_room_speaks_of_stored_ids() -> None:
    plan = replace(planned(), schedulers=("sjf", "mct"))
    session = begun(plan, [submitted(4001)])
    for size in (5000.0,) * 12:
        submit(session, size, 0.5, 10.0, ())
    room = session.waiting("sjf", 3, None)
    WaitingRoom.model_validate(room)
    assert room["waiting"] > 3 == len(room["tasks"])
    assert (room["run_id"], room["simulated_time"]) == (7, session.race.now)
    first = room["tasks"][0]["task_id"]
    assert first > FIRST
    assert session.waiting("sjf", 50, first)["tasks"] == room["tasks"][:1]
    assert session.waiting("sjf", 50, 4001)["tasks"] == [], "it was started at once"
    assert session.waiting("mct", 50, None)["tasks"] == []
    _, answer = submit(session, 5000.0, 0.5, 10.0, ())
    (report, _) = answer["decisions"]
    DecisionReport.model_validate(report)
    assert report["waiting"]
    assert report["reason"].startswith(f"One of {room['waiting'] + 1} waiting tasks. It waits because ")


def test_tasks_that_fail_can_be_stored() -> None:
    config = Config.model_validate({"physics": {"memory_policy": "fail"}, "simulation": {"num_gpus": 1}})
    session = begun(planned(config))
    submit(session, 100.0, 1.0, 1e9, ())
    (batch,) = drained(session)
    assert any(result.failed for result in batch.results)
    check_batch(batch)


def test_tasks_left_over_keep_their_ids_and_their_order() -> None:
    session = begun(planned(), [submitted(4001), submitted(4002, 4001)])
    stored, answer = submit(session, 500.0, 0.5, 10.0, (4002,))
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
    path.write_text(path.read_text().replace('"[0, 1]"', '"[0, [1, 12.5]]"'))
    session = begun(replace(planned(trace=path), flat_out=True))
    rows = [task for _ in range(10) for task in session.turn().rows.tasks]
    assert rows[2].dependencies == ((FIRST, 0.0), (FIRST + 1, 12.5))


def test_graphs_that_never_end_are_not_called_one_graph() -> None:
    said: list[str] = []
    begun(planned(Config.model_validate({"workload": {"preset": "fork_join:width=3,stages=1"}})), said=said)
    assert not [line for line in said if "one graph" in line]


def test_a_submitted_task_waits_for_data() -> None:
    """A million MB are 62.5 s on their way over the link of the GPU they were made on."""
    session = begun(planned())
    first, _ = submit(session, 500.0, 0.5, 10.0, ())
    stored, _ = submit(session, 500.0, 0.5, 10.0, [[first.task_id, 1e6]])  # type: ignore[list-item]
    assert stored.dependencies == ((first.task_id, 1e6),)
    rows = [row for batch in drained(session) for row in batch.results]
    made = {row.scheduler_name: row for row in rows if row.task_id == first.task_id}
    ways = []
    for row in (row for row in rows if row.task_id == stored.task_id):
        parent = made[row.scheduler_name]
        for part in row.parts:
            away = [each for each in parent.parts if each.device != part.device and each.device.startswith("gpu")]
            ways.append(max((62.5 * each.share for each in away), default=0.0))
            assert part.start >= parent.finish_time + ways[-1] - 1e-6
    assert max(ways) > 1.0


def test_who_is_hopelessly_behind_gives_up_and_the_race_goes_on() -> None:
    said: list[str] = []
    session = begun(replace(planned(load=0.5), flat_out=True), said=said)
    session.backlogs = Backlogs(session.race, lambda level, line: said.append(line), most_unfinished=400)
    rows: list[ResultRow] = []
    for _ in range(100):
        rows += session.turn().rows.results
        assert max(session.race.unfinished().values()) <= 400
    told = {entry["name"]: entry for entry in session.comparison()}
    assert told["oracle"] | {"state": "racing", "given_up": 0, "failed": 0, "reason": ""} == told["oracle"]
    behind = told["round_robin"]
    assert behind["state"] == "behind"
    assert behind["given_up"] >= behind["failed"] >= 400
    assert {row.scheduler_name for row in rows if row.failed} == {"round_robin", "greedy"}
    assert all("hopelessly behind" in str(row.reason) for row in rows if row.failed)
    assert all(row.reason is None for row in rows if not row.failed)
    assert sum("hopelessly behind" in line for line in said) <= 2, "it is not said at every turn"


def test_one_huge_task_does_not_freeze_the_figures() -> None:
    session = begun(replace(planned(), speed=1000.0))
    submit(session, 1e8, 0.5, 0.0, ())
    simulated(session).clock.set(0.0)
    until_finished(session, 300)
    assert session.figures.means["round_robin"].tasks > 250


def test_a_scheduler_that_fails_is_shown_as_out() -> None:
    said: list[str] = []
    session = begun(replace(planned(), flat_out=True), said=said)
    session.turn()
    session.race.contestants["greedy"].scheduler = Broken()
    rows = [row for _ in range(10) for row in session.turn().rows.results if row.scheduler_name == "greedy"]
    (entry,) = (entry for entry in session.comparison() if entry["name"] == "greedy")
    assert entry["state"] == "out"
    assert "KeyError('broken')" in entry["reason"]
    assert any("greedy was taken out" in line for line in said)
    failed = [row for row in rows if row.failed]
    assert len(failed) > 500
    assert all("KeyError" in str(row.reason) for row in failed)
    _, answer = submit(session, 500.0, 0.5, 10.0, ())
    (report,) = (report for report in answer["decisions"] if report["scheduler_name"] == "greedy")
    assert report["reason"].startswith("Out of the race: ")
    assert report["projected"] is None


class Broken(Scheduler):
    """Fails at once."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        raise KeyError("broken")


def until_finished(session: Session, tasks: int) -> None:
    for _ in range(3000):
        session.turn()
        if session.figures.finished >= tasks:
            return
        time.sleep(0.001)
    raise AssertionError(f"only {session.figures.finished} tasks")


def test_suspects_are_stored_as_failed_and_not_raced() -> None:
    innocent, suspect = submitted(4001), submitted(4002)._replace(crashes=2)
    assert not is_suspect(innocent._replace(crashes=1))
    assert is_suspect(suspect)
    batch = quarantined([suspect], 7, NAMES)
    check_batch(batch)
    assert [(row.scheduler_name, row.failed) for row in batch.results] == [(name, True) for name in NAMES]
    assert all("crashed" in str(row.reason) for row in batch.results)


def test_the_end_of_a_run_does_not_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    session = begun(replace(planned(load=20.0), flat_out=True), said=said)
    for _ in range(20):
        session.turn()
    advance = simulated(session).advance

    def slowly(until: float) -> object:
        time.sleep(0.05)
        return advance(until)

    monkeypatch.setattr(session.race, "advance", slowly)
    began = time.monotonic()
    list(session.drain(0.2))
    assert time.monotonic() - began < 10.0
    assert "unfinished" in said[-1]


def test_time_stands_still_while_the_race_does() -> None:
    session = begun(replace(planned(load=0.5), speed=1000.0))
    time.sleep(0.05)
    session.turn()
    session.keep_time(False)
    then, halted = session.race.now, simulated(session).clock.now()
    time.sleep(0.1)
    assert simulated(session).clock.now() == halted
    began = time.monotonic()
    session.keep_time(True)
    assert simulated(session).clock.now() - halted <= 1000.0 * (time.monotonic() - began) + 1e-6
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
    assert clock.now() >= 200.0  # type: ignore[unreachable]


def test_a_submitted_task_that_waits_is_said_to() -> None:
    session = begun(replace(planned(), schedulers=("sjf", "greedy")))
    for _ in range(8):
        _, answer = submit(session, 3000.0, 0.5, 10.0, ())
    decisions = {report["scheduler_name"]: report for report in answer["decisions"]}
    assert [DecisionReport.model_validate(report).waiting for report in decisions.values()] == [True, False]
    assert decisions["sjf"]["expected_start"] > session.race.now
    assert "waiting tasks" in decisions["sjf"]["reason"]
    assert {entry["name"]: entry["waiting"] > 0 for entry in session.comparison()} == {"sjf": True, "greedy": False}
    assert len(drained(session)[-1].tasks) >= 1


def test_the_gap_is_over_the_bound_of_the_same_tasks() -> None:
    """Of each scheduler over what it has finished: the slow lag behind, and are not held to the tasks of others."""
    session = begun(replace(planned(load=0.5), flat_out=True))
    steps: list[Advance] = []
    advance = simulated(session).advance

    def noted(until: float) -> Advance:
        steps.append(advance(until))
        return steps[-1]

    simulated(session).advance = noted  # type: ignore[method-assign]
    for _ in range(20):
        session.turn()
    raced, told = len(steps), {entry["name"]: entry for entry in session.comparison()}
    drained(session)
    bounds = {
        task.task_id: bound
        for step in steps
        for task, bound in zip(step.finished.tasks, step.finished.least_seconds.tolist(), strict=True)
    }
    for name in NAMES:
        own = [step.by_scheduler[name] for step in steps[:raced]]
        response = sum(float(outcomes.response_time.sum()) for outcomes in own)
        idle = sum(bounds[number] for outcomes in own for number in outcomes.task_id.tolist())
        assert 0.0 <= told[name]["gap"] <= response / idle - 1.0 + 1e-9
    assert told["round_robin"]["tasks"] < told["oracle"]["tasks"]
    assert told["round_robin"]["gap"] > told["oracle"]["gap"]


def test_the_log_states_what_a_foreign_trace_does_not_say(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("".join(f"{i} {10 * i} 0 5 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n" for i in range(1, 9)))
    said: list[str] = []
    session = begun(planned(trace=path), said=said)
    assert "compute_intensity is drawn as the preset mixed draws it (intensity_from_seed, seed 3)" in said
    said.clear()
    session.change(replace(session.plan, speed=2.0))
    assert said == []
