"""A race of real work: who has his turn when, on lanes of known times by a clock that jumps.

All times are multiples of a power of 2, so that their sums are exact and a clock that jumps arrives where it is to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from simulated_lanes import SimulatedLanes, TimedWork

from hybrid_scheduler.engine.live_data import Advance, Waits
from hybrid_scheduler.hardware.nodes.lanes import Ending, LaneChange, Work
from hybrid_scheduler.hardware.nodes.measured_times import MeasuredTimes
from hybrid_scheduler.hardware.nodes.real_node import LostLaneError
from hybrid_scheduler.live.machine_race import ROUND_TASKS, MachineRace
from hybrid_scheduler.model import ClusterView, Decision, Task
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler

CLUSTER = ClusterSpec((Device("cpu_0", "cpu"), Device("cpu_1", "cpu")))
NAMES = ("round_robin", "sjf", "fcfs")


class EverySecond:
    """A stream of one task a second, as a run hands them out."""

    def __init__(self, gap: float = 1.0) -> None:
        self.gap, self._next, self._last = gap, 0, 0.0
        self.race: MachineRace

    def next_arrival(self) -> float:
        return self._last + self.gap

    def take(self, until: float, most: int) -> TaskBatch | None:
        tasks: list[Task] = []
        while self.next_arrival() <= until and len(tasks) < most:
            self._last += self.gap
            tasks.append(Task(self._next, 900.0, 0.5, 10.0, self._last, kind="matmul"))
            self._next += 1
        batch = TaskBatch.from_tasks(tasks)
        if not tasks:
            return None
        self.race.add(batch)
        return batch

    def stand_still(self, until: float) -> None:
        self._last = until


def raced(
    schedulers: dict[str, Scheduler] | None = None,
    lanes: SimulatedLanes | None = None,
    seconds: Sequence[float] = (0.5, 0.75),
    said: list[str] | None = None,
    ready: Callable[[Sequence[Work]], Work] | None = None,
) -> MachineRace:
    lines: list[str] = [] if said is None else said
    return MachineRace(
        schedulers or {name: create_scheduler(name, 1) for name in NAMES},
        lanes or SimulatedLanes(CLUSTER),
        World(CLUSTER),
        times=lambda shared: MeasuredTimes(shared.hardware),
        work=lambda task: TimedWork(task.task_id, (0.0, 0.0), tuple(seconds), divisible=False),
        ready=ready,
        log=lambda level, line: lines.append(f"{level}: {line}"),
    )


def on(race: MachineRace, gap: float = 1.0) -> EverySecond:
    stream = EverySecond(gap)
    stream.race = race
    return stream


def rounds(race: MachineRace, stream: EverySecond, count: int, most: int = 5000) -> list[Advance]:
    """Go on until so many rounds are over for everybody; those advances in which they were."""
    over: list[Advance] = []
    for _ in range(most):
        advance = race.go_on(stream, 64)
        if len(advance.finished):
            over.append(advance)
            if len(over) == count:
                return over
    raise AssertionError(f"{len(over)} of {count} rounds are over after {most} steps")


def turns(race: MachineRace, stream: EverySecond, count: int) -> list[str]:
    """Whose turns came one after the other."""
    seen: list[str] = []
    before = None
    for _ in range(5000):
        race.go_on(stream, 64)
        if race.turn is not None and race.turn != before:
            seen.append(race.turn)
            if len(seen) == count:
                return seen
        before = race.turn
    raise AssertionError(seen)


def test_everybody_runs_the_same_tasks_and_they_come_out_together() -> None:
    race = raced()
    stream = on(race)
    over = rounds(race, stream, 3)
    numbers = [task.task_id for advance in over for task in advance.finished.tasks]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 15
    for advance in over:
        finished = advance.finished
        assert finished.labels == []
        assert np.isnan(finished.least_seconds).all()
        for name in NAMES:
            outcomes = finished.outcomes[name]
            assert outcomes.task_id.tolist() == [task.task_id for task in finished.tasks]
            assert outcomes.arrival_time.tolist() == [task.arrival_time for task in finished.tasks]
            assert not outcomes.failed.any()
            assert (outcomes.part_start >= outcomes.arrival_time[outcomes.part_task]).all()
            ran = outcomes.part_end - outcomes.part_start
            assert ran == pytest.approx(np.array([0.5, 0.75])[outcomes.part_device])


def test_rounds_do_not_overlap_and_the_time_of_the_race_only_grows() -> None:
    race = raced(seconds=(1.5, 2.5))  # more than it can do: a round lasts longer than its tasks take to arrive
    stream, times, end = on(race), [], 0.0
    for _ in range(3):
        (advance,) = rounds(race, stream, 1)
        first = advance.finished.tasks[0].arrival_time
        assert first == pytest.approx(end + stream.gap), "the stream stood still until the slowest was done"
        end = max(float(batch.finish_time.max()) for batch in advance.finished.outcomes.values())
        assert race.now == pytest.approx(end)
    for _ in range(50):
        race.go_on(stream, 64)
        times.append(race.now)
    assert times == sorted(times)


def test_the_order_of_turns_rotates() -> None:
    race = raced()
    order = turns(race, on(race), 9)
    first, second, third = order[:3], order[3:6], order[6:]
    assert sorted(first) == sorted(NAMES)
    assert second == [*first[1:], first[0]]
    assert third == [*second[1:], second[0]]


def test_the_clocks_of_the_others_stand_still() -> None:
    race = raced()
    stream = on(race)
    rounds(race, stream, 1)
    whose = turns(race, stream, 1)[0]
    others = {name: race.clock_of(name) for name in NAMES if name != whose}
    before, busy = race.raced_seconds(), race.busy_seconds()
    race.go_on(stream, 64)
    assert {name: race.clock_of(name) for name in others} == others
    after = race.raced_seconds()
    assert after[whose] > before[whose]
    assert all(after[name] == before[name] for name in others)
    assert all((race.busy_seconds()[name] == busy[name]).all() for name in others)


def test_nobody_gains_by_what_was_measured_for_another() -> None:
    known: list[MeasuredTimes] = []

    def times(shared: Any) -> MeasuredTimes:
        known.append(MeasuredTimes(shared.hardware))
        return known[-1]

    race = MachineRace(
        {name: create_scheduler(name, 1) for name in NAMES},
        SimulatedLanes(CLUSTER),
        World(CLUSTER),
        times=times,
        work=lambda task: TimedWork(task.task_id, (0.0, 0.0), (0.5, 0.75)),
        log=lambda level, line: None,
    )
    stream = on(race)
    turns(race, stream, 2)  # the first has had its turn
    assert [bool(each.rows()) for each in known].count(True) >= 1
    assert [bool(each.rows()) for each in known].count(False) >= 1


def test_a_turn_comes_to_its_end_before_the_race_stands_still() -> None:
    race = raced()
    stream = on(race)
    rests = [race.at_rest]
    turns(race, stream, 1)
    rests.append(race.at_rest)
    while race.turn is not None:
        race.go_on(stream, 64)
    halted = race.now
    rests.append(race.at_rest)
    assert rests == [True, False, True]
    turns(race, stream, 1)
    assert race.now >= halted


def test_busy_seconds_are_what_the_lanes_worked() -> None:
    race = raced()
    stream = on(race)
    worked = {name: np.zeros(2) for name in NAMES}
    for advance in rounds(race, stream, 2):
        for name, batch in advance.finished.outcomes.items():
            np.add.at(worked[name], batch.part_device, batch.part_end - batch.part_start)
    for name in NAMES:
        assert race.busy_seconds()[name] == pytest.approx(worked[name])
        assert race.busy_seconds()[name].sum() <= 2 * race.raced_seconds()[name] + 1e-9


class Fragile(Scheduler):
    """Fails at its third task."""

    def __init__(self) -> None:
        self.left = 2

    def decide(self, task: Task, view: ClusterView) -> Decision:
        self.left -= 1
        if self.left < 0:
            raise ZeroDivisionError
        return Decision.whole(0)

    def clone(self) -> Fragile:
        return Fragile()


def test_who_fails_is_taken_out_and_the_race_goes_on() -> None:
    race = raced({"fragile": Fragile(), "fcfs": create_scheduler("fcfs")})
    stream = on(race)
    first, second = rounds(race, stream, 2)
    assert "ZeroDivisionError" in race.out["fragile"]
    assert not first.finished.outcomes["fcfs"].failed.any()
    assert not second.finished.outcomes["fcfs"].failed.any()
    failed = first.finished.outcomes["fragile"].failed
    assert 0 < failed.sum() < len(failed), "what it had done counts"
    assert set(first.finished.reasons["fragile"]) == {
        task.task_id for task, lost in zip(first.finished.tasks, failed, strict=True) if lost
    }
    assert second.finished.outcomes["fragile"].failed.all()
    assert race.unfinished()["fragile"] == 0


def test_who_is_taken_out_from_outside_fails_what_is_left() -> None:
    race = raced()
    stream = on(race)
    whose = turns(race, stream, 1)[0]
    race.take_out(whose, "it was told to go")
    other = next(name for name in NAMES if name != whose)
    race.take_out(other, "this one, too, before its turn")
    (advance,) = rounds(race, stream, 1)
    assert advance.finished.outcomes[other].failed.all()
    last = next(name for name in NAMES if name not in race.out)
    assert not advance.finished.outcomes[last].failed.any()
    assert race.give_up(last, "nothing is left to give up") == 0


def test_tasks_of_users_are_of_the_next_round() -> None:
    race = raced()
    stream = on(race)
    turns(race, stream, 1)
    own = Task(10_000, 100.0, 0.5, 1.0, race.now, kind="sort")
    (answer,) = race.submit([own], {10_000: (3,)})
    assert set(answer) == set(NAMES)
    waits = answer["sjf"]
    assert isinstance(waits, Waits)
    assert "next round" in waits.reason
    first, second = rounds(race, stream, 2)
    assert 10_000 not in [task.task_id for task in first.finished.tasks]
    assert second.finished.tasks[0].task_id == 10_000
    assert second.finished.tasks[0].arrival_time == pytest.approx(
        max(float(batch.finish_time.max()) for batch in first.finished.outcomes.values())
    )


def test_parents_of_the_same_round_come_first() -> None:
    race = raced()
    stream = on(race, gap=1000.0)
    race.submit([Task(number, 100.0, 0.5, 1.0, kind="sort") for number in (1, 2)], {2: (1,)})
    (advance,) = rounds(race, stream, 1)
    for outcomes in advance.finished.outcomes.values():
        parent, child = (outcomes[position] for position in (0, 1))
        assert child.parts[0].start >= parent.finish_time


def test_a_lane_that_is_lost_is_back_before_the_next_turn() -> None:
    said: list[str] = []
    died: list[tuple[int, int]] = []

    def ending(task_id: int, lane: int) -> Ending:
        if not died and task_id == 2 and lane == 1:
            died.append((task_id, lane))
            return Ending.DIED
        return Ending.DONE

    race = raced(lanes=SimulatedLanes(CLUSTER, ending=ending, restart=3.0), seconds=(2.0, 2.0), said=said)
    (advance,) = rounds(race, on(race), 1)
    assert died
    assert said == ["warning: cpu_1 was lost and is back"]
    for outcomes in advance.finished.outcomes.values():
        assert not outcomes.failed.any(), "the task was decided again"


def test_without_a_lane_the_race_cannot_go_on() -> None:
    said: list[str] = []
    lanes = SimulatedLanes(CLUSTER)
    for lane in (0, 1):
        lanes.change(2.0, LaneChange(lane, up=False, final=True))
    race = raced(lanes=lanes, said=said)
    with pytest.raises(LostLaneError, match="cpu_0, cpu_1"):
        rounds(race, on(race), 3)
    assert said == ["error: cpu_0 is lost and does not come back", "error: cpu_1 is lost and does not come back"]


def test_every_lane_gets_ready_for_a_round_before_its_clock_goes() -> None:
    lanes = SimulatedLanes(CLUSTER)
    race = raced(lanes=lanes, ready=lambda works: TimedWork(-len(works), (7.0, 7.0), (0.0, 0.0)))
    stream = on(race)
    (advance,) = rounds(race, stream, 1)
    begun = [(lane, job.work.task_id) for lane, job in lanes.jobs[:2] if isinstance(job.work, TimedWork)]
    assert begun == [(0, -len(advance.finished)), (1, -len(advance.finished))]
    assert race.now < 7.0 + 6.0 < lanes.clock()


def test_a_scheduler_that_is_replaced_ends_its_turn_first() -> None:
    race = raced()
    stream = on(race)
    whose = turns(race, stream, 1)[0]
    renewed = create_scheduler(whose, 2)
    decided = race.contestants[whose].node.decisions
    race.replace(whose, renewed)
    assert race.contestants[whose].scheduler is not renewed
    rounds(race, stream, 2)
    assert race.contestants[whose].scheduler is renewed
    assert race.contestants[whose].node.decisions > decided
    assert race.raced_seconds()[whose] > 10.0, "two rounds of five seconds, the one before it was replaced included"


def test_a_round_is_not_too_many_tasks_and_passes_over_the_time_before_the_first() -> None:
    race = raced(seconds=(0.0009765625, 0.0009765625))
    stream = on(race, gap=0.0078125)
    (advance,) = rounds(race, stream, 1)
    assert len(advance.finished) == ROUND_TASKS
    rare = raced()
    stream = on(rare, gap=10_000.0)
    (advance,) = rounds(rare, stream, 1)
    assert len(advance.finished) == 1
    assert rare.raced_seconds()["sjf"] < 2.0


def test_what_has_begun_is_finished_at_the_end_as_far_as_there_is_time() -> None:
    race = raced()
    stream = on(race)
    turns(race, stream, 1)
    tasks = [len(advance.finished) for advance in race.finish(math.inf)]
    assert sum(tasks) == 5 + 1
    assert set(race.unfinished().values()) == {0}


def test_nobody_may_need_the_truth_and_the_lanes_must_be_those_of_the_world() -> None:
    with pytest.raises(InvalidInputError, match="nobody knows"):
        raced({"oracle": create_scheduler("oracle")})
    with pytest.raises(InvalidInputError, match="cpu_0"):
        raced(lanes=SimulatedLanes(ClusterSpec((Device("cpu_0", "cpu"),))))
