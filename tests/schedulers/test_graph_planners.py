"""Planners of task graphs: the papers' own examples, every plan valid, and what happens when it cannot be kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_graphs import HEFT_EDGES, HEFT_TIMES, PEFT_EDGES, PEFT_TIMES, Edges, graph_of, world_of

from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.cpop import critical_device, critical_path
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, empty_plan, forget_gaps
from hybrid_scheduler.schedulers.graph_planner import GraphPlanner
from hybrid_scheduler.schedulers.hbmct import balance, independent
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.task_graph import (
    TaskGraph,
    by_priority,
    downward_rank,
    optimistic_cost,
    task_graph,
    upward_rank,
)
from hybrid_scheduler.testing import CheckedRace

PLANNERS = ("heft", "cpop", "peft", "etf", "hbmct")


def planner(name: str) -> GraphPlanner:
    made = create_scheduler(name)
    assert isinstance(made, GraphPlanner)
    return made


def planned(name: str, graph: TaskGraph, groups: list[IntArray], free: FloatArray | None = None) -> GraphPlan:
    devices = graph.times.shape[1]
    plan = empty_plan(len(graph.times), np.zeros(devices) if free is None else free)
    for group in groups:
        forget_gaps(plan, graph.release[group[0]])
        planner(name).plan_group(graph, plan, group)
    return plan


# --- the papers -------------------------------------------------------------------------------------------------------


def test_upward_ranks_of_the_heft_paper() -> None:
    graph, (group,) = graph_of(HEFT_TIMES, HEFT_EDGES)
    rank = np.empty(10)
    rank[group] = upward_rank(graph, group)
    table = [108.000, 77.000, 80.000, 80.000, 69.000, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert rank == pytest.approx(table, abs=0.0005)
    assert (by_priority(graph, group, upward_rank(graph, group)) + 1).tolist() == [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]


def test_the_critical_path_of_the_heft_paper() -> None:
    graph, (group,) = graph_of(HEFT_TIMES, HEFT_EDGES)
    priority = upward_rank(graph, group) + downward_rank(graph, group)
    path = critical_path(graph, group, priority)
    assert (path + 1).tolist() == [1, 2, 9, 10]
    assert critical_device(graph, path) == 1, "54 s, against 66 and 63"


def test_optimistic_costs_of_the_peft_paper() -> None:
    graph, (group,) = graph_of(PEFT_TIMES, PEFT_EDGES)
    table = np.empty((10, 3))
    table[group] = optimistic_cost(graph, group)
    assert table.tolist() == [
        [64, 68, 86],
        [42, 39, 42],
        [27, 41, 43],
        [42, 39, 50],
        [28, 37, 28],
        [42, 39, 44],
        [13, 16, 22],
        [13, 16, 33],
        [13, 16, 20],
        [0, 0, 0],
    ]
    rank = [72.7, 41.0, 37.0, 43.7, 31.0, 41.7, 17.0, 20.7, 16.3, 0.0]
    assert table.mean(axis=1) == pytest.approx(rank, abs=0.05)


@pytest.mark.parametrize(
    ("name", "times", "edges", "makespan"),
    [
        ("heft", HEFT_TIMES, HEFT_EDGES, 80.0),
        ("cpop", HEFT_TIMES, HEFT_EDGES, 86.0),
        ("heft", PEFT_TIMES, PEFT_EDGES, 133.0),
        ("peft", PEFT_TIMES, PEFT_EDGES, 122.0),
    ],
)
def test_makespans_of_the_papers(name: str, times: list[list[float]], edges: Edges, makespan: float) -> None:
    assert planned(name, *graph_of(times, edges)).end.max() == makespan
    outcomes = CheckedRace(*world_of(times, edges)).run(create_scheduler(name))
    assert outcomes.finish_time.max() == makespan, "the race does what was planned"


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_a_gap_is_used() -> None:
    # 2 waits until 10 for what 1 has made on device 0; 4 fits in before it, and then 3 does not.
    plan = planned("heft", *graph_of([[1.0, 99.0], [99.0, 20.0], [99.0, 5.0], [99.0, 7.0]], [(1, 2, 9.0)]))
    assert plan.device.tolist() == [0, 1, 1, 1]
    assert plan.begin.tolist() == [0.0, 10.0, 30.0, 0.0]


def test_earliest_task_first() -> None:
    # Both could start at once; 2 has more to come. Then 1 can start on device 1, earlier than 3 can anywhere.
    plan = planned("etf", *graph_of([[2.0, 3.0], [2.0, 9.0], [4.0, 4.0]], [(2, 3, 5.0)]))
    assert plan.begin.tolist() == [0.0, 0.0, 2.0]
    assert plan.device.tolist() == [1, 0, 0]


def test_sets_of_independent_tasks() -> None:
    graph, (group,) = graph_of(HEFT_TIMES, HEFT_EDGES)
    order = by_priority(graph, group, upward_rank(graph, group))
    starts = independent(graph, order)
    sets = [set((order[a:b] + 1).tolist()) for a, b in pairwise(starts)]
    assert sets == [{1}, {2, 3, 4, 5, 6}, {7, 8, 9}, {10}]


def balanced(free: list[float], ready: FloatArray, takes: FloatArray) -> list[list[int]]:
    queues = balance(np.array(free), ready, takes)
    return [tasks[:size].tolist() for tasks, size in zip(queues.tasks, queues.size, strict=True)]


def test_a_set_is_balanced() -> None:
    takes, at_once = np.array([[3.0, 4.0], [3.0, 5.0], [3.0, 6.0]]), np.zeros((3, 2))
    assert balanced([0.0, 0.0], at_once, takes) == [[1, 2], [0]], "the first loses least on device 1: done at 6"
    assert balanced([0.0, 9.0], at_once, takes) == [[0, 1, 2], []], "device 1 is busy until 9"
    late = np.array([[0.0, 9.0], [0.0, 0.0], [0.0, 0.0]])
    assert balanced([0.0, 0.0], late, takes) == [[0, 2], [1]], "the data of the first is on device 1 at 9 only"


def test_a_cycle_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="2 of 2 tasks depend on themselves; remove the cycle"):
        task_graph(np.array([0, 1, 2]), np.array([1, 0]), np.zeros(0), np.ones((2, 1)), np.zeros((0, 0)))


# --- on every graph ---------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> tuple[TaskGraph, list[IntArray], FloatArray]:
    """Up to 14 tasks on up to 4 devices, some of them closed to some tasks, that arrive at up to 3 moments."""
    count, devices = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    seconds = st.floats(0.01, 100.0) | st.integers(1, 4).map(float)
    times = np.array([[draw(seconds) for _ in range(devices)] for _ in range(count)])
    closed = np.array([[draw(st.booleans()) for _ in range(devices)] for _ in range(count)])
    closed[np.arange(count), [draw(st.integers(0, devices - 1)) for _ in range(count)]] = False
    numbers = draw(st.permutations(range(1, count + 1)))
    pairs = [(numbers[a], numbers[b]) for b in range(count) for a in range(b) if draw(st.integers(0, 3)) == 0]
    edges = [(a, b, draw(st.just(0.0) | st.floats(0.0, 50.0))) for a, b in pairs]
    links = np.array([[draw(st.floats(0.0, 2.0)) for _ in range(devices)] for _ in range(devices)])
    np.fill_diagonal(links, 0.0)
    arrival = np.array([draw(st.sampled_from([0.0, 0.0, 7.0, 30.0])) for _ in range(count)])
    free = np.array([draw(st.just(0.0) | st.floats(0.0, 50.0)) for _ in range(devices)])
    return *graph_of(np.where(closed, np.inf, times), edges, links, arrival), free


def least_end(graph: TaskGraph, groups: list[IntArray], free: FloatArray) -> float:
    """The critical path: every task on its fastest device, no data moved, no queue but what is there now."""
    end = np.zeros(len(graph.times))
    for i in np.concatenate(groups):
        parents = graph.parents[graph.parent_start[i] : graph.parent_start[i + 1]]
        begin = max([graph.release[i], *end[parents]])
        end[i] = (np.maximum(begin, free) + graph.times[i]).min()
    return float(end.max())


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_every_plan_is_valid_and_no_bound_beaten(drawn: tuple[TaskGraph, list[IntArray], FloatArray]) -> None:
    graph, groups, free = drawn
    bound, rows = least_end(graph, groups, free), np.arange(len(graph.times))
    for name in PLANNERS:
        plan = planned(name, graph, groups, free)
        seconds = graph.times[rows, plan.device]
        assert np.isfinite(seconds).all(), "a task went where it may not go"
        assert (plan.begin >= np.maximum(graph.release, free[plan.device])).all()
        assert plan.end == pytest.approx(plan.begin + seconds)
        for i in rows:
            for e in range(graph.parent_start[i], graph.parent_start[i + 1]):
                parent = graph.parents[e]
                way = graph.parent_mb[e] * graph.links[plan.device[parent], plan.device[i]]
                assert plan.begin[i] >= plan.end[parent] + way
        for d in range(len(free)):
            mine = np.flatnonzero(plan.device == d)
            mine = mine[np.argsort(plan.begin[mine], kind="stable")]
            assert (plan.begin[mine[1:]] >= plan.end[mine[:-1]] - 1e-9).all(), "two at once"
        assert plan.end.max() >= bound * (1.0 - 1e-12)


# --- in a race --------------------------------------------------------------------------------------------------------


def raced(times: list[list[float]], edges: Edges, arrival: list[float], *changes: Disturbance) -> CheckedRace:
    """Tasks numbered from 1 on CPUs of one node."""
    names = tuple(f"cpu_{d}" for d in range(len(times[0])))
    cluster = ClusterSpec(tuple(Device(name, "cpu") for name in names)).with_disturbances(changes)
    tasks = [
        Task(i, 1.0, 1.0, 1.0, arrival_time=when, dependencies=tuple(a for a, b, _ in edges if b == i))
        for i, when in enumerate(arrival, start=1)
    ]
    cost = TableCost(np.array(times), tuple(range(1, len(times) + 1)), names)
    return CheckedRace(TaskBatch.from_tasks(tasks), World(cluster, Physics(cost)))


@pytest.mark.parametrize("name", PLANNERS)
def test_a_plan_is_kept_when_nothing_comes_in_between(name: str) -> None:
    for times, edges in ((HEFT_TIMES, HEFT_EDGES), (PEFT_TIMES, PEFT_EDGES)):
        plan = planned(name, *graph_of(times, edges))
        outcomes = CheckedRace(*world_of(times, edges)).run(create_scheduler(name))
        assert outcomes.finish_time == pytest.approx(plan.end)
        assert [part.start for outcome in outcomes for part in outcome.parts] == pytest.approx(plan.begin)


@pytest.mark.parametrize("name", PLANNERS)
def test_a_plan_knows_what_the_node_does_with_data(name: str) -> None:
    # Two nodes with GPUs of unlike links; tasks save what is on their GPU already; a second graph comes later.
    devices = (
        Device("cpu_0", "cpu"),
        Device("gpu_0", "gpu", bandwidth=200.0, memory_mb=400.0),
        Device("gpu_1", "gpu", bandwidth=800.0, latency=0.05),
        Device("cpu_1", "cpu", node=1),
        Device("gpu_2", "gpu", speed=2.0, node=1),
    )
    drawn = np.random.default_rng(7)
    tasks = []
    for i in range(120):
        size, intensity, memory = drawn.uniform(200.0, 2000.0), drawn.uniform(), drawn.uniform(10.0, 500.0)
        parents = tuple(set(drawn.integers(max(0, i - 12), i, 2).tolist())) if i % 60 > 5 else ()
        megabytes = tuple(drawn.uniform(0.0, 400.0, len(parents)).tolist())
        arrival = 0.0 if i < 60 else 2.5
        tasks.append(Task(i, size, intensity, memory, arrival, dependencies=parents, dependency_mb=megabytes))
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(ClusterSpec(devices, network_bandwidth=500.0)))
    scheduler = planner(name)
    node = simulated_node(scheduler, race, race.world)
    node.add(race.timed)
    Driver(scheduler, node).prepare(race.tasks)
    plan = scheduler._planned
    assert {each.device for each in plan.values()} == set(range(5))
    for outcome in race.run(create_scheduler(name)):
        each, (part,) = plan[outcome.task_id], outcome.parts
        assert part.device == devices[each.device].name
        assert [part.start, part.end] == pytest.approx([each.begin, each.end])


@pytest.mark.parametrize("name", PLANNERS)
def test_nothing_is_known_before_it_arrives(name: str) -> None:
    # The second graph would have gained from a free device 0 at 1, but nobody knew of it at 0.
    race = raced([[5.0, 6.0], [5.0, 6.0], [1.0, 50.0]], [], [0.0, 0.0, 1.0])
    finish = race.run(create_scheduler(name)).finish_time.tolist()
    assert (sorted(finish[:2]), finish[2]) == ([5.0, 6.0], 6.0)


@pytest.mark.parametrize("name", PLANNERS)
def test_a_device_that_goes(name: str) -> None:
    race = raced(HEFT_TIMES, HEFT_EDGES, [0.0] * 10, Disturbance(20.0, "cpu_1", 0.0))
    assert not race.run(create_scheduler(name)).failed.any()


@pytest.mark.parametrize("name", PLANNERS)
def test_one_task_at_a_time(name: str) -> None:
    tasks, world = world_of(HEFT_TIMES, HEFT_EDGES)
    assert not CheckedRace(tasks, world, isolated=True).run(create_scheduler(name)).failed.any()


@pytest.mark.parametrize("name", PLANNERS)
def test_a_live_race_is_planned_on_and_on(name: str) -> None:
    scheduler = planner(name)
    race = LiveRace({name: scheduler}, forget=8)
    finished = 0
    for k in range(40):
        at = 0.1 * k
        tasks = [Task(5 * k + n, 400.0 + 97.0 * n, 0.1 + 0.2 * n, 50.0, arrival_time=at) for n in range(5)]
        race.add(TaskBatch.from_tasks(tasks), {5 * k + 4: [5 * k, 5 * k + 1]})
        finished += len(race.advance(at + 0.1).by_scheduler[name])
    finished += len(race.drain().by_scheduler[name])
    assert (finished, race.out) == (200, {})
    assert not scheduler._planned, "what has finished is forgotten"


def test_says_where_and_when() -> None:
    scheduler = planner("heft")
    race = LiveRace({"heft": scheduler})
    tasks = [Task(n, 3000.0, 1.0, 50.0) for n in range(9)]
    placed = race.submit(tasks)
    waits = [answer["heft"] for answer in placed if hasattr(answer["heft"], "waiting")]
    assert waits
    reasons = {getattr(each, "reason", "") for each in waits}
    assert any(reason.startswith("HEFT plans it on gpu_") for reason in reasons), reasons


@pytest.mark.parametrize("name", PLANNERS)
def test_parents_are_known_in_a_live_race(name: str) -> None:
    scheduler = planner(name)
    race = LiveRace({name: scheduler})
    race.add(TaskBatch.from_tasks([Task(0, 900.0, 0.5, 50.0), Task(1, 900.0, 0.5, 50.0)]), {1: [(0, 20.0)]})
    first, second = scheduler._planned[0], scheduler._planned[1]
    assert (second.task.dependencies, second.task.dependency_mb) == ((0,), (20.0,))
    assert second.begin >= first.end
