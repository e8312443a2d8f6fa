"""The live race of schedulers that let tasks wait: as the batch race, whatever the steps; what it says meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.live_data import Placement, Waits
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import Decision, OutcomeBatch, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

NAMES = ("sjf", "fcfs")
BROKEN = ClusterSpec(ClusterSpec.default().devices, (Disturbance(20.0, "gpu_1", 0.0), Disturbance(60.0, "gpu_1", 1.0)))
WORLDS = {"noise": World(physics=Physics(noise=0.1)), "disturbed": World(BROKEN)}


class Idler(Scheduler):
    """Starts nothing."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        return ()


class NewestFirst(Scheduler):
    """Starts the newest on the first idle device."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        return [(waiting[-1], Decision.whole(int(np.argmax(view.idle))))] if view.idle.any() else []


def rows(tasks: TaskBatch, chosen: slice) -> TaskBatch:
    return TaskBatch.from_columns(
        tasks.size[chosen],
        tasks.compute_intensity[chosen],
        tasks.memory_required[chosen],
        task_id=tasks.task_id[chosen],
        arrival_time=tasks.arrival_time[chosen],
    )


def waits(outcomes: OutcomeBatch) -> dict[int, tuple[float, float, int]]:
    columns = outcomes.finish_time.tolist(), outcomes.decided_time.tolist(), outcomes.overtaken.tolist()
    return dict(zip(outcomes.task_id.tolist(), zip(*columns, strict=True), strict=True))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("step", [0.7, 13.0])
def test_live_is_batch(world: str, step: float) -> None:
    """6000 tasks at a load where hundreds wait; finished ones are forgotten on the way."""
    stream = WorkloadGenerator(5).generate("mixed", 6000, 40.0)
    race = LiveRace({name: create_scheduler(name) for name in NAMES}, WORLDS[world], seed=3)
    found: dict[str, dict[int, tuple[float, float, int]]] = {name: {} for name in NAMES}
    fed, now, waited = 0, 0.0, 0
    while fed < len(stream):
        now += step
        upto = int(np.searchsorted(stream.arrival_time, now, side="right"))
        if upto > fed:
            race.add(rows(stream, slice(fed, upto)))
            fed = upto
        for name, outcomes in race.advance(now).by_scheduler.items():
            found[name].update(waits(outcomes))
        waited = max(waited, *race.waiting_tasks().values())
    for name, outcomes in race.drain().by_scheduler.items():
        found[name].update(waits(outcomes))
    assert waited > 100
    assert race.forgotten > 1000
    for name in NAMES:
        batch = waits(Race(stream, WORLDS[world], seed=3).run(create_scheduler(name)))
        live = np.array([found[name][i] for i in range(len(stream))])
        assert live == pytest.approx(np.array([batch[i] for i in range(len(stream))]), rel=1e-9)
        assert live[:, 2].any() == (name == "sjf")


def test_a_posted_task_that_waits_is_answered_with_its_expected_start() -> None:
    race = LiveRace({"sjf": create_scheduler("sjf"), "fcfs": create_scheduler("fcfs"), "mct": create_scheduler("mct")})
    long = [Task(i, 4000.0, 0.5, 10.0, 0.0) for i in range(20)]
    race.submit(long)
    answers = race.submit([Task(99, 3000.0, 0.5, 10.0, 0.0)])[0]
    assert isinstance(answers["mct"], Placement)
    sooner, later = answers["sjf"], answers["fcfs"]
    assert isinstance(sooner, Waits)
    assert isinstance(later, Waits)
    assert sooner.expected_start is not None
    assert later.expected_start is not None
    assert 0.0 < sooner.expected_start < later.expected_start
    assert race.waiting_tasks() == {"sjf": sooner.waiting, "fcfs": later.waiting, "mct": 0}
    assert race.waiting_seconds()["sjf"] > 1.0
    finished = race.drain().finished
    start = {name: outcomes[20].parts[0].start for name, outcomes in finished.outcomes.items()}
    assert start["sjf"] < start["fcfs"]
    assert start["fcfs"] == pytest.approx(later.expected_start, rel=0.5)


def test_the_waiting_room_says_who_waits_since_when_and_why() -> None:
    race = LiveRace({name: create_scheduler(name) for name in ("sjf", "fcfs", "mct")})
    race.submit([Task(i, 4000.0, 0.5, 10.0, 0.0) for i in range(20)])
    race.advance(0.25)
    race.submit([Task(99, 3000.0, 0.5, 10.0, 0.25, kind="matmul")])
    race.advance(3.0)
    waiting = race.waiting_tasks()
    assert race.waiting_room("mct", 50) == []
    for name in ("sjf", "fcfs"):
        room = race.waiting_room(name, 50)
        assert len(room) == waiting[name] > 3
        assert [each.ready_time for each in room] == sorted(each.ready_time for each in room)
        assert all(each.expected_start is not None and each.expected_start >= race.now for each in room)
        assert race.waiting_room(name, 2) == room[:2]
        assert race.waiting_room(name, 50, room[1].task.task_id) == [room[1]]
        assert "It waits because gpu_" in room[0].reason
        assert "is expected to be busy for another" in room[0].reason
        assert race.waiting_room(name, 50, 0) == [], "it was started at once"
        assert race.waiting_room(name, 50, 12345) == []
    assert 99 not in [each.task.task_id for each in race.waiting_room("sjf", 50)], "it was the shortest"
    assert [each.overtaken for each in race.waiting_room("sjf", 50)] == [1] * waiting["sjf"]
    last = race.waiting_room("fcfs", 50)[-1]
    assert (last.task.task_id, last.task.kind, last.ready_time, last.overtaken) == (99, "matmul", 0.25, 0)


def test_who_cannot_say_what_it_expects_is_taken_out() -> None:
    class Silent(Idler):
        """Has no idea, loudly."""

        def expected_start(self, task: Task, waiting: WaitingRoom, view: ClusterView) -> float | None:
            raise ValueError("no idea")

    race = LiveRace({"silent": Silent()})
    race.add(TaskBatch.from_tasks([Task(0, 1000.0, 0.5, 10.0, 0.0)]))
    race.advance(1.0)
    assert race.waiting_room("silent", 50) == []
    assert "no idea" in race.out["silent"]


def test_who_starts_nothing_is_taken_out_when_nothing_more_comes() -> None:
    race = LiveRace({"idler": Idler(), "mct": create_scheduler("mct")})
    race.submit([Task(0, 1000.0, 0.5, 10.0, 0.0)])
    race.advance(100.0)
    assert race.out == {}, "more may come"
    finished = race.drain().finished
    assert "starts none of 1 waiting tasks" in race.out["idler"]
    assert finished.outcomes["idler"].failed.tolist() == [True]
    assert finished.outcomes["mct"].failed.tolist() == [False]


def test_a_backlog_that_waits_can_be_given_up() -> None:
    race = LiveRace({"idler": Idler()})
    race.submit([Task(i, 1000.0, 0.5, 10.0, 0.0) for i in range(5)])
    race.advance(1.0)
    assert race.give_up("idler", "too slow") == 5
    assert race.waiting_tasks() == {"idler": 0}
    outcomes = race.advance(2.0).finished.outcomes["idler"]
    assert outcomes.failed.tolist() == [True] * 5
    assert outcomes.ready_time.tolist() == [0.0] * 5, "they were ready, and waited until they were given up"
    assert outcomes.decided_time.tolist() == outcomes.finish_time.tolist() == [1.0] * 5


def test_who_is_given_up_was_overtaken_before() -> None:
    """The newest first, on five devices: of eight, 0, 1 and 2 wait when all is given up; then the room is as new."""
    race = LiveRace({"newest": NewestFirst()})
    race.submit([Task(i, 5000.0, 0.5, 10.0, 0.0) for i in range(8)])
    race.give_up("newest", "too slow")
    outcomes = race.advance(1.0).finished.outcomes["newest"]
    assert outcomes.overtaken.tolist() == [5, 5, 5, 4, 3, 2, 1, 0]
    race.submit([Task(10 + i, 100.0, 0.5, 10.0, 0.0) for i in range(8)])
    assert race.drain().finished.outcomes["newest"].overtaken.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
