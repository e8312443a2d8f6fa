"""Whatever the node, the tasks and the decisions: schedules are valid, nothing is lost, no bound is beaten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_races import Anything, races

from hybrid_scheduler.metrics.avg_response import AverageResponse
from hybrid_scheduler.metrics.makespan import Makespan
from hybrid_scheduler.model import OutcomeBatch
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.registry import create_scheduler, scheduler_names
from hybrid_scheduler.testing import CheckedRace

seeds = st.integers(0, 10_000)


def assert_bounds_hold(race: CheckedRace, outcomes: OutcomeBatch) -> None:
    bound, counted = race.lower_bound(outcomes), race.counted(outcomes)
    makespan, response = Makespan(), AverageResponse()
    makespan.update(counted)
    response.update(counted)
    if counted.failed.all():
        assert (makespan.get(), response.get()) == (None, None)
        return
    assert bound.makespan <= (makespan.get() or 0.0)
    assert bound.avg_response <= (response.get() or 0.0)


@settings(max_examples=400)
@given(races(), seeds)
def test_any_decisions(race: CheckedRace, seed: int) -> None:
    """The judge inside the race finds nothing; every task ended one way or the other; the bounds hold."""
    outcomes = race.run(Anything(seed))
    assert sorted(outcomes.task_id) == sorted(race.tasks.task_id)
    assert np.isfinite(outcomes.finish_time).all()
    assert_bounds_hold(race, outcomes)


@settings(max_examples=40)
@given(races())
def test_every_registered_scheduler(race: CheckedRace) -> None:
    for name in scheduler_names():
        assert_bounds_hold(race, race.run(create_scheduler(name, seed=1)))


@settings(max_examples=30)
@given(races(), seeds)
def test_same_race_twice(race: CheckedRace, seed: int) -> None:
    first, second = (race.run(Anything(seed)) for _ in range(2))
    assert list(first) == list(second)


@settings(max_examples=60)
@given(races(disturbed=False), seeds)
def test_undisturbed_work_is_conserved(race: CheckedRace, seed: int) -> None:
    """Busy seconds are the sum of the work decided, energy is watts times busy seconds: summed here by hand."""
    outcomes = race.run(Anything(seed))
    tasks = {task.task_id: task for task in race.tasks}
    made = {outcome.task_id: outcome.parts for outcome in outcomes}
    busy = dict.fromkeys(race.world.cluster.names, 0.0)
    work = dict.fromkeys(race.world.cluster.names, 0.0)
    for outcome in outcomes:
        two = len(outcome.parts) == 2 and race.world.physics.split == "concurrent"
        for part in outcome.parts:
            busy[part.device] += part.end - part.start
            task = tasks[outcome.task_id]
            resident = sum(
                at.share * megabytes
                for parent, megabytes in zip(task.dependencies, task.dependency_mb, strict=False)
                for at in made[parent]
                if at.device == part.device
            )
            alone = race.seconds(task.task_id, part.device, part.share, min(resident, task.memory_required))
            work[part.device] += alone * (1.0 + race.world.physics.coexecution_penalty if two else 1.0)
    assert busy == pytest.approx(work, rel=1e-9, abs=1e-12)
    joules = sum(device.watts * busy[device.name] for device in race.world.cluster.devices)
    assert float(outcomes.energy.sum()) == pytest.approx(joules, rel=1e-9)


@settings(max_examples=60)
@given(races(disturbed=True), seeds)
def test_disturbances_in_the_far_future_change_nothing(race: CheckedRace, seed: int) -> None:
    calm = race.world.cluster.with_disturbances([])
    late = calm.with_disturbances([type(d)(1e9 + d.time, d.device, d.speed) for d in race.world.cluster.disturbances])
    runs = [
        CheckedRace(race.tasks, World(cluster, race.world.physics), seed=3, isolated=race.isolated).run(Anything(seed))
        for cluster in (calm, late)
    ]
    assert list(runs[0]) == list(runs[1])


class Lazy(Scheduler):
    """Everything on the last device that is up: queues as long as can be."""

    def decide(self, task, view):  # type: ignore[no-untyped-def]
        from hybrid_scheduler.model import Decision

        return Decision.whole(max(view.cpus() + view.gpus()))


@settings(max_examples=60)
@given(races())
def test_one_long_queue(race: CheckedRace) -> None:
    assert_bounds_hold(race, race.run(Lazy()))
