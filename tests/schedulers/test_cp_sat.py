"""The exact planner: against every schedule of small graphs, in races, and without its solver."""

from __future__ import annotations

import sys
from itertools import permutations, product

import numpy as np
import pytest

from hybrid_scheduler.engine.compare import Comparison
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import InvalidInputError, MissingExtraError, Task, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.cp_sat import CpSat
from hybrid_scheduler.schedulers.exact_plan import ExactProblem, first_plan, solve, timed
from hybrid_scheduler.schedulers.registry import create_scheduler


def random_problem(seed: int, count: int = 5, devices: int = 2) -> ExactProblem:
    """A graph with data that may stay on a device, tasks that come later, a device that may not be used."""
    rng = np.random.default_rng(seed)
    times = rng.uniform(1.0, 10.0, (count, devices))
    if seed % 2:
        times[0, 0] = np.inf
    parents = [sorted({int(p) for p in rng.integers(0, i, min(i, 2))}) for i in range(count)]
    links = np.full((devices, devices), 1.0)
    np.fill_diagonal(links, 0.0)
    return ExactProblem(
        times,
        rng.uniform(0.0, 2.0, devices),
        rng.uniform(0.0, 6.0, count) * (seed % 3 == 0),
        parents,
        [rng.uniform(0.0, 4.0, len(row)).tolist() for row in parents],
        links,
        np.full(devices, 0.3 * (seed % 4 == 1)),
        rng.uniform(0.0, 4.0, count),
    )


def least_makespan(problem: ExactProblem) -> float:
    """Over all orders that parents allow, and all devices."""
    best = np.inf
    allowed = [np.flatnonzero(np.isfinite(row)).tolist() for row in problem.times]
    for order in permutations(range(len(allowed))):
        place = {task: at for at, task in enumerate(order)}
        if all(place[parent] < place[i] for i, row in enumerate(problem.parents) for parent in row):
            for device in product(*allowed):
                best = min(best, timed(problem, np.array(device), order)[2].max())
    return float(best)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_of_all_schedules_is_found_and_proved(seed: int) -> None:
    problem = random_problem(seed)
    plan, least = solve(problem, 10.0), least_makespan(problem)
    assert plan.optimal
    assert plan.end.max() == pytest.approx(least, rel=1e-6)
    assert (1.0 - 1e-6) * least <= plan.bound <= least
    assert first_plan(problem)[2].max() >= least * (1.0 - 1e-9)


def test_a_batch_is_an_assignment() -> None:
    """8, 7, 6, 5 and 4 s on two equal machines: 15 s each, which no rule by length finds."""
    times = np.repeat(np.array([[8.0], [7.0], [6.0], [5.0], [4.0]]), 2, axis=1)
    nothing, none = [list[int]() for _ in range(5)], [list[float]() for _ in range(5)]
    problem = ExactProblem(times, np.zeros(2), np.zeros(5), nothing, none, np.zeros((2, 2)), np.zeros(2), np.zeros(5))
    assert problem.is_assignment
    plan = solve(problem, 10.0)
    assert (plan.end.max(), plan.bound) == pytest.approx((15.0, 15.0), rel=1e-6)


def graph_race(times: np.ndarray[tuple[int, int], np.dtype[np.float64]], parents: list[tuple[int, ...]]) -> Race:
    """A graph that comes at once, on machines of these times."""
    count, columns = times.shape
    names = tuple(f"cpu_{d}" for d in range(columns))
    world = World(
        ClusterSpec(tuple(Device(name, "cpu") for name in names)),
        Physics(TableCost(times, tuple(range(count)), names)),
    )
    return Race(TaskBatch.from_tasks(Task(i, 100.0, 0.5, 1.0, 3.0, 1.0, parents[i]) for i in range(count)), world)


def test_a_graph_runs_as_planned() -> None:
    rng = np.random.default_rng(4)
    parents: list[tuple[int, ...]] = [(), *(tuple({int(p) for p in rng.integers(0, i, 2)}) for i in range(1, 12))]
    race = graph_race(rng.uniform(1.0, 9.0, (12, 3)), parents)
    planner = CpSat()
    reached = float(race.run(planner).finish_time.max()) - 3.0
    assert planner.optimal
    assert planner.bound is not None
    assert planner.bound == pytest.approx(reached, rel=1e-6)
    assert planner.bound <= reached
    for name in ("mct", "min_min", "sjf", "optimizer"):
        assert float(race.run(create_scheduler(name)).finish_time.max()) - 3.0 >= planner.bound


def test_the_comparison_says_what_was_proved_of_whole_tasks() -> None:
    tasks = TaskBatch.from_tasks(Task(i, 400.0 + 90.0 * i, 0.8, 10.0) for i in range(9))
    raced = ("cp_sat", "min_min", "oracle")
    result = Comparison(tasks, {name: create_scheduler(name) for name in raced}).run()
    least = result.to_json()["lower_bound"]
    assert isinstance(least, dict)
    assert least["makespan"] <= least["whole_makespan"] == result.whole_makespan
    assert result.schedulers["min_min"].makespan >= least["whole_makespan"]
    assert result.schedulers["cp_sat"].makespan == pytest.approx(least["whole_makespan"], rel=1e-6)
    noisy = Comparison(tasks, {"cp_sat": CpSat()}, World(physics=Physics(noise=0.2))).run()
    assert "whole_makespan" not in noisy.to_json()["lower_bound"]  # type: ignore[operator]


def test_of_tasks_that_come_one_by_one_only_the_bound_is_known() -> None:
    tasks = TaskBatch.from_tasks(Task(i, 800.0, 0.5, 10.0, 0.2 * i) for i in range(10))
    race, planner = Race(tasks), CpSat()
    outcomes = race.run(planner)
    assert planner.bound is not None
    assert race.lower_bound(outcomes).makespan <= planner.bound + 1e-6
    assert planner.bound <= float(outcomes.finish_time.max())
    few = CpSat(most_tasks=5)
    assert not race.run(few).failed.any()
    assert few.bound is None


def test_a_plan_that_cannot_be_kept_is_dropped() -> None:
    """The GPU that the plan counts on fails in the middle and stays down."""
    cluster = ClusterSpec.default(2).with_disturbances([Disturbance(0.4, "gpu_1", 0.0)])
    tasks = TaskBatch.from_tasks(Task(i, 700.0 + 60.0 * i, 0.9, 10.0) for i in range(10))
    outcomes = Race(tasks, World(cluster)).run(CpSat())
    assert not outcomes.failed.any()
    assert float(outcomes.finish_time.max()) > 0.4


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(MissingExtraError, match=r"cp_sat needs OR-tools; .*\[bounds\]"):
        CpSat()


@pytest.mark.parametrize("wrong", [{"seconds": 0.0}, {"room_seconds": np.nan}, {"workers": 0}, {"most_tasks": -1}])
def test_wrong_parameters(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match="it must be"):
        CpSat(**wrong)  # type: ignore[arg-type]
