"""The live race: however the clock is turned, the outcomes are those of one batch race, and memory stays bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.cluster.state import TASKS
from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.live_data import Placement
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import ClusterView, Decision, Part, Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario import PresetTasks
from hybrid_scheduler.scenario.live_source import LiveSource
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

NAMES = ("round_robin", "greedy", "mct", "oracle", "hybrid_ml", "rl_agent")
RATE = 20.0


def live_race(names: tuple[str, ...] = NAMES, **world: object) -> LiveRace:
    cluster = world.get("cluster", ClusterSpec.default())
    physics = world.get("physics", Physics(noise=0.1))
    return LiveRace({name: create_scheduler(name, 1) for name in names}, World(cluster, physics), seed=3)  # type: ignore[arg-type]


def run_live(race: LiveRace, tasks: int, step: float) -> dict[str, dict[int, tuple[float, float, float]]]:
    """Turn the clock in even steps; returns finish, energy and cost by scheduler and task."""
    found: dict[str, dict[int, tuple[float, float, float]]] = {name: {} for name in race.contestants}
    source, added = LiveSource(PresetTasks(), 5, RATE), 0
    while added < tasks:
        arrived = source.until(race.now + step, tasks - added, added)
        if arrived is not None:
            race.add(arrived.tasks, arrived.parents)
            added += len(arrived.tasks)
        collect(race.advance(race.now + step).finished, found)
    collect(race.drain().finished, found)
    return found


def collect(finished, found) -> None:  # type: ignore[no-untyped-def]
    assert len(finished.tasks) == len(finished.labels) == len(finished.least_seconds)
    for name, outcomes in finished.outcomes.items():
        for task, outcome in zip(finished.tasks, outcomes, strict=True):
            assert outcome.task_id == task.task_id
            assert task.task_id not in found[name], "handed out twice"
            found[name][task.task_id] = (outcome.finish_time, outcome.energy, outcome.cost)


@pytest.mark.parametrize("step", [pytest.param(0.05, marks=pytest.mark.slow), 7.0])
def test_live_is_batch(step: float) -> None:
    tasks = 1600
    found = run_live(live_race(), tasks, step)
    stream = WorkloadGenerator(5).generate("mixed", tasks, RATE)
    for name in NAMES:
        source = LiveSource(PresetTasks(), 5, RATE)
        batch = source.until(np.inf, tasks, 0)
        assert batch is not None
        assert batch.tasks.arrival_time == pytest.approx(stream.arrival_time, rel=1e-12)
        outcomes = Race(batch.tasks, World(physics=Physics(noise=0.1)), seed=3).run(create_scheduler(name, 1))
        assert len(found[name]) == tasks
        assert [found[name][i][0] for i in range(tasks)] == outcomes.finish_time.tolist()
        assert [found[name][i][1] for i in range(tasks)] == outcomes.energy.tolist()


def test_finished_tasks_are_forgotten() -> None:
    race = live_race(("greedy", "oracle"))
    run_live(race, 20_000, 5.0)
    assert race.forgotten > 18_000
    for contestant in race.contestants.values():
        assert len(contestant.node.state.tasks) < 6000
        assert len(contestant.node.state.parts) < 12_000


def test_after_forgetting_there_is_room_for_those_that_stay() -> None:
    """Compiled code writes without looking: every task that stays may yet become ready, and be handed over."""
    race = LiveRace({"hybrid_ml": create_scheduler("hybrid_ml", 1)}, World(), seed=3, forget=16)
    source, added = LiveSource(PresetTasks(), 5, RATE), 0
    while added < 400:
        arrived = source.until(race.now + 1.0, 400 - added, added)
        if arrived is not None:
            parents = {int(i): (int(i) - 1,) for i in arrived.tasks.task_id if i > 0 and i % 3 == 0}
            race.add(arrived.tasks, parents)
            added += len(arrived.tasks)
        race.advance(race.now + 1.0)
        state = race.contestants["hybrid_ml"].node.state
        assert min(len(state.ready), len(state.done)) >= state.counters[TASKS]
    assert race.forgotten > 300


def test_a_disturbed_node_gives_the_same_live_and_batch() -> None:
    cluster = ClusterSpec(
        ClusterSpec.default().devices, (Disturbance(20.0, "gpu_1", 0.0), Disturbance(60.0, "gpu_1", 1.0))
    )
    race = live_race(("greedy", "mct"), cluster=cluster, physics=Physics())
    found = run_live(race, 4000, 0.9)
    batch = LiveSource(PresetTasks(), 5, RATE).until(np.inf, 4000, 0)
    assert batch is not None
    for name in ("greedy", "mct"):
        outcomes = Race(batch.tasks, World(cluster), seed=3).run(create_scheduler(name, 1))
        finish = np.array([found[name][i][0] for i in range(4000)])
        assert finish == pytest.approx(outcomes.finish_time, rel=1e-9)


def task_at(race: LiveRace, task_id: int, size: float = 900.0) -> Task:
    return Task(task_id, size, 0.8, 50.0, race.now)


def test_a_submitted_task_is_judged_at_once() -> None:
    race = live_race()
    run_live(race, 300, 1.0)
    race.now = max(c.node.now for c in race.contestants.values())
    placements = race.submit([task_at(race, 999)])[0]
    assert set(placements) == set(NAMES)
    for name, placement in placements.items():
        assert isinstance(placement, Placement)
        assert placement.projected.task_id == 999
        assert placement.projected.response_time >= placement.best_response - 1e-9
        assert placement.explanation.reason
        assert len(placement.seconds) == len(placement.wait) == 5
        if name == "oracle":
            assert placement.projected.response_time == pytest.approx(placement.best_response)
    assert [task.task_id for task in race.drain().finished.tasks] == [999]


def test_a_submitted_task_waits_for_its_parents() -> None:
    race = live_race(("cpu_only", "oracle"))
    race.advance(1.0)
    (big,) = race.submit([task_at(race, 1, 3000.0)])
    (child,) = race.submit([task_at(race, 2)], {2: [1, 77]})
    assert child == {"cpu_only": None, "oracle": None}
    race.add(TaskBatch.from_tasks([Task(3, 10.0, 0.5, 1.0, race.now)]))
    finished = race.drain().finished
    assert [task.task_id for task in finished.tasks] == [1, 2, 3]
    for name, outcomes in finished.outcomes.items():
        placement = big[name]
        assert isinstance(placement, Placement)
        assert outcomes[0].finish_time == pytest.approx(placement.projected.finish_time)
        assert min(part.start for part in outcomes[1].parts) >= outcomes[0].finish_time - 1e-12


def test_the_rate_can_change_in_the_middle_of_a_gap() -> None:
    source = LiveSource(PresetTasks(), 1, 0.5)
    first = source.next_arrival()
    source.change_rate(5.0, first / 2)
    assert source.next_arrival() == pytest.approx(first / 2 + first / 20)


def test_busy_seconds_are_what_the_parts_say_also_of_tasks_that_are_forgotten() -> None:
    race = live_race(("cpu_only", "oracle"), physics=Physics())
    run_live(race, 4000, 5.0)
    assert race.forgotten > 2000
    batch = LiveSource(PresetTasks(), 5, RATE).until(np.inf, 4000, 0)
    assert batch is not None
    for name, busy in race.busy_seconds().items():
        outcomes = Race(batch.tasks).run(create_scheduler(name, 1))
        parts = np.bincount(outcomes.part_device, outcomes.part_end - outcomes.part_start, minlength=5)
        assert busy == pytest.approx(parts)


class Fragile(Scheduler):
    """Fails at its third decision."""

    def __init__(self, how: str = "raises") -> None:
        self.how = how

    def decide(self, task: Task, view: ClusterView) -> Decision:
        if view.number < 2:
            return Decision.whole(0)
        if self.how == "raises":
            raise ZeroDivisionError("third")
        answers: dict[str, Any] = {
            "nothing": None,
            "nonsense": Decision((Part("gpu", 1.0, 0.0),)),  # type: ignore[arg-type]
            "nan": Decision.whole(0, float("nan")),
            "unknown device": Decision.whole(99),
        }
        found: Decision = answers[self.how]
        return found


@pytest.mark.parametrize("how", ["raises", "nothing", "nonsense", "nan", "unknown device"])
def test_a_scheduler_that_fails_is_taken_out_and_the_race_goes_on(how: str) -> None:
    race = LiveRace({"fragile": Fragile(how), "mct": create_scheduler("mct")}, World())
    found = run_live(race, 50, 1.0)
    assert set(race.out) == {"fragile"}
    assert "Fragile" in race.out["fragile"]
    assert sorted(found["fragile"]) == sorted(found["mct"]) == list(range(50)), "every task has a row of both"


def test_what_a_failed_scheduler_leaves_is_failed_with_the_reason() -> None:
    race = LiveRace({"fragile": Fragile(), "mct": create_scheduler("mct")}, World())
    race.add(TaskBatch.from_tasks([Task(i, 900.0, 0.5, 10.0, float(i)) for i in range(5)]))
    finished = race.drain().finished
    outcomes = finished.outcomes["fragile"]
    reasons = finished.reasons["fragile"]
    assert [outcome.failed for outcome in outcomes] == [outcome.task_id in reasons for outcome in outcomes]
    assert sum(outcome.failed for outcome in outcomes) >= 3
    assert all("ZeroDivisionError('third')" in reason for reason in reasons.values())
    assert not any(outcome.failed for outcome in finished.outcomes["mct"])
    assert finished.reasons["mct"] == {}


def test_giving_up_fails_what_is_open_and_leaves_idle_devices() -> None:
    race = live_race(("cpu_only", "mct"), physics=Physics())
    race.add(TaskBatch.from_tasks([Task(i, 4000.0, 0.5, 10.0, 0.1 * i) for i in range(20)]))
    advance = race.advance(10.0)
    assert len(advance.by_scheduler["mct"]) > len(advance.by_scheduler["cpu_only"]), "each goes on by itself"
    failed = race.give_up("cpu_only", "too slow")
    assert failed == 20 - len(advance.by_scheduler["cpu_only"])
    assert race.unfinished()["cpu_only"] == 0
    later = race.submit([Task(99, 500.0, 0.5, 10.0, race.now)])[0]["cpu_only"]
    assert isinstance(later, Placement)
    assert later.projected.wait_time == 0.0
    finished = race.drain().finished
    assert {task.task_id for task in finished.tasks} == {*range(20), 99} - {
        task.task_id for task in advance.finished.tasks
    }
    assert set(finished.reasons["cpu_only"].values()) == {"too slow"}
    lost = [part for outcome in finished.outcomes["cpu_only"] for part in outcome.parts if part.lost]
    assert all(part.end <= 10.0 for part in lost)


def test_one_endless_task_holds_nobody_else_up() -> None:
    race = live_race(("cpu_only", "mct"), physics=Physics())
    race.submit([Task(10**6, 1e8, 0.5, 0.0, 0.0)])
    race.add(TaskBatch.from_tasks([Task(i, 500.0, 0.5, 10.0, 0.1 * i) for i in range(500)]))
    advance = race.advance(100.0)
    assert len(advance.by_scheduler["mct"]) == 500
    assert len(advance.by_scheduler["cpu_only"]) == len(advance.finished) == 0
    assert race.stuck("cpu_only", 3600.0) == 501
    assert race.stuck("mct", 3600.0) == 1
    race.give_up("cpu_only", "too slow")
    assert len(race.advance(101.0).finished) == 500


def test_finished_tasks_behind_an_endless_one_are_forgotten() -> None:
    race = live_race(("mct", "oracle"), physics=Physics())
    race.submit([Task(10**6, 1e8, 0.5, 0.0, 0.0)])
    run_live(race, 6000, 5.0)
    assert race.forgotten > 4000
