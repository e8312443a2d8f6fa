"""Calibration on lanes whose times are known: what goes in comes out."""

from __future__ import annotations

import numpy as np
import pytest
from fake_lanes import FakeLanes, FakeMeter, FakeWork

from hybrid_scheduler.hardware.calibrated_machine import CalibratedMachine
from hybrid_scheduler.hardware.calibration import OTHERS_BUSY, Calibration, calibrated_lanes
from hybrid_scheduler.hardware.nodes.lanes import Ending, LaneChange, LaneError
from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec

TWO = ClusterSpec.default(0, num_cpus=2)
BOTH = ClusterSpec.default(1, memory_per_gpu=2000.0)


def compute(kind: str, size: int, device: str) -> float:
    return size * 1e-4 * (0.1 if device.startswith("gpu") else 1.0)


def transfer(kind: str, size: int, device: str) -> float:
    return size * 1e-5 if device.startswith("gpu") else 0.0


def calibrated(
    lanes: FakeLanes, kinds: tuple[str, ...] = ("sort", "loop"), *, metered: bool = False
) -> CalibratedMachine:
    meters = [FakeMeter(lanes, lane) if metered else None for lane in range(len(lanes.cluster.devices))]
    return Calibration(lanes, kinds, (10, 100, 1000), FakeWork, meters).run()


def test_what_a_lane_takes_beside_the_run_is_its_launch() -> None:
    machine = calibrated(FakeLanes(BOTH, compute, transfer, overhead=2e-3))
    assert len(machine.measurements) == 2 * 3 * 2
    for m in machine.measurements:
        assert m.launch == pytest.approx(2e-3)
        assert m.compute == pytest.approx(compute(m.kind, int(m.size), m.device))
        assert m.transfer == pytest.approx(transfer(m.kind, int(m.size), m.device))
        assert m.scatter == pytest.approx(0.0, abs=1e-6)
    gpu = machine.cluster.devices[1]
    # sort of 1000 moves 8 MB in 10 ms; less than a megabyte says nothing of a bandwidth.
    assert gpu.bandwidth == pytest.approx(800.0)
    assert gpu.memory_mb == 2000.0
    assert machine.not_measured(gpu) == ("watts", "idle_watts")
    assert machine.cluster.devices[0].latency == pytest.approx(2e-3)


def test_what_every_part_pays_is_seen_from_halves() -> None:
    machine = calibrated(FakeLanes(BOTH, compute, transfer, overhead=1e-3, fixed=4e-3))
    for m in machine.measurements:
        # A loop cannot be split, so nobody knows; it makes no difference there.
        assert m.every_part == pytest.approx(5e-3 if m.kind == "sort" else 0.0)
        assert m.launch == pytest.approx(1e-3)
        assert m.transfer == pytest.approx(transfer(m.kind, int(m.size), m.device))
        whole = compute(m.kind, int(m.size), m.device) + m.transfer + 5e-3
        assert m.seconds == pytest.approx(whole)
    assert machine.together is not None
    assert machine.together.penalty == pytest.approx(0.0, abs=1e-6)
    # Between two CPUs nothing can be split.
    apart = calibrated(FakeLanes(TWO, compute, overhead=1e-3, fixed=4e-3))
    assert [m.every_part for m in apart.measurements] == [0.0] * 12


def test_the_twin_takes_as_long_as_the_lanes() -> None:
    machine = calibrated(FakeLanes(BOTH, compute, transfer, overhead=2e-3))
    sizes = np.array([10.0, 50.0, 1000.0])
    ones = np.ones(3)
    tasks = TaskBatch.from_columns(sizes, ones, ones, duration_estimate=ones, kind=["sort"] * 3)
    times = machine.cost.times(tasks, machine.cluster).sum(axis=1)
    for size, on_cpu, on_gpu in zip(sizes.astype(int).tolist(), *times.T, strict=True):
        cpu, gpu = (compute("sort", size, d) + transfer("sort", size, d) + 2e-3 for d in ("cpu_0", "gpu_0"))
        # Exact where it was measured; between, a sum of a constant and a power is no power, but near one.
        assert (on_cpu, on_gpu) == pytest.approx((cpu, gpu), rel=0.2 if size == 50 else 1e-9)


def test_neighbours_that_slow_each_other_down() -> None:
    machine = calibrated(FakeLanes(TWO, compute, slowdown=0.5))
    assert [m.slowdown for m in machine.measurements] == pytest.approx([0.5] * 12)
    assert machine.others_busy == OTHERS_BUSY
    # Nothing can be split between two CPUs.
    assert machine.together is None


def test_one_lane_has_no_neighbours() -> None:
    machine = calibrated(FakeLanes(ClusterSpec.default(0), compute))
    assert {m.slowdown for m in machine.measurements} == {0.0}
    assert machine.others_busy == 0.0


def test_halves_together_against_halves_alone() -> None:
    lanes = FakeLanes(BOTH, compute, transfer, overhead=1e-4)
    free = calibrated(lanes)
    assert free.together is not None
    # Three sizes of sort; a loop cannot be split.
    assert len(free.together.stretches) == 3
    assert free.together.penalty == pytest.approx(0.0, abs=1e-6)
    halves = [job for _, job in lanes.jobs if job.share < 1.0]
    assert {(job.begin, job.share) for job in halves} == {(0.0, 0.5), (0.5, 0.5)}
    slowed = calibrated(FakeLanes(BOTH, compute, transfer, slowdown=0.5))
    assert slowed.together is not None
    # The half sent second is the one that is slowed; what others_busy says already is not said again.
    assert 0.0 <= slowed.together.penalty <= 1.5 / (1.0 + OTHERS_BUSY * 0.5) - 1.0 + 1e-6


def test_power_is_measured_where_the_machine_tells_it() -> None:
    told = calibrated(FakeLanes(TWO, compute, watts=200.0, idle_watts=50.0), metered=True)
    for device in told.cluster.devices:
        assert (device.watts, device.idle_watts) == pytest.approx((200.0, 50.0))
        assert told.not_measured(device) == ()
    silent = calibrated(FakeLanes(TWO, compute, watts=200.0))
    assert silent.not_measured(silent.cluster.devices[0]) == ("watts", "idle_watts")


@pytest.mark.parametrize(
    ("ending", "error", "says"),
    [
        (Ending.TOO_LARGE, InvalidInputError, "sort of size 10 on cpu_0 needs more memory than there is"),
        (Ending.RAISED, LaneError, "sort of size 10 on cpu_0 ended as RAISED: by request"),
        (Ending.DIED, LaneError, "ended as DIED"),
    ],
)
def test_a_job_that_fails_ends_the_calibration(ending: Ending, error: type[Exception], says: str) -> None:
    lanes = FakeLanes(TWO, compute, fate=lambda number: ending if number == 3 else Ending.DONE)
    with pytest.raises(error, match=says):
        calibrated(lanes)


def test_a_lane_that_does_not_come_up() -> None:
    lanes = FakeLanes(TWO, compute)
    lanes._changes = [LaneChange(0, up=True), LaneChange(1, up=False, final=True)]
    with pytest.raises(LaneError, match="cpu_1 does not come up"):
        calibrated(lanes)
    lanes = FakeLanes(TWO, compute)
    lanes._changes = [LaneChange(0, up=True)]
    with pytest.raises(LaneError, match="cpu_1 was not up after 300 s"):
        calibrated(lanes)


@pytest.mark.parametrize("sizes", [(10,), (10, 10), (0, 10), (10, 30_000)])
def test_bad_sizes(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match="size"):
        Calibration(FakeLanes(TWO, compute), ["sort"], sizes, FakeWork)


@pytest.mark.slow
def test_this_machine_is_measured_on_its_lanes() -> None:
    with calibrated_lanes(["matmul", "axpy"], [20, 40], cpu_lanes=1) as calibration:
        machine = calibration.run()
    assert [(m.kind, m.size, m.device) for m in machine.measurements if m.device == "cpu_0"] == [
        ("matmul", 20, "cpu_0"),
        ("matmul", 40, "cpu_0"),
        ("axpy", 20, "cpu_0"),
        ("axpy", 40, "cpu_0"),
    ]
    for m in machine.measurements:
        assert 0.0 < m.seconds < 10.0
        assert m.launch > 0.0
