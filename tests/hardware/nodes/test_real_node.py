"""A real node over lanes of known times does what the simulated node does; and what goes wrong is accounted for."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from simulated_lanes import SimulatedLanes, TimedWork

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.hardware.nodes.lanes import Ending, LaneChange
from hybrid_scheduler.hardware.nodes.measured_times import Measured, MeasuredTimes
from hybrid_scheduler.hardware.nodes.real_node import FailedParentError, HungError, LostLaneError, RealNode
from hybrid_scheduler.hardware.nodes.real_task import RealPart, RealTask
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import IllegalDecisionError, InvalidInputError, SchedulerError
from hybrid_scheduler.model.node import Change
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing.nodes import Situation

WORLD = World(ClusterSpec.default(2))


class ToldTimes:
    """What the cost model says of every task."""

    version = 0

    def __init__(self, race: Race) -> None:
        self._race = race

    def of(self, task: Task) -> FloatArray:
        times: FloatArray = self._race.timed.nominal[self._race.tasks.position_of(task.task_id)]
        return times

    def learn(self, task: Task, lane: int, seconds: float) -> None:
        """Nothing is learned."""


def stream(count: int = 60) -> TaskBatch:
    # Every figure a multiple of 2^-20, so that sums of times are exact whoever adds them.
    drawn = Situation(WORLD).stream(count)
    return TaskBatch.from_tasks(
        Task(task.task_id, task.size, task.compute_intensity, task.memory_required, round(task.arrival_time, 3))
        for task in drawn
    )


def timed(race: Race, tasks: Iterable[Task], **changes: object) -> list[tuple[Task, TimedWork]]:
    realised = race.timed.realised
    rows = [(task, realised[race.tasks.position_of(task.task_id)]) for task in tasks]
    return [(task, TimedWork(task.task_id, row[0].tolist(), row[1].tolist(), **changes)) for task, row in rows]  # type: ignore[arg-type]


def drive(node: RealNode, scheduler: Scheduler, work: list[tuple[Task, TimedWork]]) -> OutcomeBatch:
    for task, todo in work:
        node.add(task, todo)
    driver = Driver(scheduler, node, compiled=False)
    assert driver.run() is Change.OVER
    driver.deliver()
    return node.outcomes()


NAMES = ("round_robin", "greedy", "cpu_only", "gpu_only", "mct", "sjf", "fcfs", "hybrid_ml", "hybrid_queue", "rl_agent")


def alike(name: str) -> Scheduler:
    """Without labels, which nobody knows on a real node, and without samples, which other nodes draw otherwise."""
    wanted = {"use_labels": False, "shown_sampled": 0}
    accepted = create_scheduler(name).parameters()
    return create_scheduler(name, seed=3, **{key: value for key, value in wanted.items() if key in accepted})


@pytest.mark.parametrize(
    ("name", "compiled"), [(name, False) for name in NAMES] + [(name, True) for name in ("sjf", "fcfs", "hybrid_queue")]
)
def test_with_the_same_times_it_does_what_the_simulated_node_does(name: str, compiled: bool) -> None:
    race = Race(stream(), WORLD)
    scheduler, again = alike(name), alike(name)
    expected = race.run(scheduler, compiled=False)
    lanes = SimulatedLanes(WORLD.cluster, WORLD.physics.coexecution_penalty)
    node = RealNode(again, lanes, ToldTimes(race), compiled=compiled)
    found = drive(node, again, timed(race, race.tasks))
    assert (node.asked > 0) == compiled
    assert found.failed.sum() == 0
    same = [
        [(p.device, round(p.share, 9)) for p in a.parts] == [(p.device, round(p.share, 9)) for p in b.parts]
        for a, b in zip(expected, found, strict=True)
    ]
    assert all(same), f"{same.count(False)} of {len(same)} tasks went elsewhere"
    np.testing.assert_allclose(found.finish_time, expected.finish_time, rtol=1e-9)
    np.testing.assert_array_equal(found.overtaken, expected.overtaken)


def test_an_agent_reckons_with_public_watts_where_no_machine_tells_the_joules() -> None:
    race, parts = Race(stream(), WORLD), []
    for tells in (True, False):
        agent = alike("rl_agent")
        lanes = SimulatedLanes(WORLD.cluster, WORLD.physics.coexecution_penalty, tells_energy=tells)
        outcomes = drive(RealNode(agent, lanes, ToldTimes(race)), agent, timed(race, race.tasks))
        assert np.isnan(outcomes.energy).all() != tells
        parts.append([[(p.device, p.share) for p in outcome.parts] for outcome in outcomes])
    assert parts[0] == parts[1]


def a_node(scheduler: Scheduler, lanes: SimulatedLanes, **options: object) -> RealNode:
    return RealNode(scheduler, lanes, MeasuredTimes(lanes.hardware), **options)  # type: ignore[arg-type]


def equal_tasks(count: int, seconds: float = 1.0, **changes: object) -> list[tuple[Task, TimedWork]]:
    lanes = len(WORLD.cluster.devices)
    return [
        (Task(i, 100.0, 0.5, 1.0), TimedWork(i, [0.0] * lanes, [seconds] * lanes, **changes))  # type: ignore[arg-type]
        for i in range(count)
    ]


@pytest.mark.parametrize("name", ["mct", "sjf", "round_robin", "hybrid_queue"])
def test_a_lane_that_dies_costs_a_try_and_nothing_else(name: str) -> None:
    scheduler, died = create_scheduler(name, seed=1), set()

    def ending(task_id: int, lane: int) -> Ending:
        if task_id % 5 == 0 and task_id not in died:
            died.add(task_id)
            return Ending.DIED
        return Ending.DONE

    node = a_node(scheduler, SimulatedLanes(WORLD.cluster, ending=ending))
    outcomes = drive(node, scheduler, equal_tasks(30))
    assert len(outcomes) == 30
    assert not outcomes.failed.any()
    assert died == set(range(0, 30, 5))
    assert outcomes.part_lost.sum() >= len(died)


def test_a_task_that_kills_every_lane_fails_by_name() -> None:
    scheduler = create_scheduler("mct")
    lanes = SimulatedLanes(WORLD.cluster, ending=lambda task_id, lane: Ending.DIED if task_id == 3 else Ending.DONE)
    node = a_node(scheduler, lanes)
    outcomes = drive(node, scheduler, equal_tasks(6))
    assert outcomes.task_id[outcomes.failed].tolist() == [3]
    assert isinstance(node.failures()[3], LostLaneError)
    assert "DIED by request" in str(node.failures()[3].__cause__)
    assert outcomes.part_lost.sum() == 3


@pytest.mark.parametrize("name", ["mct", "hybrid_queue"])
def test_work_that_raises_or_hangs_fails_alone(name: str) -> None:
    scheduler = create_scheduler(name)
    lanes = SimulatedLanes(WORLD.cluster, ending=lambda task_id, lane: Ending.RAISED if task_id == 2 else Ending.DONE)
    node = a_node(scheduler, lanes)
    hangs = TimedWork(99, [0.0] * 3, [1e6] * 3)
    node.add(Task(99, 100.0, 0.5, 1.0), hangs, limit=5.0)
    outcomes = drive(node, scheduler, equal_tasks(6))
    assert outcomes.task_id[outcomes.failed].tolist() == [2, 99]
    assert isinstance(node.failures()[2], ValueError)
    assert isinstance(node.failures()[99], HungError)


def test_too_little_memory_on_a_gpu_sends_a_task_elsewhere() -> None:
    scheduler = create_scheduler("gpu_only")
    lanes = SimulatedLanes(WORLD.cluster, ending=lambda task_id, lane: Ending.TOO_LARGE if lane else Ending.DONE)
    outcomes = drive(a_node(scheduler, lanes), scheduler, equal_tasks(4))
    assert not outcomes.failed.any()
    assert {outcome.gpu_id for outcome in outcomes} == {None}


def test_a_part_that_cannot_be_goes_as_a_whole_to_a_device_that_can() -> None:
    scheduler = create_scheduler("round_robin")
    node = a_node(scheduler, SimulatedLanes(WORLD.cluster))
    outcomes = drive(node, scheduler, equal_tasks(8, divisible=False))
    assert {len(outcome.parts) for outcome in outcomes} == {1}
    node = a_node(scheduler, SimulatedLanes(WORLD.cluster))
    outcomes = drive(node, scheduler, equal_tasks(8, kinds=("cpu",)))
    assert {part.device for outcome in outcomes for part in outcome.parts} == {"cpu_0"}


def test_without_estimates_tasks_try_every_kind_of_device_in_turn_and_then_the_scheduler_knows() -> None:
    scheduler = create_scheduler("mct")
    lanes = SimulatedLanes(WORLD.cluster)
    slow_gpu = [(task, TimedWork(task.task_id, [0.0] * 3, [1.0, 50.0, 50.0])) for task, _ in equal_tasks(40)]
    arrivals = [(Task(t.task_id, t.size, 0.5, 1.0, arrival_time=100.0 * t.task_id), w) for t, w in slow_gpu]
    outcomes = drive(a_node(scheduler, lanes), scheduler, arrivals)
    devices = [outcome.parts[0].device for outcome in outcomes]
    assert devices[0] == "cpu_0"
    assert devices[1].startswith("gpu")
    assert set(devices[2:]) == {"cpu_0"}


def test_children_wait_for_parents_and_fail_with_them() -> None:
    scheduler = create_scheduler("sjf")
    lanes = SimulatedLanes(WORLD.cluster, ending=lambda task_id, lane: Ending.RAISED if task_id == 1 else Ending.DONE)
    work = equal_tasks(5)
    parents = {2: (0,), 3: (1,), 4: (3,)}
    chained = [(Task(t.task_id, 100.0, 0.5, 1.0, dependencies=parents.get(t.task_id, ())), w) for t, w in work]
    node = a_node(scheduler, lanes)
    outcomes = drive(node, scheduler, chained)
    assert outcomes.task_id[outcomes.failed].tolist() == [1, 3, 4]
    assert outcomes[2].parts[0].start >= outcomes[0].finish_time
    assert "task 1" in str(node.failures()[3])


@pytest.mark.parametrize(("ending", "failed"), [(Ending.DONE, []), (Ending.RAISED, [0, 1])])
@pytest.mark.parametrize("keeping", [True, False])
def test_a_child_that_arrives_when_its_parent_is_over_runs_or_fails(
    ending: Ending, failed: list[int], keeping: bool
) -> None:
    scheduler = create_scheduler("sjf")
    lanes = SimulatedLanes(WORLD.cluster, ending=lambda task_id, lane: Ending.DONE if task_id else ending)
    over: list[Outcome] = []
    node = a_node(scheduler, lanes, keeping=keeping, settled=lambda settled: over.append(settled.outcome))
    (parent, run), (_, runs_later) = equal_tasks(2)
    drive(node, scheduler, [(parent, run), (Task(1, 100.0, 0.5, 1.0, 50.0, dependencies=(0,)), runs_later)])
    assert [outcome.task_id for outcome in over] == [0, 1]
    assert [outcome.task_id for outcome in over if outcome.failed] == failed
    assert over[1].finish_time >= 50.0
    assert node.unfinished == 0


def test_a_chain_of_any_length_fails_with_its_first_task() -> None:
    scheduler, count = create_scheduler("sjf"), 3000
    lanes = SimulatedLanes(WORLD.cluster, ending=lambda task_id, lane: Ending.RAISED)
    work = equal_tasks(count)
    chain = [(Task(t.task_id, 100.0, 0.5, 1.0, dependencies=tuple(range(t.task_id))[-1:]), w) for t, w in work]
    node = a_node(scheduler, lanes)
    assert drive(node, scheduler, chain).failed.all()
    assert len(lanes.jobs) == 1
    assert isinstance(node.failures()[count - 1], FailedParentError)


@pytest.mark.parametrize("name", ["round_robin", "mct", "fcfs", "sjf", "hybrid_queue", "greedy"])
def test_a_task_waits_for_the_only_device_that_can_run_it_to_come_back(name: str) -> None:
    scheduler = create_scheduler(name)
    lanes = SimulatedLanes(WORLD.cluster, restart=20.0)
    lanes.change(0.5, LaneChange(0, up=False))
    lanes.change(20.0, LaneChange(0, up=True))
    node = a_node(scheduler, lanes)
    outcomes = drive(node, scheduler, equal_tasks(4, kinds=("cpu",)))
    assert not outcomes.failed.any(), node.failures()
    assert {part.device for outcome in outcomes for part in outcome.parts} == {"cpu_0"}
    assert min(outcomes.finish_time) >= 20.0
    lanes = SimulatedLanes(WORLD.cluster)
    lanes.change(0.5, LaneChange(0, up=False, final=True))
    node = a_node(scheduler, lanes)
    assert drive(node, scheduler, equal_tasks(4, kinds=("cpu",))).failed.all()
    assert "none of the devices left" in str(node.failures()[3])


def test_lanes_that_never_come_back_end_every_task() -> None:
    scheduler = create_scheduler("sjf")
    lanes = SimulatedLanes(WORLD.cluster)
    for lane in range(3):
        lanes.change(2.5, LaneChange(lane, up=False, final=True))
    node = a_node(scheduler, lanes)
    outcomes = drive(node, scheduler, equal_tasks(12))
    assert len(outcomes) == 12
    assert 0 < outcomes.failed.sum() < 12
    assert all(isinstance(error, LostLaneError) for error in node.failures().values())


def test_nobody_waits_for_tasks_that_cannot_run_or_are_over_when_they_arrive() -> None:
    scheduler = create_scheduler("sjf")
    (_, work), *_ = equal_tasks(1)
    late = Task(0, 100.0, 0.5, 1.0, arrival_time=1000.0)
    lanes = SimulatedLanes(WORLD.cluster)
    for lane in range(3):
        lanes.change(2.5, LaneChange(lane, up=False, final=True))
    node = a_node(scheduler, lanes)
    outcomes = drive(node, scheduler, [(late, work)])
    assert lanes.clock() == 2.5
    assert isinstance(node.failures()[0], LostLaneError)
    assert outcomes.finish_time.tolist() == [1000.0]
    lanes = SimulatedLanes(WORLD.cluster)
    node = a_node(scheduler, lanes)
    node.add(late, work)
    assert node.withdraw(0)
    drive(node, scheduler, [])
    assert lanes.clock() == 0.0


def test_lanes_that_never_come_up_are_named() -> None:
    lanes = SimulatedLanes(WORLD.cluster)
    lanes.wait(0.0)
    with pytest.raises(LostLaneError, match="cpu_0, gpu_0, gpu_1 came up: not in 5 s"):
        a_node(create_scheduler("sjf"), lanes).begin(5.0)
    for lane in range(3):
        lanes.change(lanes.clock() + 0.5, LaneChange(lane, up=False, final=True))
    with pytest.raises(LostLaneError, match="none comes back"):
        a_node(create_scheduler("sjf"), lanes).begin(5.0)


class Idler(Scheduler):
    """Starts nothing."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        return ()


class Wrong(Scheduler):
    """Names a device that is not there."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision.whole(17)


def test_nobody_waits_for_ever_and_nothing_illegal_is_carried_out() -> None:
    with pytest.raises(SchedulerError, match="Idler starts none of 2 waiting tasks"):
        drive(a_node(Idler(), SimulatedLanes(WORLD.cluster)), Idler(), equal_tasks(2))
    with pytest.raises(IllegalDecisionError, match="device that does not exist"):
        drive(a_node(Wrong(), SimulatedLanes(WORLD.cluster)), Wrong(), equal_tasks(2))
    with pytest.raises(InvalidInputError, match="nobody knows on a real node"):
        a_node(create_scheduler("oracle"), SimulatedLanes(WORLD.cluster))


def test_what_is_withdrawn_does_not_run_and_what_is_abandoned_ends() -> None:
    scheduler = create_scheduler("sjf")
    lanes = SimulatedLanes(WORLD.cluster)
    node = a_node(scheduler, lanes)
    for task, work in equal_tasks(9):
        node.add(task, work)
    driver = Driver(scheduler, node, compiled=False)
    driver.run(until=0.5)
    assert not node.withdraw(0)
    assert node.withdraw(8)
    driver.run(until=1.5)
    node.abandon(InvalidInputError("enough"))
    assert driver.run() is Change.OVER
    outcomes = node.outcomes()
    assert len(outcomes) == 9
    assert 8 not in {job.work.task_id for _, job in lanes.jobs if isinstance(job.work, TimedWork)}
    assert node.unfinished == 0


def test_a_task_that_is_given_up_before_it_arrives_ends_when_it_would_have_arrived() -> None:
    scheduler = create_scheduler("sjf")
    node = a_node(scheduler, SimulatedLanes(WORLD.cluster))
    (_, work), *_ = equal_tasks(1)
    for task_id, arrival, parents in ((0, 0.0, ()), (1, 0.0, (0,)), (2, 50.0, ()), (3, 60.0, ())):
        node.add(Task(task_id, 100.0, 0.5, 1.0, arrival, dependencies=parents), work)
    Driver(scheduler, node, compiled=False).run(until=0.5)
    assert node.withdraw(3)
    node.abandon(InvalidInputError("enough"))
    outcomes = node.outcomes()
    assert outcomes.failed.all()
    assert outcomes.finish_time.tolist() == [0.5, 0.5, 50.0, 60.0]
    assert outcomes.ready_time.tolist() == [0.0, 0.5, 50.0, 60.0]
    assert outcomes.decided_time.tolist() == [0.0, 0.5, 50.0, 60.0]


def test_order_pays_and_costs_nothing() -> None:
    """4 long tasks ahead of 18 short ones on two devices of known times."""
    cluster = ClusterSpec(WORLD.cluster.devices[1:3])
    lanes = SimulatedLanes(cluster)
    known = [Measured(kind, lanes.hardware[0], 0, 1, math.log(seconds)) for kind, seconds in (("a", 0.4), ("b", 0.05))]
    response, makespan = {}, {}
    for name in ("fcfs", "sjf", "hybrid_queue"):
        scheduler, lanes = create_scheduler(name), SimulatedLanes(cluster)
        times = MeasuredTimes(lanes.hardware, known)
        node = RealNode(scheduler, lanes, times, measured_first=True, teaching=False, compiled=True)
        kinds = ["a"] * 4 + ["b"] * 18
        seconds = [0.4 if kind == "a" else 0.05 for kind in kinds]
        work = [
            (Task(i, 1.0, 0.5, 1.0, kind=kind), TimedWork(i, [0.0, 0.0], [each, each]))
            for i, (kind, each) in enumerate(zip(kinds, seconds, strict=True))
        ]
        outcomes = drive(node, scheduler, work)
        response[name], makespan[name] = outcomes.finish_time.mean(), outcomes.finish_time.max()
    for name in ("sjf", "hybrid_queue"):
        assert response[name] <= 0.6 * response["fcfs"]
        assert makespan[name] <= 1.05 * makespan["fcfs"]


def test_joules_are_not_known_while_a_part_in_vain_still_runs() -> None:
    task = Task(1, 10.0, 0.5, 1.0)
    each = RealTask(task, task, TimedWork(1, [0.0], [1.0]))
    each.parts = [
        RealPart(each, 0, 0.0, 0.5, 0.0, sent=0.0, lost=True),
        RealPart(each, 1, 0.0, 1.0, 0.0, sent=1.0, start=1.0, end=2.0, joules=30.0, ended=True),
    ]
    each.placed = 1
    assert np.isnan(each.settle(2.0, ("cpu_0", "gpu_0"), (0.1, 0.2), (None, 0)).energy)
    first = each.parts[0]
    first.start, first.end, first.joules, first.ended = 0.0, 3.0, 12.0, True
    assert each.settle(3.0, ("cpu_0", "gpu_0"), (0.1, 0.2), (None, 0)).energy == 42.0
