"""The queues that a race records are those that follow from its parts, and recording them changes nothing else."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal

import numpy as np
import pytest

from hybrid_scheduler.engine.live import LiveRace
from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model import OutcomeBatch, TaskBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.device import ClusterSpec, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.workloads import WorkloadGenerator

NAMES = ("greedy", "mct", "cpu_only", "oracle", "sjf", "fcfs")


def workload(count: int = 300, dependency_prob: float = 0.3) -> TaskBatch:
    return WorkloadGenerator(5).generate("mixed", count, arrival_rate=30.0, dependency_prob=dependency_prob)


def replayed(outcomes: OutcomeBatch) -> FloatArray:
    """Without disturbances a device serves its parts in the order they were decided: it is free at the last end.

    A task that waits for its scheduler is decided at the start of a part at the earliest; one part of it may wait.
    """
    free = np.zeros(len(outcomes.device_names))
    queues = np.full((len(outcomes), len(free)), np.nan)
    rows = zip(outcomes.part_task, outcomes.part_device, outcomes.part_end, strict=True)
    for task, device, end in rows:
        if np.isnan(queues[task, 0]):
            queues[task] = np.maximum(free - outcomes.ready_time[task], 0.0)
        free[device] = end
    return queues


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["concurrent", "serial"])
def test_recording_changes_nothing_else(name: str, split: Literal["concurrent", "serial"]) -> None:
    world = World(ClusterSpec.default(2), Physics(split=split, noise=0.2))
    tasks = workload()
    plain = Race(tasks, world, seed=3).run(create_scheduler(name))
    noted = Race(tasks, world, seed=3).run(create_scheduler(name), recording=True)
    assert plain.queue_seconds is None
    for field in fields(OutcomeBatch):
        if field.name != "queue_seconds":
            np.testing.assert_array_equal(getattr(plain, field.name), getattr(noted, field.name))
    assert noted.queue_seconds is not None
    if create_scheduler(name).dispatches:
        # Decided later than ready: no device could start it before the decision, nor before it was free.
        assert (noted.queue_seconds >= replayed(noted) - 1e-9).all()
        first = np.array([noted.part_start[noted.part_task == i].min() for i in range(len(noted))])
        assert (noted.queue_seconds.min(axis=1) <= first - noted.ready_time + 1e-9).all()
    else:
        np.testing.assert_array_equal(noted.queue_seconds, replayed(noted))
    assert (noted.queue_seconds > 0).sum() > 100


def test_python_and_compiled_note_the_same() -> None:
    tasks = workload()
    for name in ("greedy", "sjf"):
        race = Race(tasks, World(ClusterSpec.default(2)))
        fast = race.run(create_scheduler(name), recording=True)
        slow = race.run(create_scheduler(name), recording=True, compiled=False)
        np.testing.assert_array_equal(fast.queue_seconds, slow.queue_seconds)


def test_a_device_that_is_down_cannot_start_anything() -> None:
    cluster = ClusterSpec.default(2).with_disturbances([Disturbance(2.0, "gpu_0", 0.0), Disturbance(6.0, "gpu_0", 1.0)])
    outcomes = Race(workload(), World(cluster)).run(create_scheduler("greedy"), recording=True)
    queues, ready = outcomes.queue_seconds, outcomes.ready_time
    assert queues is not None
    down = (ready >= 2.0) & (ready < 6.0)
    column = cluster.names.index("gpu_0")
    assert down.sum() > 10
    assert np.isinf(queues[down, column]).all()
    assert np.isfinite(np.delete(queues, column, axis=1)).all()
    assert np.isfinite(queues[~down]).all()


def test_the_live_race_notes_what_the_batch_race_does() -> None:
    """Also of tasks whose neighbours are forgotten already."""
    world, tasks = World(ClusterSpec.default(2)), workload(dependency_prob=0.0)
    whole = {name: Race(tasks, world).run(create_scheduler(name), recording=True) for name in ("greedy", "sjf")}
    race = LiveRace({name: create_scheduler(name) for name in whole}, world, forget=16)
    race.add(tasks)
    ends = [*np.linspace(0.0, 12.0, 40), np.inf]
    turns = [race.advance(float(end)).finished for end in ends]
    assert race.forgotten > 0
    order = [task.task_id for turn in turns for task in turn.tasks]
    assert sorted(order) == tasks.task_id.tolist()
    for name, batch in whole.items():
        found = np.concatenate([turn.outcomes[name].queue_seconds for turn in turns if len(turn)])
        expected = batch.queue_seconds
        assert expected is not None
        np.testing.assert_array_equal(found[np.argsort(order)], expected)


def test_a_task_that_was_never_decided_has_no_queues() -> None:
    cluster = ClusterSpec.default(0).with_disturbances([Disturbance(1.0, "cpu_0", 0.0)])
    outcomes = Race(workload(50), World(cluster)).run(create_scheduler("cpu_only"), recording=True)
    never = [i for i, outcome in enumerate(outcomes) if outcome.failed and not outcome.parts]
    assert never
    assert all(outcomes[i].queue_seconds is None for i in never)
    assert outcomes[0].queue_seconds is not None
