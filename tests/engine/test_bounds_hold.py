"""Corners in which a lower bound could be beaten by rounding or by a way it did not think of."""

from __future__ import annotations

import pytest

from hybrid_scheduler.metrics.avg_response import AverageResponse
from hybrid_scheduler.metrics.makespan import Makespan
from hybrid_scheduler.model import ClusterView, Decision, Part, Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import MemoryPolicy, Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace


def assert_not_beaten(race: CheckedRace, scheduler: Scheduler) -> None:
    outcomes = race.run(scheduler)
    bound, counted = race.lower_bound(outcomes), race.counted(outcomes)
    makespan, response = Makespan(), AverageResponse()
    makespan.update(counted)
    response.update(counted)
    assert bound.makespan <= (makespan.get() or 0.0)
    assert bound.avg_response <= (response.get() or 0.0)


COARSE = 2.0**-23
"""The clock's step around 10^9 s."""


def short_tasks(count: int, arrival: float = 0.0, first: int = 0) -> list[Task]:
    """On a CPU around 10^9 s the clock rounds every one of them down."""
    return [Task(i, 100.0, 0.3, 1.0, arrival, COARSE * (i + 800.4)) for i in range(first, first + count)]


@pytest.mark.parametrize("scheduler", ["oracle", "cpu_only", "greedy"])
@pytest.mark.parametrize("gpus", [0, 4])
def test_clock_far_from_zero(scheduler: str, gpus: int) -> None:
    tasks = TaskBatch.from_tasks(short_tasks(9, 1e9))
    assert_not_beaten(CheckedRace(tasks, World(ClusterSpec.default(gpus))), create_scheduler(scheduler))


def test_isolated_after_a_long_outage() -> None:
    """Nothing is up until 10^9 s, so the short tasks run where the clock is coarse."""
    cluster = ClusterSpec.default(num_gpus=0)
    out = [Disturbance(time, name, speed) for time, speed in ((0.0, 0.0), (1e9, 1.0)) for name in cluster.names]
    race = CheckedRace(TaskBatch.from_tasks(short_tasks(9)), World(cluster.with_disturbances(out)), isolated=True)
    assert_not_beaten(race, create_scheduler("cpu_only"))


def test_isolated_after_a_long_warmup() -> None:
    tasks = [Task(0, 100.0, 0.3, 1.0, 0.0, 1e9), *short_tasks(9, first=1)]
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(ClusterSpec.default(num_gpus=0)), isolated=True, warmup=1)
    assert_not_beaten(race, create_scheduler("cpu_only"))


class Nearly(Scheduler):
    """Whole tasks on the last GPU, with a share that rounding has left its mark on."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        return Decision((Part(view.gpus()[-1], 1.0 - 9e-13),))


@pytest.mark.parametrize("policy", ["fail", "fallback"])
@pytest.mark.parametrize("kinds", [("gpu",), ("cpu", "gpu")])
def test_memory_filled_to_the_last_bit(policy: MemoryPolicy, kinds: tuple[str, ...]) -> None:
    """A share of nearly 1 would fit by a hair where the whole does not; bounds and memory policy must agree on that."""
    cluster = ClusterSpec(tuple(Device(kind, kind, memory_mb=100.0) for kind in kinds))  # type: ignore[arg-type]
    tasks = [Task(i, 500.0, 0.9, 100.0 * (1.0 + i * 2e-13), 0.0, 1.0) for i in range(6)]
    assert_not_beaten(CheckedRace(TaskBatch.from_tasks(tasks), World(cluster, Physics(memory_policy=policy))), Nearly())


def test_speed_up_is_known_to_the_bound() -> None:
    """Twice the speed from the middle on: the bound must not assume that a second of work takes a second."""
    cluster = ClusterSpec.default(num_gpus=0).with_disturbances([Disturbance(0.0, "cpu_0", 4.0)])
    tasks = [Task(i, 100.0, 0.5, 1.0, 0.0, 2.0) for i in range(5)]
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(cluster))
    outcomes = race.run(create_scheduler("cpu_only"))
    assert outcomes.finish_time.max() == pytest.approx(2.5)
    assert race.lower_bound(outcomes).makespan == pytest.approx(2.5)


def test_bounds_are_tight_where_they_can_be() -> None:
    """One device, one queue: nobody can do better than the work, and the bound says so. A chain: its length."""
    single = ClusterSpec.default(num_gpus=0)
    tasks = [Task(i, 100.0, 0.5, 1.0, 3.0, 2.0) for i in range(5)]
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(single))
    bound = race.lower_bound(race.run(create_scheduler("cpu_only")))
    assert (bound.makespan, bound.avg_response) == pytest.approx((10.0, 6.0))
    chain = [Task(i, 100.0, 0.5, 1.0, 3.0, 2.0, (i - 1,) if i else ()) for i in range(5)]
    race = CheckedRace(TaskBatch.from_tasks(chain), World(single))
    bound = race.lower_bound(race.run(create_scheduler("cpu_only")))
    assert (bound.makespan, bound.avg_response) == pytest.approx((10.0, 6.0))


def test_failed_tasks_are_not_in_the_bound() -> None:
    tasks = [Task(0, 100.0, 0.5, 1.0, 0.0, 2.0), Task(1, 100.0, 0.5, 500.0, 0.0, 1000.0)]
    cluster = ClusterSpec((Device("gpu_0", "gpu", memory_mb=100.0),))
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(cluster, Physics(memory_policy="fail")))
    outcomes = race.run(create_scheduler("gpu_only"))
    assert outcomes.failed.tolist() == [False, True]
    assert race.lower_bound(outcomes).makespan == pytest.approx(2.0 / 2.5 + 1.0 / 16_000)


def test_no_bound_for_nothing() -> None:
    """Every task failed: there is nothing to bound."""
    cluster = ClusterSpec((Device("gpu_0", "gpu", memory_mb=100.0),))
    race = CheckedRace(
        TaskBatch.from_tasks([Task(0, 100.0, 0.5, 500.0)]), World(cluster, Physics(memory_policy="fail"))
    )
    bound = race.lower_bound(race.run(create_scheduler("gpu_only")))
    assert (bound.makespan, bound.avg_response) == (0.0, 0.0)
