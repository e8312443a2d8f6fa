"""Backfilling by hand: who overtakes whom, and at whose expense."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace

JOBS = {
    # Runs on two of four CPUs until 10; the next needs three, so one is left for an hour, or two until 10.
    0: (0.0, 2, 10.0),
    1: (1.0, 3, 10.0),
    2: (2.0, 4, 5.0),
    3: (3.0, 1, 30.0),
    4: (4.0, 1, 6.0),
}
"""Arrival, width and seconds."""


def starts(scheduler: str, jobs: dict[int, tuple[float, int, float]], cpus: int = 4) -> dict[int, float]:
    cluster = ClusterSpec(tuple(Device(f"cpu_{i}", "cpu") for i in range(cpus)))
    tasks = [Task(i, 1.0, 0.5, 0.0, arrival, seconds, width=width) for i, (arrival, width, seconds) in jobs.items()]
    seconds = np.repeat([[job[2]] for job in jobs.values()], cpus, axis=1)
    world = World(cluster, Physics(TableCost(seconds, tuple(jobs), cluster.names)))
    outcomes = CheckedRace(TaskBatch.from_tasks(tasks), world).run(create_scheduler(scheduler))
    assert not outcomes.failed.any()
    return {outcome.task_id: outcome.parts[0].start for outcome in outcomes}


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        # Nobody overtakes.
        ("fcfs", {0: 0.0, 1: 10.0, 2: 20.0, 3: 25.0, 4: 25.0}),
        # 3 uses the CPU that 1 leaves, though 2 has to wait for it then; 4 is done before 1 starts.
        ("easy_backfill", {0: 0.0, 1: 10.0, 2: 33.0, 3: 3.0, 4: 4.0}),
        # 3 would delay 2, which has a reservation from 20 on.
        ("conservative_backfill", {0: 0.0, 1: 10.0, 2: 20.0, 3: 25.0, 4: 4.0}),
    ],
)
def test_by_hand(scheduler: str, expected: dict[int, float]) -> None:
    assert starts(scheduler, JOBS) == expected


@pytest.mark.parametrize("scheduler", ["easy_backfill", "conservative_backfill"])
def test_first_of_the_queue_is_never_delayed(scheduler: str) -> None:
    draw = np.random.default_rng(3)
    for _ in range(5):
        arrival = np.cumsum(draw.exponential(1.0, 40))
        jobs = {i: (float(arrival[i]), int(draw.integers(1, 5)), float(draw.exponential(4.0) + 0.1)) for i in range(40)}
        served, backfilled = starts("fcfs", jobs), starts(scheduler, jobs)
        waits = [np.mean([start[i] - jobs[i][0] for i in jobs]) for start in (served, backfilled)]
        assert waits[1] < waits[0]
        # Exact estimates: the plan of conservative backfilling only ever gets better.
        if scheduler == "conservative_backfill":
            assert all(backfilled[i] <= served[i] + 1e-9 for i in jobs)


@pytest.mark.parametrize("scheduler", ["hybrid_queue", "sjf"])
def test_wide_tasks_do_not_starve_or_queue_behind_busy_devices(scheduler: str) -> None:
    jobs = {i: (0.1 * i, 1 + 3 * (i % 5 == 0), 3.0) for i in range(30)}
    assert len(starts(scheduler, jobs)) == 30
