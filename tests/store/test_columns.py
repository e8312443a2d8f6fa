"""Rows become the columns of the race again, to the last bit; what is not stored is unknown."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import OutcomeBatch, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.store import ComparedTask, raced, result_rows, task_row
from hybrid_scheduler.workloads import WorkloadGenerator

WORLD, NAMES = World(ClusterSpec.default(2), Physics(noise=0.2)), ("greedy", "mct", "sjf")


@pytest.fixture(scope="module")
def race() -> tuple[TaskBatch, dict[str, OutcomeBatch]]:
    made = WorkloadGenerator(3).generate("mixed", 60, 30.0, dependency_prob=0.4)
    count = len(made)
    tasks = replace(
        made,
        duration_estimate=1.25 * made.duration_estimate,  # not what size and intensity give
        kinds=("matmul", "sort"),
        kind_index=np.arange(count) % 2,
    )
    outcomes = {name: Race(tasks, WORLD, seed=1).run(create_scheduler(name)) for name in NAMES}
    queues = np.random.default_rng(1).random((count, 3)) / 3
    queues[4] = np.nan
    told = outcomes["mct"].energy
    untold = replace(outcomes["mct"], energy=np.where(np.arange(count) == 5, np.nan, told))
    return tasks, outcomes | {"greedy": replace(outcomes["greedy"], queue_seconds=queues), "mct": untold}


def _stored(tasks: TaskBatch, outcomes: dict[str, OutcomeBatch]) -> list[ComparedTask]:
    ids = tasks.task_id.tolist()
    rows = {name: result_rows(each, name, ids) for name, each in outcomes.items()}
    return [
        ComparedTask(task_row(task, 1, task.task_id, task.dependencies), tuple(rows[name][i] for name in NAMES))
        for i, task in enumerate(tasks)
    ]


def test_columns_come_back(race: tuple[TaskBatch, dict[str, OutcomeBatch]]) -> None:
    tasks, outcomes = race
    assert any((each.ready_time > each.arrival_time).any() for each in outcomes.values())
    assert (outcomes["sjf"].decided_time > outcomes["sjf"].ready_time).any()
    assert outcomes["sjf"].overtaken.any()
    found_tasks, found = raced(_stored(tasks, outcomes), NAMES, WORLD)
    assert list(found_tasks) == list(tasks)
    for name in NAMES:
        order = np.argsort(outcomes[name].part_task, kind="stable")  # rows are stored by task
        for field in fields(OutcomeBatch):
            expected, value = getattr(outcomes[name], field.name), getattr(found[name], field.name)
            if field.name.startswith("part_"):
                expected = expected[order]
            if field.name in ("least_seconds", "graphs") or (field.name == "queue_seconds" and expected is None):
                assert value is None  # of stored races nobody knows the best times
            else:
                np.testing.assert_array_equal(value, expected, err_msg=field.name)


def test_what_older_versions_did_not_store_is_unknown(race: tuple[TaskBatch, dict[str, OutcomeBatch]]) -> None:
    tasks, outcomes = race
    old = [
        ComparedTask(
            each.task._replace(duration_estimate=None, kind=None),
            tuple(
                row._replace(ready_time=None, queue_seconds=None, decided_time=None, overtaken=None)
                for row in each.results
            ),
        )
        for each in _stored(tasks, outcomes)
    ]
    found_tasks, found = raced(old, NAMES, WORLD)
    assert np.isnan(found_tasks.duration_estimate).all()
    assert found_tasks.kinds == ("unknown",)
    assert all(np.isnan(each.ready_time).all() and each.queue_seconds is None for each in found.values())
    assert all(np.isnan(each.decided_time).all() and (each.overtaken == -1).all() for each in found.values())
    assert (found["mct"].finish_time == outcomes["mct"].finish_time).all()
