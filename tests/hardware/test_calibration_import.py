"""Another machine's measurements: what its files say becomes a node, and what they do not say stays the default."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hybrid_scheduler.config import load_cluster_section
from hybrid_scheduler.hardware.calibration_file import read_calibration, write_machine
from hybrid_scheduler.hardware.calibration_import import read_machine, read_power, read_splits
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.device import Device

KERNELS = """kind,size,cpu_s,cpu_min_s,cpu_max_s,gpu_s,gpu_min_s,gpu_max_s,upload_s,download_s
sort,1000,1e-2,1e-2,1e-2,1e-3,1e-3,1e-3,1e-3,1e-3
sort,2000,2e-2,2e-2,2e-2,2e-3,2e-3,2e-3,2e-3,2e-3
sort,10,1e-4,1e-4,1e-4,5e-5,4e-5,6e-5,1e-5,1e-5
"""
SPLITS = """kind,size,gpu_fraction,both_s,gpu_part_alone_s,cpu_part_alone_s
sort,1000,0.0,9,1,1
sort,1000,0.2,1.1,0.3,1.0
sort,1000,0.5,1.5,1.0,0.5
sort,1000,0.8,1.0,1.0,0.1
"""
POWER = """load,size,watts
idle,0,100
sort,1000,300
fft,1000,500
axpy,1000,350
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    (tmp_path / "kernels.csv").write_text(KERNELS)
    return tmp_path / "kernels.csv"


def test_launch_and_transfer_stand_apart(kernels: Path) -> None:
    machine = read_machine(kernels).machine
    largest = next(m for m in machine.measurements if m.size == 2000 and m.device == "gpu_0")
    # The shortest run of all is what every part pays.
    assert (largest.launch, largest.compute, largest.transfer) == pytest.approx((4e-5, 2e-3 - 4e-5, 4e-3))
    assert machine.measured["gpu_0"] == {"latency", "bandwidth"}
    gpu = machine.cluster.devices[1]
    assert gpu.latency == pytest.approx(4e-5)
    # 8 MB in 2 ms, 16 MB in 4 ms; the 80 kB say nothing of a bandwidth.
    assert gpu.bandwidth == pytest.approx(4000.0)
    assert math.log(6e-5 / 4e-5) / 2.7 == pytest.approx(machine.measurements[5].scatter)


def test_splits_and_power_lie_beside(kernels: Path) -> None:
    assert read_machine(kernels).machine.together is None
    kernels.with_name("split.csv").write_text(SPLITS)
    kernels.with_name("power.csv").write_text(POWER)
    read = read_machine(kernels)
    assert [path.name for path in read.files] == ["kernels.csv", "split.csv", "power.csv"]
    # Splits alone count, each against the longer of its parts: 0.1, 0.5 and 0.
    assert read.machine.together is not None
    assert read.machine.together.penalty == pytest.approx(0.1)
    gpu = read.machine.cluster.devices[1]
    assert (gpu.watts, gpu.idle_watts) == (350.0, 100.0)
    assert read.machine.not_measured(gpu) == ("memory_mb",)
    assert read.machine.not_measured(read.machine.cluster.devices[0]) == ("watts", "idle_watts")


def test_a_node_file_says_what_was_measured_and_what_not(kernels: Path) -> None:
    kernels.with_name("power.csv").write_text(POWER)
    machine = read_machine(kernels).machine
    path = kernels.with_name("node.yaml")
    table = write_machine(path, machine)
    text = path.read_text()
    assert "# cpu_0: watts, idle_watts not measured: the defaults." in text
    assert "coexecution_penalty was not measured" in text
    section = load_cluster_section(path)
    assert section.build(0).devices == machine.cluster.devices
    assert section.build(0).devices[0].watts == Device("cpu_0", "cpu").watts
    assert section.physics.noise == pytest.approx(machine.noise, rel=1e-3)
    assert section.physics.coexecution_penalty is None
    assert section.calibration == str(table)
    assert read_calibration(table).measurements == machine.measurements


def test_errors_name_the_file(tmp_path: Path, kernels: Path) -> None:
    with pytest.raises(InvalidInputError, match="has no measurement of fft"):
        read_machine(kernels, ["fft"])
    (tmp_path / "split.csv").write_text(SPLITS.splitlines()[0] + "\nsort,1,1.0,1,1,1\n")
    with pytest.raises(InvalidInputError, match=r"split.csv: no row has a gpu_fraction between 0 and 1"):
        read_splits(tmp_path / "split.csv")
    (tmp_path / "power.csv").write_text("load,watts\nidle,many\n")
    with pytest.raises(InvalidInputError, match=r"power.csv.*line 2.*watts"):
        read_power(tmp_path / "power.csv")


def test_h200(shared_data: Path) -> None:
    """The measurements of a real machine: what its errors are, and that the unreliable ones are named."""
    machine = read_machine(shared_data / "hardware" / "kernels.csv").machine
    errors = machine.cost.errors()
    assert len(errors) == 8
    named = [(each.kind, each.device) for each in machine.cost.noisy()]
    assert named == [("axpy", "cpu_0"), ("loop", "cpu_0")]
    for kind, found in errors.items():
        assert found["gpu_0"] is not None
        assert found["all"] is not None
        assert found["gpu_0"] <= 0.15, kind
        # Over both devices axpy is at 16 %: half of that is the CPU's noise.
        assert found["all"] <= (0.165 if kind == "axpy" else 0.15), kind
    gpu = machine.cluster.devices[1]
    assert gpu.idle_watts == pytest.approx(121.045)
    assert 278 < gpu.watts < 619
    assert machine.together is not None
    assert len(machine.together.stretches) == 90
    assert machine.together.penalty == pytest.approx(0.536, abs=0.01)
