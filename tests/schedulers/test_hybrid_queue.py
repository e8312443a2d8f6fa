"""The learned queue: order, starvation, any node, what counts, files, words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.learning.order.network import N_WEIGHTS, initial_weights
from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch
from hybrid_scheduler.model.device_columns import BACKLOG, QUEUED
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.random_nodes import random_world
from hybrid_scheduler.schedulers.fcfs import FirstComeFirstServed
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.hybrid_queue import HybridQueue
from hybrid_scheduler.schedulers.oracle import Oracle
from hybrid_scheduler.schedulers.sjf import ShortestJobFirst
from hybrid_scheduler.training.pretrained import idle_view, load_pretrained
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.capacity import capacity_of_tasks

WORLD = World()


@cache
def stream(count: int, load: float, seed: int = 4, world: World = WORLD) -> TaskBatch:
    tasks = WorkloadGenerator(seed).generate("mixed", count, 1.0)
    return tasks.with_arrivals(tasks.arrival_time / (load * capacity_of_tasks(tasks, world)))


def trained(**parameters: object) -> HybridQueue:
    queue = HybridQueue(**parameters)  # type: ignore[arg-type]
    assert load_pretrained(queue, WORLD)
    return queue


def test_letting_wait_beats_deciding_at_once_by_far() -> None:
    race = Race(stream(6000, 0.8))
    queue, oracle = (race.run(each).response_time for each in (trained(energy_weight=0.0), Oracle()))
    assert queue.mean() < 0.35 * oracle.mean()
    assert np.percentile(queue, 99) < 0.9 * np.percentile(oracle, 99)


def test_one_set_of_weights_serves_a_node_it_has_never_seen() -> None:
    """Two CPUs and unlike GPUs; nothing is known of their times beforehand."""
    world = random_world(31)
    assert HybridQueue().packaged_model(idle_view(world)) is None
    race = Race(stream(4000, 0.75, world=world), world, warmup=1000)
    queue, oracle = (race.run(each).response_time[1000:].mean() for each in (HybridQueue(energy_weight=0.0), Oracle()))
    assert queue < 0.7 * oracle


@pytest.mark.parametrize("limit", [0, 20, 100_000])
def test_the_limit_of_overtaking_is_kept(limit: int) -> None:
    """Overloaded, with one huge task in forty. Who has had enough has the next turn of the device best for it."""
    tasks = stream(2500, 1.3, 9)
    size = tasks.size.copy()
    size[::40] = 5000.0
    huge = TaskBatch.from_tasks(
        [Task(i, size[i], t.compute_intensity, t.memory_required, t.arrival_time) for i, t in enumerate(tasks)]
    )
    worst = int(Race(huge).run(trained(energy_weight=0.0, max_overtaken=limit)).overtaken.max())
    # While the device it waits for is busy with another huge task, short ones go on being started elsewhere.
    assert worst < 400 if limit < 1000 else worst > 1000


def test_without_overtaking_it_is_as_fair_as_first_come_first_served() -> None:
    race = Race(stream(1500, 1.1, 9))
    queue = race.run(trained(energy_weight=0.0, max_overtaken=0))
    fair, short = race.run(FirstComeFirstServed()), race.run(ShortestJobFirst())
    wait = [(each.decided_time - each.arrival_time).max() for each in (queue, fair, short)]
    assert wait[0] < 1.5 * wait[1] < wait[2]


def test_what_counts_is_an_input() -> None:
    race = Race(stream(3000, 0.5))
    joules = [race.run(trained(energy_weight=weight)).energy.sum() for weight in (0.0, 1.0)]
    dollars = [race.run(trained(weights=weights)).cost.sum() for weights in ("time=1", "money=1")]
    assert joules[1] < 0.97 * joules[0]
    assert dollars[1] < 0.97 * dollars[0]


def test_a_burst_on_a_machine_nobody_knows_is_ordered_as_soon_as_something_is_known() -> None:
    """All tasks come at once, before anything was learned, and there are no labels: only own outcomes."""
    tasks = stream(800, 1.0, 6)
    race = Race(tasks.with_arrivals(np.zeros(len(tasks))))
    queue, fair = (
        race.run(each).response_time.mean() for each in (HybridQueue(0.0, use_labels=False), FirstComeFirstServed())
    )
    assert queue < 0.8 * fair


def test_saved_and_loaded_with_its_order(tmp_path: Path) -> None:
    queue = trained(energy_weight=0.0)
    queue.order = initial_weights()
    queue.save_model(tmp_path / "queue.npz")
    again, forest = HybridQueue(energy_weight=0.0), HybridML()
    again.load_model(tmp_path / "queue.npz")
    assert np.array_equal(again.order, initial_weights())
    race = Race(stream(500, 0.7))
    assert np.array_equal(race.run(queue).finish_time, race.run(again).finish_time)
    forest.load_model(tmp_path / "queue.npz")  # its forest is one like any other
    forest.save_model(tmp_path / "forest.npz")
    again.load_model(tmp_path / "forest.npz")
    assert np.array_equal(again.order, initial_weights())


def test_an_order_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=f"must be {N_WEIGHTS} finite numbers"):
        HybridQueue().order = np.zeros(3)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_overtaken": -1}, "max_overtaken is -1"),
        ({"shown_oldest": 0}, "shown_oldest is 0"),
        ({"shown_shortest": 1001}, "shown_shortest is 1001"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, int], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        HybridQueue(**parameters)  # type: ignore[arg-type]


def test_it_explains_itself() -> None:
    task = Task(1, 2000.0, 0.9, 500.0, 0.0)
    cold = HybridQueue()
    assert "Nothing learned yet" in cold.explain(task, idle_view(WORLD)).reason
    queue, view = trained(energy_weight=0.0), idle_view(WORLD)
    free = queue.explain(task, view)
    assert free.reason.startswith("May start now: the best idle device is gpu_")
    assert free.seconds is not None
    assert free.seconds.argmin() > 0
    assert queue.explain(task, _busy(view, range(5), 0.5)).reason.startswith("Waits: no device it fits on is idle")
    better = queue.explain(task, _busy(view, range(1, 5), 0.001)).reason
    assert better.startswith("Better waits: the best idle device is cpu_0")
    assert "gpu_0 would finish it first" in better


def _busy(view: ClusterView, devices: range, seconds: float) -> ClusterView:
    table = view.devices.copy()
    table[list(devices), QUEUED], table[list(devices), BACKLOG] = 1.0, seconds
    return ClusterView(0, 0.0, table, view.facts, view.names)
