"""Capacity: the file agrees with the sample, every other node is worked out, and only what matters matters."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.task import TaskBatch
from hybrid_scheduler.physics.cost import FormulaCost, Speedup, TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.workloads import capacity as room
from hybrid_scheduler.workloads.capacity import capacity, capacity_of_tasks, describe
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.presets import PRESETS


@pytest.fixture
def no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for the sample now has not found the answer in the file."""

    def refuse(preset: str) -> TaskBatch:
        raise AssertionError(f"the capacity for {preset} was computed, not looked up")

    monkeypatch.setattr(room, "_sample", refuse)


@pytest.mark.usefixtures("no_sample")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("speedup", get_args(Speedup))
def test_default_nodes_are_looked_up_and_more_gpus_do_more(preset: str, speedup: Speedup) -> None:
    rates = [capacity(preset, World(ClusterSpec.default(gpus), Physics(FormulaCost(speedup)))) for gpus in range(9)]
    assert rates[0] > 0
    assert all(more > less for less, more in pairwise(rates))


@pytest.mark.parametrize(("preset", "speedup", "gpus"), [("mixed", "linear", 4), ("drift", "amdahl", 1)])
def test_the_file_agrees_with_the_sample(preset: str, speedup: Speedup, gpus: int) -> None:
    """If this fails after a change of presets, generator or formula: python -m hybrid_scheduler.workloads.capacity."""
    tasks = WorkloadGenerator(0).generate(preset, 1_000_000)
    physics = Physics(FormulaCost(speedup))
    world = World(ClusterSpec.default(gpus), physics)
    assert capacity(preset, world) == pytest.approx(capacity_of_tasks(tasks, world), rel=2e-5)
    alone = capacity(preset, World(ClusterSpec.default(0), physics))
    assert alone == pytest.approx(1.0 / tasks.duration_estimate.mean(), rel=1e-9)


@pytest.mark.usefixtures("no_sample")
def test_names_order_memory_power_price_and_place_do_not_matter() -> None:
    other = ClusterSpec(
        (
            Device("quick", "gpu", memory_mb=1.0, watts=1.0, dollars_per_second=9.0, node=3),
            Device("slow", "cpu", bandwidth=1.0, idle_watts=5.0),
        ),
        (Disturbance(5.0, "quick", 0.0),),
    )
    assert capacity("uniform", World(other)) == capacity("uniform", World(ClusterSpec.default(1)))


@pytest.mark.parametrize("change", [{"speed": 1.5}, {"bandwidth": 8000.0}, {"latency": 0.1}])
def test_speed_link_and_latency_matter(change: dict[str, float]) -> None:
    tasks = WorkloadGenerator(1).generate("mixed", 2000)
    node = ClusterSpec.default(1)
    other = ClusterSpec((node.devices[0], replace(node.devices[1], **change)))  # type: ignore[arg-type]
    assert describe(node, "linear") != describe(other, "linear")
    gain = capacity_of_tasks(tasks, World(other)) / capacity_of_tasks(tasks, World(node))
    assert (gain > 1.0) == ("speed" in change)
    assert not math.isclose(gain, 1.0, rel_tol=1e-3)


def test_another_node_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def small(preset: str) -> TaskBatch:
        asked.append(preset)
        return WorkloadGenerator(0).generate(preset, 5000)

    monkeypatch.setattr(room, "_sample", small)
    monkeypatch.setattr(room, "_computed", {})
    node = ClusterSpec((Device("cpu_0", "cpu", speed=2.0), Device("gpu_0", "gpu", speed=2.0, bandwidth=32_000.0)))
    rate = capacity("mixed", World(node))
    assert rate == capacity("mixed", World(node))
    assert asked == ["mixed"]
    # Everything twice as fast.
    assert rate == pytest.approx(2.0 * capacity_of_tasks(small("mixed"), World(ClusterSpec.default(1))))


def test_a_table_of_times_by_hand() -> None:
    """Two tasks, each good on one device: a second each, both busy all the time."""
    tasks = TaskBatch.from_columns(np.ones(2), np.ones(2), np.ones(2))
    table = TableCost(np.array([[1.0, 9.0], [9.0, 1.0]]), (0, 1), ("cpu_0", "gpu_0"))
    assert capacity_of_tasks(tasks, World(ClusterSpec.default(1), Physics(table))) == pytest.approx(2.0, rel=2e-5)


def test_many_equal_devices_are_one_fast_one() -> None:
    tasks = WorkloadGenerator(2).generate("uniform", 500)
    many = capacity_of_tasks(tasks, World(ClusterSpec.default(1000)))
    fast = ClusterSpec((Device("cpu_0", "cpu"), Device("gpu_0", "gpu", speed=1000.0, bandwidth=16e6)))
    assert many == pytest.approx(capacity_of_tasks(tasks, World(fast)), rel=2e-5)


def test_bad_questions_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="mixed"):
        capacity("mixd", World(ClusterSpec.default(1)))
    empty = TaskBatch.from_columns(np.zeros(0), np.zeros(0), np.zeros(0))
    with pytest.raises(InvalidInputError, match="no tasks"):
        capacity_of_tasks(empty, World(ClusterSpec.default(1)))
