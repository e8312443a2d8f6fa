"""From outcomes to rows: the figures are the outcome's own."""

from __future__ import annotations

import math

import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import Outcome, PartRecord, Task
from hybrid_scheduler.model.task import cpu_base_duration
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.store import PartRow, TaskRow, result_row, task_row, training_row
from hybrid_scheduler.store.checks import check_batch
from hybrid_scheduler.store.rows import Batch
from hybrid_scheduler.workloads import WorkloadGenerator


def test_a_split_task_with_a_lost_part() -> None:
    parts = (
        PartRecord("gpu_1", 1, 1.0, 2.0, 2.5, 0.75, lost=True),
        PartRecord("gpu_2", 2, 0.75, 3.0, 4.0, 1.0),
        PartRecord("cpu_0", None, 0.25, 3.0, 3.5, math.nan),
    )
    row = result_row(Outcome(7, 1.0, 1.5, 1.75, 4.0, 1.0, 60.0, 0.5, False, 3, parts, (0.0, 1.5)), "mct", 107)
    assert (row.ready_time, row.queue_seconds) == (1.5, (0.0, 1.5))
    assert (row.decided_time, row.overtaken) == (1.75, 3)
    assert row[:4] == (107, "mct", 0.75, 2)
    assert (row.actual_time, row.wait_time, row.response_time, row.finish_time) == (1.0, 2.0, 3.0, 4.0)
    assert (row.energy_consumption, row.execution_cost, row.failed) == (60.0, 0.5, False)
    assert row.parts == (
        PartRow("gpu_1", 1.0, 2.0, 2.5, 0.75, True),
        PartRow("gpu_2", 0.75, 3.0, 4.0, 1.0, False),
        PartRow("cpu_0", 0.25, 3.0, 3.5, None, False),
    )


def test_a_failed_task() -> None:
    row = result_row(Outcome(0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, True, 0, ()), "mct", 0)
    assert (row.gpu_fraction, row.gpu_id, row.failed, row.parts) == (0.0, None, True, ())


def test_whole_numbers_become_real_ones() -> None:
    assert task_row(Task(3, 100, 1, 10, 2), 5, 8, [7]) == TaskRow(
        8, 5, 100.0, 1.0, 10.0, 2.0, (7,), cpu_base_duration(100.0, 1.0), "synthetic"
    )
    check_batch(
        Batch(
            [task_row(Task(3, 100, 1, 10), 5, 8)], [result_row(Outcome(3, 0, 0, 0, 1, 1, 1, 0, False, 0, ()), "a", 8)]
        )
    )


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_race_fits_the_store(noise: float) -> None:
    tasks = WorkloadGenerator(3).generate("mixed", 50, 30.0, dependency_prob=0.4)
    world = World(physics=Physics(noise=noise))
    race = Race(tasks, world, seed=1)
    outcomes = {name: race.run(create_scheduler(name, seed=1)) for name in ("greedy", "oracle", "mct")}
    labels = race.timed.labels()
    rows = [task_row(task, 1, task.task_id, task.dependencies) for task in tasks]
    results = [result_row(each, name, each.task_id) for name, batch in outcomes.items() for each in batch]
    training = [training_row(label, label.task.task_id, world.cluster.names) for label in labels]
    check_batch(Batch(rows, results, training))
    assert set(training[0].times) == set(world.cluster.names)
    assert training[4].optimal_time <= min(seconds for seconds in training[4].times.values() if seconds) * (1 + 1e-12)
