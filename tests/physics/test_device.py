"""Devices and clusters: the default figures of SPEC section 3, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, KIND, MEMORY, NODE, PRICE, QUEUED, SINCE, WATTS
from hybrid_scheduler.physics.device import FIGURES, ClusterSpec, Device, Disturbance


def test_default_figures() -> None:
    cpu, gpu = Device("c", "cpu"), Device("g", "gpu")
    assert (cpu.watts, cpu.dollars_per_second, cpu.memory_mb, cpu.idle_watts) == (30.0, 0.00002, math.inf, 0.0)
    assert (gpu.watts, gpu.dollars_per_second, gpu.memory_mb, gpu.bandwidth) == (50.0, 0.0001, 8000.0, 16_000.0)
    assert (gpu.speed, gpu.latency, gpu.node, gpu.idle_watts) == (1.0, 0.0, 0, 0.0)


def test_own_figures_stay() -> None:
    gpu = Device("g", "gpu", memory_mb=1.0, watts=0.0, dollars_per_second=0.0)
    assert (gpu.memory_mb, gpu.watts, gpu.dollars_per_second) == (1.0, 0.0, 0.0)


def test_default_cluster() -> None:
    cluster = ClusterSpec.default()
    assert cluster.names == ("cpu_0", "gpu_0", "gpu_1", "gpu_2", "gpu_3")
    assert cluster.gpu_id.tolist() == [-1, 0, 1, 2, 3]
    assert ClusterSpec.default(0).names == ("cpu_0",)
    assert ClusterSpec.default(2, 500.0).column("memory_mb").tolist() == [math.inf, 500.0, 500.0]


@pytest.mark.parametrize("count", [-1, 1025])
def test_number_of_gpus(count: int) -> None:
    with pytest.raises(InvalidInputError, match=f"num_gpus is {count}, but it must be from 0 to 1024"):
        ClusterSpec.default(count)


def test_public_table() -> None:
    cluster = ClusterSpec(
        (Device("g", "gpu", memory_mb=7.0, node=2, watts=9.0, dollars_per_second=0.5), Device("c", "cpu"))
    )
    table = cluster.public_table()
    assert table[:, KIND].tolist() == [1.0, 0.0]
    assert table[:, NODE].tolist() == [2.0, 0.0]
    assert table[:, MEMORY].tolist() == [7.0, math.inf]
    assert table[:, WATTS].tolist() == [9.0, 30.0]
    assert table[:, PRICE].tolist() == [0.5, 0.00002]
    assert table[:, AVAILABLE].tolist() == [1.0, 1.0]
    assert not table[:, [QUEUED, BACKLOG]].any()
    assert np.isnan(table[:, SINCE]).all()


DEFAULTED = ("memory_mb", "watts", "dollars_per_second")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((field, -1.0) for field in FIGURES),
        *((field, math.nan) for field in FIGURES if field not in DEFAULTED),
        *((field, math.inf) for field in FIGURES if field != "memory_mb"),
        ("speed", 0.0),
        ("speed", 1e-320),
        ("speed", 1.1e6),
        ("memory_mb", 0.0),
        ("bandwidth", 0.0),
        ("bandwidth", 1.1e9),
        ("latency", 1e308),
        ("watts", 1.1e6),
        ("dollars_per_second", 1.1e6),
    ],
)
def test_bad_figures(field: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=rf"device 'mine': {field} is .*, but it must be .* from .* to "):
        Device("mine", "gpu", **{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_the_ranges_are_legal_together(end: str) -> None:
    figures = {name: getattr(legal, end) for name, legal in FIGURES.items()}
    assert Device("mine", "gpu", **figures).speed == figures["speed"]


@pytest.mark.parametrize("name", ["", "two\nlines", "\x1b[31m", "x" * 101])
def test_bad_names(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"a device is called .*, but a name must have 1 to 100 printable"):
        Device(name, "cpu")


def test_bad_kind() -> None:
    with pytest.raises(InvalidInputError, match="device 'mine': kind is 'tpu', but it must be 'cpu' or 'gpu'"):
        Device("mine", "tpu")  # type: ignore[arg-type]


def test_bad_clusters() -> None:
    with pytest.raises(InvalidInputError, match="at least one device"):
        ClusterSpec(())
    with pytest.raises(InvalidInputError, match="two devices are called 'x'"):
        ClusterSpec((Device("x", "cpu"), Device("x", "gpu")))
    with pytest.raises(InvalidInputError, match="disturbance of 'y': no such device; known: x"):
        ClusterSpec((Device("x", "cpu"),), (Disturbance(1.0, "y", 0.0),))
    many = tuple(Device(f"gpu_{i}", "gpu") for i in range(1026))
    assert len(ClusterSpec(many[1:]).devices) == 1025
    with pytest.raises(InvalidInputError, match="there are 1026 devices, but a cluster has at most 1025"):
        ClusterSpec(many)


@pytest.mark.parametrize(
    ("time", "speed"),
    [(-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.1e12, 1.0), (0.0, -1.0), (0.0, math.inf), (0.0, 1e-320)],
)
def test_bad_disturbances(time: float, speed: float) -> None:
    with pytest.raises(InvalidInputError, match="disturbance of 'x'"):
        Disturbance(time, "x", speed)


def test_best_speed() -> None:
    cluster = ClusterSpec.default(1).with_disturbances(
        [Disturbance(1.0, "gpu_0", 3.0), Disturbance(2.0, "gpu_0", 0.5), Disturbance(0.0, "cpu_0", 0.0)]
    )
    assert cluster.best_speed().tolist() == [1.0, 3.0]
