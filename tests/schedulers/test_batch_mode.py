"""The classic heuristics: by hand on tiny matrices, over time, on every matrix, and when devices go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.model import ClusterView, Decision, Task, TaskBatch
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.kernel import FACT_COUNT
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, makespan
from hybrid_scheduler.schedulers.lpt import lpt
from hybrid_scheduler.schedulers.max_min import max_min
from hybrid_scheduler.schedulers.min_min import min_min
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.schedulers.sufferage import sufferage
from hybrid_scheduler.testing import CheckedRace
from hybrid_scheduler.workloads import WorkloadGenerator

BATCH = ("min_min", "max_min", "sufferage", "duplex", "lpt", "optimizer")
RULES = (min_min, max_min, sufferage, lpt)
IDLE = np.zeros(2)
TIMES = np.array([[2.0, 5.0], [4.0, 3.0], [6.0, 11.0]])
DEVICES = ClusterSpec((Device("cpu_0", "cpu"), Device("gpu_0", "gpu", memory_mb=100.0), Device("gpu_1", "gpu")))


def raced(times: Sequence[Sequence[float]], arrival: Sequence[float], *changes: Disturbance) -> CheckedRace:
    """Tasks with these times on CPUs of their own."""
    table = np.array(times)
    names = tuple(f"cpu_{d}" for d in range(table.shape[1]))
    cluster = ClusterSpec(tuple(Device(name, "cpu") for name in names)).with_disturbances(changes)
    ones = np.ones(len(table))
    tasks = TaskBatch.from_columns(ones, ones, ones, arrival_time=np.array(arrival))
    return CheckedRace(tasks, World(cluster, Physics(TableCost(table, tuple(range(len(table))), names))))


def view(times: list[float], backlog: list[float], down: tuple[int, ...] = ()) -> ClusterView:
    devices = DEVICES.public_table()
    devices[:, BACKLOG] = backlog
    devices[list(down), AVAILABLE] = 0.0
    return ClusterView(0, 0.0, devices, np.zeros(FACT_COUNT), DEVICES.names, np.array([[0.0] * 3, times]))


# --- at once ----------------------------------------------------------------------------------------------------------


def test_olb_takes_the_device_that_is_free_first() -> None:
    olb, small, large = create_scheduler("olb"), Task(1, 1.0, 0.5, 50.0), Task(2, 1.0, 0.5, 500.0)
    assert olb.decide(small, view([1.0, 9.0, 2.0], [3.0, 1.0, 2.0])) == Decision.whole(1, 9.0)
    assert olb.decide(large, view([1.0, 9.0, 2.0], [3.0, 1.0, 2.0])) == Decision.whole(2, 2.0), "it does not fit on 1"
    assert olb.decide(small, view([1.0, 9.0, 2.0], [1.0, 1.0, 1.0])) == Decision.whole(0, 1.0), "the lowest of equals"
    assert olb.decide(large, view([1.0, 9.0, 2.0], [3.0, 1.0, 2.0], (0, 2))) == Decision.whole(1, 9.0), "no other is up"


def test_met_takes_the_fastest_device() -> None:
    met, small, large = create_scheduler("met"), Task(1, 1.0, 0.5, 50.0), Task(2, 1.0, 0.5, 500.0)
    assert met.decide(small, view([3.0, 1.0, 2.0], [0.0, 99.0, 0.0])) == Decision.whole(1, 1.0)
    assert met.decide(large, view([3.0, 1.0, 2.0], [0.0, 99.0, 0.0])) == Decision.whole(2, 2.0), "it does not fit on 1"
    assert met.decide(small, view([3.0, 1.0, 1.0], [0.0, 5.0, 4.0])) == Decision.whole(2, 1.0), "the least backlog"
    assert met.decide(large, view([3.0, 1.0, 2.0], [0.0, 9.0, 0.0], (0, 2))) == Decision.whole(1, 1.0), "no other is up"


# --- by hand ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "order", "device"),
    [
        (min_min, [0, 1, 2], [0, 1, 0]),  # 0 ends at 2 and 1 at 3; 2 then ends at 8 on device 0, at 14 on device 1
        (max_min, [2, 0, 1], [1, 1, 0]),  # 2 ends at 6; then 0 at 5 on device 1; then 1 at 8 there, at 10 on device 0
        (sufferage, [2, 1, 0], [0, 1, 0]),  # 2 would lose 5; then 1 would lose 7 and 0 only 3; 0 ends at 8 on either
        (lpt, [2, 1, 0], [0, 1, 0]),  # of lengths 6, 3 and 2; 0 ends at 8 on either
    ],
)
def test_by_hand(rule: Callable[[FloatArray, FloatArray], Mapping], order: list[int], device: list[int]) -> None:
    found = rule(TIMES, IDLE)
    assert (found[0].tolist(), found[1].tolist()) == (order, device)
    assert makespan(TIMES, IDLE, found[1]) == 8.0


@pytest.mark.parametrize("rule", RULES)
def test_queued_work_counts(rule: Callable[[FloatArray, FloatArray], Mapping]) -> None:
    assert rule(TIMES, np.array([100.0, 0.0]))[1].tolist() == [1, 1, 1]


def test_duplex_takes_the_better_one() -> None:
    alike = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [3.0, 3.0]])
    duplex = create_scheduler("duplex")
    assert isinstance(duplex, BatchScheduler)
    assert [makespan(alike, IDLE, rule(alike, IDLE)[1]) for rule in (min_min, max_min)] == [4.0, 3.0]
    assert duplex.assign(alike, IDLE)[0].tolist() == [3, 0, 1, 2]
    assert duplex.assign(TIMES, IDLE)[0].tolist() == [0, 1, 2], "both take 8 s"


# --- in a race --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "finish"),
    [
        ("min_min", [2.0, 3.0, 8.0]),
        ("max_min", [5.0, 8.0, 6.0]),
        ("sufferage", [8.0, 3.0, 6.0]),
        ("lpt", [8.0, 3.0, 6.0]),
    ],
)
def test_a_batch_is_queued_as_it_was_mapped(name: str, finish: list[float]) -> None:
    assert raced(TIMES.tolist(), [7.0] * 3).run(create_scheduler(name)).finish_time.tolist() == [
        7.0 + s for s in finish
    ]


@pytest.mark.parametrize(
    ("name", "finish"),
    [
        ("min_min", [5.0, 9.0, 6.0]),
        ("max_min", [5.0, 8.0, 9.0]),
        ("sufferage", [5.0, 8.0, 9.0]),
        ("lpt", [5.0, 8.0, 9.0]),
        ("optimizer", [5.0, 9.0, 6.0]),
    ],
)
def test_tasks_that_come_later_are_mapped_when_the_device_is_idle(name: str, finish: list[float]) -> None:
    race = raced([[5.0], [3.0], [1.0]], [0.0, 1.0, 2.0])
    assert race.run(create_scheduler(name)).finish_time.tolist() == finish


def test_the_window_bounds_what_is_mapped() -> None:
    race = raced([[5.0], [3.0], [1.0]], [0.0, 1.0, 2.0])
    assert race.run(create_scheduler("min_min", window=1)).finish_time.tolist() == [5.0, 8.0, 9.0]


def test_a_task_may_wait_for_a_better_device() -> None:
    race = raced([[4.0, 90.0], [4.0, 90.0]], [0.0, 1.0])
    outcomes = race.run(create_scheduler("min_min"))
    assert outcomes.finish_time.tolist() == [4.0, 8.0]
    assert outcomes.decided_time.tolist() == [0.0, 4.0]


@pytest.mark.parametrize("name", BATCH)
def test_a_batch_whose_device_goes_is_mapped_again(name: str) -> None:
    times = [[2.0, 3.0]] * 6
    race = raced(times, [0.0] * 6, Disturbance(1.0, "cpu_0", 0.0))
    outcomes = race.run(create_scheduler(name))
    assert not outcomes.failed.any()
    assert outcomes.finish_time.max() == pytest.approx(18.0), "the other one does all of them"


@pytest.mark.parametrize("name", BATCH)
def test_a_batch_with_too_large_tasks(name: str) -> None:
    tasks = WorkloadGenerator(3).generate("mixed", 60, 1e9)
    tasks = TaskBatch.from_columns(tasks.size, tasks.compute_intensity, tasks.memory_required)
    node = ClusterSpec((Device("cpu_0", "cpu"), Device("gpu_0", "gpu", memory_mb=60.0), Device("gpu_1", "gpu")))
    race = CheckedRace(tasks, World(node, Physics(memory_policy="fail")))
    assert (tasks.memory_required > 60.0).any()
    assert not race.run(create_scheduler(name)).failed.any()


@pytest.mark.parametrize("name", BATCH)
def test_says_why(name: str) -> None:
    scheduler = create_scheduler(name)
    task = Task(1, 1.0, 0.5, 50.0)
    seen = view([3.0, 1.0, 2.0], [0.0, 5.0, 0.5])
    seen = ClusterView(0, 0.0, seen.devices, seen.facts, seen.names, times_by_id={1: seen.times})
    said = scheduler.explain(task, seen)
    assert said.reason.endswith("by itself it would finish first on gpu_1.")
    assert said.seconds is not None
    assert said.seconds.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("window", [0, -1, 100_001])
def test_a_window_out_of_range(window: int) -> None:
    with pytest.raises(InvalidInputError, match=f"window is {window}, but it must be from 1 to 100000"):
        create_scheduler("min_min", window=window)


# --- on every matrix --------------------------------------------------------------------------------------------------


@st.composite
def matrices(draw: st.DrawFn) -> tuple[FloatArray, FloatArray]:
    """Times of 1 to 12 tasks on 1 to 4 devices, some of them closed to some tasks, and when the devices are ready."""
    count, devices = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    seconds = st.floats(0.01, 100.0) | st.integers(1, 4).map(float)
    times = np.array([[draw(seconds) for _ in range(devices)] for _ in range(count)])
    closed = np.array([[draw(st.booleans()) for _ in range(devices)] for _ in range(count)])
    closed[np.arange(count), [draw(st.integers(0, devices - 1)) for _ in range(count)]] = False
    ready = np.array([draw(st.just(0.0) | st.floats(0.0, 50.0)) for _ in range(devices)])
    return np.where(closed, np.inf, times), ready


@given(matrices())
def test_every_task_once_and_no_bound_beaten(matrix: tuple[FloatArray, FloatArray]) -> None:
    times, ready = matrix
    area = (times.min(axis=1).sum() + ready.sum()) / len(ready)
    longest = (ready + times).min(axis=1).max()
    for rule in RULES:
        order, device = rule(times, ready)
        assert sorted(order.tolist()) == list(range(len(times)))
        reached = makespan(times, ready, device)
        assert np.isfinite(reached), "a task went where it may not go"
        assert reached >= max(area, longest) * (1.0 - 1e-12)


@given(matrices())
def test_min_min_is_its_definition(matrix: tuple[FloatArray, FloatArray]) -> None:
    times, ready = matrix
    order, device = min_min(times, ready)
    free, left = ready.copy(), times.copy()
    for i in order:
        ends = free + left
        assert ends[i, device[i]] == ends.min()
        free[device[i]] = ends.min()
        left[i] = np.inf


@given(matrices())
def test_sufferage_is_its_definition(matrix: tuple[FloatArray, FloatArray]) -> None:
    times, ready = matrix
    order, device = sufferage(times, ready)
    free, left = ready.copy(), list(range(len(times)))
    for i in order.tolist():
        ends = np.sort(np.column_stack([free + times, np.full(len(times), np.inf)]), axis=1)
        assert ends[i, 1] - ends[i, 0] == max(ends[k, 1] - ends[k, 0] for k in left)
        assert free[device[i]] + times[i, device[i]] == ends[i, 0]
        free[device[i]] = ends[i, 0]
        left.remove(i)
