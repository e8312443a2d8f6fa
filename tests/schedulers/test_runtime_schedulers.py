"""Schedulers of run-time systems: by hand, where the data counts, and what a decision looks at."""

from __future__ import annotations

import numpy as np
import pytest
from paper_graphs import HEFT_EDGES, HEFT_TIMES, PEFT_EDGES, PEFT_TIMES, Edges, world_of

from hybrid_scheduler.model import ClusterView, Outcome, Task, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.heteroprio import acceleration
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace

RUNTIME = ("dmda", "work_stealing", "heteroprio")
NODE = (Device("cpu_0", "cpu"), Device("gpu_0", "gpu", memory_mb=100.0))


def raced(times: list[list[float]], tasks: list[Task], devices: tuple[Device, ...] = NODE) -> CheckedRace:
    """Tasks with these times."""
    cost = TableCost(np.array(times), tuple(task.task_id for task in tasks), tuple(device.name for device in devices))
    return CheckedRace(TaskBatch.from_tasks(tasks), World(ClusterSpec(devices), Physics(cost)))


def places(outcomes: list[Outcome]) -> list[str]:
    return [outcome.parts[0].device for outcome in outcomes]


# --- dmda -------------------------------------------------------------------------------------------------------------


def test_dmda_counts_the_way_of_the_data() -> None:
    times = [[1.0, 9.0], [5.0, 4.0]]
    near, far = [(1, 2, 0.5)], [(1, 2, 2.0)]
    for edges, place, finish in ((near, "cpu_1", 5.5), (far, "cpu_0", 6.0)):
        outcomes = CheckedRace(*world_of(times, edges)).run(create_scheduler("dmda"))
        assert places(list(outcomes)) == ["cpu_0", place]
        assert outcomes.finish_time[1] == finish


def test_data_is_on_its_way_while_the_device_is_busy() -> None:
    # Device 1 is busy until 6. The data of 3 is there at 4, so it ends there at 8, on device 0 at 9.
    outcomes = CheckedRace(*world_of([[1.0, 99.0], [99.0, 6.0], [8.0, 2.0]], [(1, 3, 3.0)])).run(
        create_scheduler("dmda")
    )
    assert places(list(outcomes)) == ["cpu_0", "cpu_1", "cpu_1"]
    assert outcomes.finish_time.tolist() == [1.0, 6.0, 8.0]


# --- work stealing ----------------------------------------------------------------------------------------------------


def test_own_newest_first_then_the_oldest_of_the_longest() -> None:
    # Tasks 0, 2, 4, 6 are in the queue of device 0 and 1 in that of device 1.
    cpus = (Device("cpu_0", "cpu"), Device("cpu_1", "cpu"))
    tasks = [Task(i, 1.0, 1.0, 1.0) for i in (0, 1, 2, 4, 6)]
    outcomes = raced([[3.0, 2.0]] * 5, tasks, cpus).run(create_scheduler("work_stealing"))
    assert places(list(outcomes)) == ["cpu_1", "cpu_1", "cpu_1", "cpu_0", "cpu_0"]
    assert outcomes.finish_time.tolist() == [4.0, 2.0, 6.0, 6.0, 3.0]


def test_a_child_waits_where_its_parent_ran() -> None:
    # The child's number would send it to device 1; its parent ran on device 0, which takes it before what is older.
    cpus = (Device("cpu_0", "cpu"), Device("cpu_1", "cpu"))
    parents, arrival = ((), (), (), (0,)), (0.0, 0.0, 0.5, 0.0)
    tasks = [Task(i, 1.0, 1.0, 1.0, arrival[i], dependencies=parents[i]) for i in range(4)]
    race = raced([[2.0, 2.0], [5.0, 5.0], [2.0, 2.0], [1.0, 1.0]], tasks, cpus)
    outcomes = race.run(create_scheduler("work_stealing"))
    assert places(list(outcomes)) == ["cpu_0", "cpu_1", "cpu_0", "cpu_0"]
    assert dict(zip(outcomes.task_id.tolist(), outcomes.finish_time.tolist(), strict=True)) == {0: 2, 1: 5, 3: 3, 2: 5}


# --- heteroprio -------------------------------------------------------------------------------------------------------


def test_gpus_take_the_most_accelerated_and_cpus_the_least() -> None:
    # Accelerations 1, 8, 2 and 4.
    times = [[4.0, 4.0], [8.0, 1.0], [4.0, 2.0], [8.0, 2.0]]
    outcomes = raced(times, [Task(i, 1.0, 1.0, 1.0) for i in range(4)]).run(create_scheduler("heteroprio"))
    assert places(list(outcomes)) == ["cpu_0", "gpu_0", "gpu_0", "gpu_0"]
    assert outcomes.finish_time.tolist() == [4.0, 1.0, 5.0, 3.0]


@pytest.mark.parametrize(("waiting", "on_cpu"), [(3, 0), (4, 1), (8, 2)])
def test_a_cpu_helps_only_if_enough_wait(waiting: int, on_cpu: int) -> None:
    # The GPU is three times as fast and takes one at once: three others must wait for the CPU to take one of them.
    outcomes = raced([[3.0, 1.0]] * waiting, [Task(i, 1.0, 1.0, 1.0) for i in range(waiting)]).run(
        create_scheduler("heteroprio")
    )
    assert places(list(outcomes)).count("cpu_0") == on_cpu


def test_acceleration_where_there_is_room() -> None:
    cluster, times = ClusterSpec(NODE), {7: np.array([[0.0, 0.0], [6.0, 2.0]])}
    view = ClusterView(0, 0.0, cluster.public_table(), np.zeros(0), cluster.names, times_by_id=times)
    assert acceleration(Task(7, 1.0, 1.0, 50.0), view) == 3.0
    assert acceleration(Task(7, 1.0, 1.0, 500.0), view) == 0.0


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNTIME)
@pytest.mark.parametrize(("times", "edges"), [(HEFT_TIMES, HEFT_EDGES), (PEFT_TIMES, PEFT_EDGES)])
def test_graphs(name: str, times: list[list[float]], edges: Edges) -> None:
    assert not CheckedRace(*world_of(times, edges)).run(create_scheduler(name)).failed.any()


class CountedRace(CheckedRace):
    """Counts how often a task is looked at."""

    looks = 0

    def task(self, position: int) -> Task:
        """One of the tasks."""
        self.looks += 1
        return super().task(position)


@pytest.mark.parametrize("name", ["work_stealing", "heteroprio"])
def test_a_decision_does_not_look_at_all_that_wait(name: str) -> None:
    ones = np.ones(1000)
    race = CountedRace(TaskBatch.from_columns(1000.0 * ones, 0.5 * ones, 50.0 * ones))
    race.run(create_scheduler(name))
    assert race.looks <= 20 * len(race.tasks), "each when it comes, and a few at a decision"
