"""Kernels as the tasks of a scenario: on any node, and on a calibrated one those that were measured."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.config import Config
from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.hardware.calibration_file import write_machine
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.scenario import Scenario, ScenarioOptions


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Two CPUs that were measured: a sort of size n takes n ms, an fft the half of that, each from its own least."""
    rows = [
        Measurement(kind, size, device, 0.0, factor * size)
        for kind, sizes, factor in (("sort", (10.0, 1000.0), 1e-3), ("fft", (20.0, 2000.0), 5e-4))
        for size in sizes
        for device in ("cpu_0", "cpu_1")
    ]
    machine = CalibratedMachine.of(rows, ClusterSpec.default(0, num_cpus=2), {}, {})
    write_machine(tmp_path / "node.yaml", machine)
    return tmp_path / "node.yaml"


def scenario(**options: object) -> Scenario:
    return ScenarioOptions(**options).scenario(Config())  # type: ignore[arg-type]


def test_a_calibrated_node_races_on_what_was_measured(node: Path) -> None:
    race = scenario(cluster=node, tasks=500, load=0.5)
    assert race.preset == "kernels:kinds=sort+fft,sizes=20-1000"
    assert {task.kind for task in race.batch()} == {"sort", "fft"}
    times = race.world.timed(race.batch()).nominal.sum(axis=1)
    assert times.min() > 0
    # Two equal devices: the capacity is two over the mean time, and load 0.5 is half of that.
    mean = np.mean(
        [t.size * (1e-3 if t.kind == "sort" else 5e-4) for t in scenario(cluster=node, tasks=20_000).batch()]
    )
    assert race.capacity == pytest.approx(2.0 / mean, rel=0.03)
    assert race.rate == pytest.approx(0.5 * race.capacity)


def test_what_somebody_asks_for_is_kept(node: Path) -> None:
    assert scenario(cluster=node, preset="kernels:kinds=fft").preset == "kernels:kinds=fft,sizes=20-2000"
    assert scenario(cluster=node, preset="kernels:sizes=30-40").preset == "kernels:kinds=sort+fft,sizes=30-40"
    with pytest.raises(InvalidInputError, match="matmul"):
        scenario(cluster=node, preset="kernels:kinds=matmul").batch()
    outside = scenario(cluster=node, preset="kernels:sizes=1-5")
    with pytest.raises(InvalidInputError, match="lies outside what was measured"):
        outside.world.timed(outside.batch())


def test_on_any_other_node_times_are_nominal() -> None:
    race = scenario(preset="kernels:kinds=matmul,sizes=500", tasks=10)
    assert set(race.batch().duration_estimate) == {2 * 500**3 / 20e9}
    assert race.capacity > 0
    assert race.facts()["kernels"] == {"kinds": ["matmul"], "sizes": [500.0, 500.0]}
    assert {task.kind for task in race.training(30).batch()} == {"matmul"}


def test_a_live_stream_goes_on_without_an_end(node: Path) -> None:
    stream = scenario(cluster=node, rate=2.0).stream()
    arrived = [stream.until(1e9, 3000, first) for first in (0, 3000, 6000)]
    tasks = [task for block in arrived if block is not None for task in block.tasks]
    assert len(tasks) == 3000 + 1096 + 3000  # a block ends at 4096
    assert all(a.arrival_time <= b.arrival_time for a, b in pairwise(tasks))
    whole = scenario(cluster=node, rate=2.0, tasks=3000).batch()
    assert [(t.kind, t.size) for t in tasks[:3000]] == [(t.kind, t.size) for t in whole]


@pytest.mark.parametrize("option", [{"size_range": (1.0, 2.0)}, {"dependency_prob": 0.5}])
def test_options_of_other_tasks_are_refused(option: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="preset kernels makes kernels"):
        scenario(preset="kernels", **option)
