"""Tasks that wait: when a scheduler is asked, what it may start, and what becomes of one that starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.cluster.state import (
    CLOCKS,
    COUNTERS,
    DECISIONS,
    HEAP,
    NEWEST,
    OLDEST,
    ROOM,
    ROOM_LOGS,
    TASK,
    WAITING_TASKS,
)
from hybrid_scheduler.cluster.waiting import enter, leave, new_ages, oldest_first, pick
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import Decision, Task, TaskBatch
from hybrid_scheduler.model.errors import IllegalDecisionError, SchedulerError
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace
from hybrid_scheduler.workloads import WorkloadGenerator

Answer = Iterable[tuple[Task, Decision]]


class Asked(Scheduler):
    """Answers by a function, and keeps what it was asked."""

    def __init__(self, answer: Callable[[WaitingRoom, ClusterView], Answer]) -> None:
        self.answer = answer
        self.moments: list[tuple[float, list[int]]] = []

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Answer:
        self.moments.append((view.now, [task.task_id for task in waiting]))
        assert view.waiting == len(waiting)
        return self.answer(waiting, view)


class AtOnce(Scheduler):
    """Everything on the CPU, at once."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(0)


def cpu_when_idle(waiting: WaitingRoom, view: ClusterView) -> Answer:
    return [(waiting[0], Decision.whole(0))] if view.idle[0] else []


def everything(waiting: WaitingRoom, view: ClusterView) -> Answer:
    return [(task, Decision.whole(0)) for task in waiting]


def tasks(*arrivals: float, sizes: tuple[float, ...] = ()) -> TaskBatch:
    rows = zip(arrivals, sizes or [1000.0] * len(arrivals), strict=True)
    return TaskBatch.from_tasks([Task(i, size, 0.5, 10.0, at) for i, (at, size) in enumerate(rows)])


def test_it_is_asked_when_a_task_is_ready_and_when_a_part_has_ended() -> None:
    asked = Asked(cpu_when_idle)
    CheckedRace(tasks(0.0, 0.25, 5.0)).run(asked)  # each takes a second on the CPU
    assert asked.moments == [(0.0, [0]), (0.25, [1]), (1.0, [1]), (5.0, [2])]


def test_everything_that_happens_at_one_moment_has_happened_before_it_is_asked() -> None:
    asked = Asked(cpu_when_idle)
    CheckedRace(tasks(0.0, 0.0, 0.0, 1.0)).run(asked)
    assert asked.moments[0] == (0.0, [0, 1, 2])
    assert (1.0, [1, 2, 3]) in asked.moments
    assert (1.0, [1, 2]) not in asked.moments


def test_it_is_asked_again_until_it_starts_nothing() -> None:
    asked = Asked(
        lambda waiting, view: [(waiting[0], Decision.whole(int(np.argmax(view.idle))))] if view.idle.any() else []
    )
    CheckedRace(tasks(0.0, 0.0, 0.0)).run(asked)
    assert [waiting for _, waiting in asked.moments] == [[0, 1, 2], [1, 2], [2]]


def test_a_decision_may_queue_on_a_busy_device() -> None:
    outcomes = CheckedRace(tasks(0.0, 0.0, 0.3)).run(Asked(everything))
    assert outcomes.finish_time.tolist() == [1.0, 2.0, 3.0]
    assert outcomes.ready_time.tolist() == [0.0, 0.0, 0.3]


def newest_when_idle(waiting: WaitingRoom, view: ClusterView) -> Answer:
    return [(waiting[-1], Decision.whole(0))] if view.idle[0] else []


def test_a_task_is_overtaken_by_every_decision_on_one_that_was_ready_after_it() -> None:
    """A second each on the CPU, the newest first: 0, then 2 (of 1 and 2), then 4 (of 1, 3 and 4), 3 and 1."""
    outcomes = CheckedRace(tasks(0.0, 0.1, 0.2, 1.1, 1.2)).run(Asked(newest_when_idle))
    assert outcomes.decided_time.tolist() == [0.0, 4.0, 1.0, 3.0, 2.0]
    assert outcomes.overtaken.tolist() == [0, 3, 0, 1, 0]
    assert [outcomes[1].overtaken, outcomes[1].decided_time] == [3, 4.0]
    kept = outcomes.select(np.array([False, True, False, True, False]))
    assert (kept.overtaken.tolist(), kept.decided_time.tolist()) == ([3, 1], [4.0, 3.0])


def test_overtaking_is_counted_however_many_wait() -> None:
    """Thousands at once, then a trickle: the judge counts anew, by another way."""
    stream = WorkloadGenerator(3).generate("mixed", 6000, 400.0)
    outcomes = CheckedRace(stream).run(create_scheduler("sjf"))
    waiting = np.searchsorted(np.sort(outcomes.ready_time), outcomes.decided_time) - np.arange(len(outcomes))
    assert waiting.max() > 2000
    assert outcomes.overtaken.max() > 1000


def test_of_tasks_that_are_ready_together_the_higher_number_overtakes() -> None:
    outcomes = CheckedRace(tasks(0.0, 0.0, 0.0)).run(Asked(newest_when_idle))
    assert outcomes.overtaken.tolist() == [2, 1, 0]


def test_a_task_that_starts_over_keeps_what_it_was_overtaken_before() -> None:
    """The CPU goes away under task 0, which 1 had overtaken; it waits again, and 2 is first."""
    node = ClusterSpec(ClusterSpec.default(1).devices, (Disturbance(1.5, "cpu_0", 0.0), Disturbance(2.0, "cpu_0", 1.0)))
    outcomes = CheckedRace(tasks(0.0, 0.0, 2.0), World(node)).run(Asked(newest_when_idle))
    assert outcomes.decided_time.tolist() == [3.0, 0.0, 2.0]
    assert outcomes.overtaken.tolist() == [2, 0, 0]


def test_everything_in_order_of_arrival_is_deciding_at_once() -> None:
    stream = tasks(*np.arange(0.0, 20.0, 0.37).tolist())
    race = CheckedRace(stream)
    waiting, at_once = race.run(Asked(everything)), race.run(AtOnce())
    assert list(waiting) == list(at_once)
    assert (at_once.decided_time == at_once.ready_time).all()
    assert not at_once.overtaken.any()


def test_it_is_asked_when_a_device_has_gone_and_when_it_has_come_back() -> None:
    node = ClusterSpec(ClusterSpec.default(1).devices, (Disturbance(0.5, "cpu_0", 0.0), Disturbance(4.0, "cpu_0", 1.0)))
    asked = Asked(lambda waiting, view: cpu_when_idle(waiting, view))
    outcomes = CheckedRace(tasks(0.0, 0.2), World(node)).run(asked)
    assert [now for now, _ in asked.moments] == [0.0, 0.2, 0.5, 4.0, 4.0, 5.0]
    assert asked.moments[2][1] == [1, 0], "the one that started over has waited less"
    assert outcomes.finish_time.tolist() == [6.0, 5.0]
    assert outcomes.ready_time.tolist() == [0.5, 0.2]
    assert outcomes.decided_time.tolist() == [5.0, 4.0]


def test_without_a_device_that_comes_back_what_waits_fails() -> None:
    node = ClusterSpec((ClusterSpec.default(1).devices[0],), (Disturbance(0.5, "cpu_0", 0.0),))
    outcomes = CheckedRace(tasks(0.0, 0.2, 3.0), World(node)).run(Asked(cpu_when_idle))
    assert outcomes.failed.all()
    assert not outcomes.overtaken.any()
    assert outcomes.finish_time.tolist() == [0.5, 0.5, 3.0]
    assert outcomes.decided_time.tolist() == [0.5, 0.5, 3.0], "who was not decided, failed then"


def test_children_wait_until_their_parents_have_finished() -> None:
    batch = TaskBatch.from_tasks(
        [
            Task(0, 1000.0, 0.5, 10.0, 0.0),
            Task(1, 1000.0, 0.5, 10.0, 0.1, dependencies=(0,)),
            Task(2, 1000.0, 0.5, 10.0, 0.2),
        ]
    )
    asked = Asked(cpu_when_idle)
    CheckedRace(batch).run(asked)
    assert asked.moments == [(0.0, [0]), (0.2, [2]), (1.0, [2, 1]), (1.0, [1]), (2.0, [1])]


def test_a_scheduler_may_ask_how_often_a_task_was_overtaken() -> None:
    seen: list[list[int]] = []

    def newest(waiting: WaitingRoom, view: ClusterView) -> Answer:
        seen.append([waiting.overtaken(task) for task in waiting])
        return newest_when_idle(waiting, view)

    CheckedRace(tasks(0.0, 0.1, 0.2, 1.1)).run(Asked(newest))
    assert seen == [[0], [0], [0, 0], [0, 0], [1], [1, 0], [1, 0], [2], [2]]


def test_isolated_tasks_wait_for_nobody() -> None:
    asked = Asked(cpu_when_idle)
    CheckedRace(tasks(0.0, 0.0, 0.0), isolated=True).run(asked)
    assert asked.moments == [(0.0, [0]), (1.0, [1]), (2.0, [2])]


def test_starting_nothing_for_ever_is_an_error_that_names_the_scheduler() -> None:
    with pytest.raises(SchedulerError, match="Asked starts none of 2 waiting tasks, although every device is idle"):
        Race(tasks(0.0, 1.0)).run(Asked(lambda waiting, view: []))


@pytest.mark.parametrize(
    "answer",
    [
        lambda waiting, view: [(Task(99, 1.0, 0.5, 1.0), Decision.whole(0))],
        lambda waiting, view: [(waiting[0], Decision.whole(0))] * 2,
        lambda waiting, view: [(0, Decision.whole(0))],
    ],
    ids=["unknown", "twice", "no task"],
)
def test_what_does_not_wait_cannot_be_started(answer: Callable[[WaitingRoom, ClusterView], Answer]) -> None:
    with pytest.raises(IllegalDecisionError, match=r"Asked: .* is started, but it does not wait to be"):
        Race(tasks(0.0)).run(Asked(answer))


def test_an_illegal_decision_is_refused_as_ever() -> None:
    with pytest.raises(IllegalDecisionError, match=r"task 0 .* names a device that does not exist"):
        Race(tasks(0.0)).run(Asked(lambda waiting, view: [(waiting[0], Decision.whole(9))]))


def test_a_scheduler_must_answer_something() -> None:
    class Silent(Scheduler):
        """Says nothing."""

    with pytest.raises(SchedulerError, match="Silent implements neither decide nor dispatch"):
        Race(tasks(0.0)).run(Silent())


def test_times_of_is_for_those_who_declare_it() -> None:
    def curious(waiting: WaitingRoom, view: ClusterView) -> Answer:
        return [(waiting[0], Decision.whole(int(view.times_of(waiting[0]).sum(axis=0).argmin())))]

    with pytest.raises(SchedulerError, match="declare uses_estimates"):
        Race(tasks(0.0)).run(Asked(curious))
    declared = type("Declared", (Asked,), {"uses_estimates": True})(curious)
    assert Race(tasks(0.0)).run(declared)[0].parts[0].device != "cpu_0"


def test_a_planner_sees_the_whole_batch_before_the_first_decision() -> None:
    class Planner(AtOnce):
        """Longest first by plan."""

        uses_estimates = True

        def __init__(self) -> None:
            self.planned: dict[int, float] = {}

        def prepare(self, tasks: Iterable[Task], view: ClusterView) -> None:
            self.planned = {task.task_id: float(view.times_of(task).sum(axis=0).min()) for task in tasks}

        def decide(self, task: Task, view: ClusterView) -> Decision:
            assert set(self.planned) == {0, 1, 2}
            return super().decide(task, view)

    planner = Planner()
    Race(tasks(0.0, 1.0, 2.0, sizes=(100.0, 1000.0, 500.0))).run(planner)
    assert planner.planned[0] < planner.planned[2] < planner.planned[1]


def test_a_planner_is_shown_no_estimates_it_did_not_ask_for() -> None:
    class Blind(AtOnce):
        """Looks at what it is shown beforehand."""

        def prepare(self, tasks: Iterable[Task], view: ClusterView) -> None:
            self.planned = [(task.duration_estimate, view.number, view.times_by_id) for task in tasks]

    blind, batch = Blind(), TaskBatch.from_tasks([Task(0, 1000.0, 0.5, 10.0, 0.0, duration_estimate=77.0)])
    Race(batch).run(blind)
    assert blind.planned == [(batch[0].without_estimate().duration_estimate, 0, None)]
    assert blind.planned[0][0] != 77.0


@settings(max_examples=100)
@given(st.data())
def test_the_room_keeps_its_orders(data: st.DataObject) -> None:
    """Against a plain list: the shortest by (key, id), the oldest by entering, the overtaken, whoever leaves."""
    n = 40  # of which more than 32 need the tree of sums, with space for 80 tasks
    records, room, heap = np.zeros(n, dtype=TASK), np.zeros(n, dtype=ROOM), np.zeros(n, dtype=HEAP)
    order: list[int] = data.draw(st.permutations(range(n)))
    records["id"] = order
    counters, clocks = np.zeros(COUNTERS, dtype=np.int64), np.zeros(CLOCKS)
    counters[[OLDEST, NEWEST]] = -1
    ages, overtaken = new_ages(room, counters), [0] * n
    keys: list[float] = data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.5, 8.0]), min_size=n, max_size=n))
    inside: list[int] = []
    outside = list(range(n))
    most_at_once = data.draw(st.sampled_from([1, 3]))  # with 1 the room fills up
    for _ in range(3 * n):  # who has left may come back, so that the places by age are used up
        if outside:
            task = outside.pop(0)
            enter(records, room, heap, ages, counters, clocks, task, keys[task])
            inside.append(task)
        for _ in range(data.draw(st.integers(0, min(most_at_once, len(inside))))):
            gone: int = data.draw(st.sampled_from(inside))
            for older in inside[: inside.index(gone)]:
                overtaken[older] += 1
            leave(room, heap, ages, counters, clocks, gone)
            counters[DECISIONS] += 1
            inside.remove(gone)
            outside.append(gone)
            assert room[gone]["overtaken"] == overtaken[gone]
        assert counters[WAITING_TASKS] == len(inside)
        shortest, oldest, sampled = (data.draw(st.integers(0, most)) for most in (9, 4, 3))
        found = np.zeros(2 * shortest + oldest + sampled + 1, dtype=np.int64)
        count = pick(room, heap, counters, shortest, oldest, sampled, found)
        by_key = sorted(inside, key=lambda t: (keys[t], records[t]["id"]))[:shortest]
        told = by_key + [t for t in inside[:oldest] if t not in by_key]
        assert found[: len(told)].tolist() == told
        rest = found[len(told) : count].tolist()
        assert len(set(rest)) == len(rest) <= sampled
        assert set(rest) <= set(inside) - set(told)
        assert clocks[ROOM_LOGS] == pytest.approx(np.log([keys[t] for t in inside]).sum(), abs=1e-9)
        everybody = np.zeros(n, dtype=np.int64)
        assert everybody[: oldest_first(room, counters, everybody)].tolist() == inside
