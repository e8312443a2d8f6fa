"""A calibrated cost model: exact where it was measured, interpolated between, refused outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.model import InvalidInputError, TaskBatch, UnknownNameError
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.calibrated import CalibratedCost, Measurement
from hybrid_scheduler.physics.device import ClusterSpec, Device

NODE = ClusterSpec.default(1)
SIZES = (100.0, 1000.0, 10_000.0)


def power_law(exponent: float = 2.0) -> CalibratedCost:
    """Times that are a power of the size: a straight line in the logarithms."""
    return CalibratedCost(
        measurement
        for size in SIZES
        for measurement in (
            Measurement("matmul", size, "cpu_0", 0.0, 1e-6 * size**exponent),
            Measurement("matmul", size, "gpu_0", 1e-6, 1e-7 * size**exponent - 1e-6, 1e-6 * size),
        )
    )


def tasks(*sizes: float, kind: str = "matmul") -> TaskBatch:
    count = len(sizes)
    return TaskBatch.from_columns(
        np.array(sizes), np.full(count, 0.5), np.ones(count), duration_estimate=np.ones(count), kind=[kind] * count
    )


@given(st.floats(100, 10_000), st.floats(0.5, 3))
def test_a_power_law_is_met_at_every_size(size: float, exponent: float) -> None:
    times = power_law(exponent).times(tasks(size), NODE)[0]
    assert times[FIXED].tolist() == pytest.approx([0.0, 1e-6])
    # Launch and transfer are apart: the launch is the part's, the rest goes with its share.
    on_gpu = 1e-7 * size**exponent - 1e-6 + 1e-6 * size
    assert times[SHARED] == pytest.approx([1e-6 * size**exponent, on_gpu], rel=1e-9)


def test_busy_neighbours_slow_a_device_down() -> None:
    rows = [
        Measurement("sort", size, "cpu_0", 1e-4, 1e-3 * size, slowdown=slowdown)
        for size, slowdown in ((1.0, 0.2), (100.0, 0.6))
    ]
    cpu = ClusterSpec.default(0)
    alone = CalibratedCost(rows).times(tasks(1.0, 10.0, 100.0, kind="sort"), cluster=cpu)
    beside = CalibratedCost(rows, others_busy=0.5).times(tasks(1.0, 10.0, 100.0, kind="sort"), cluster=cpu)
    # Half of the time others are busy; between the sizes the slowdown is linear in the logarithm.
    for row in (FIXED, SHARED):
        assert (beside[:, row, 0] / alone[:, row, 0]).tolist() == pytest.approx([1.1, 1.2, 1.3])
    with pytest.raises(InvalidInputError, match=r"others_busy is 1\.5, but it must be a share from 0 to 1"):
        CalibratedCost(rows, others_busy=1.5)


def test_what_a_stream_takes_beyond_that() -> None:
    rows = [
        Measurement("sort", size, device, 1e-4, 1e-3 * size, every_part=3e-4)
        for size in (1.0, 100.0)
        for device in ("a", "b")
    ]
    cluster = ClusterSpec((Device("a", "cpu"), Device("b", "cpu")))
    batch = tasks(1.0, 10.0, kind="sort")
    plain = CalibratedCost(rows).times(batch, cluster=cluster)
    stretched = CalibratedCost(rows, at_work={"b": 1.25}, pause={"b": 7e-4}).times(batch, cluster=cluster)
    assert stretched[..., 0].tolist() == plain[..., 0].tolist()
    # The launch gives way to the pause; all else is stretched.
    assert (stretched - plain)[:, FIXED, 1] == pytest.approx(7e-4 - 1e-4 + 0.25 * (3e-4 - 1e-4))
    assert (stretched / plain)[:, SHARED, 1] == pytest.approx(1.25)
    with pytest.raises(UnknownNameError, match="device of at_work"):
        CalibratedCost(rows, at_work={"c": 1.0})
    with pytest.raises(InvalidInputError, match=r"at_work of a is 0\.0, but it must be from 0\.001 to 1000"):
        CalibratedCost(rows, at_work={"a": 0.0})
    with pytest.raises(InvalidInputError, match="pause of b is -1"):
        CalibratedCost(rows, pause={"b": -1.0})


@given(st.floats(100, 10_000), st.floats(0.0, 0.02))
def test_what_every_part_pays_does_not_change_what_the_whole_takes(size: float, every_part: float) -> None:
    def cost(more: float) -> CalibratedCost:
        return CalibratedCost(
            Measurement("matmul", each, "cpu_0", 1e-4, seconds, seconds, every_part=more)
            for each, seconds in ((100.0, 2e-3), (10_000.0, 8e-3))
        )

    cpu = ClusterSpec.default(0)
    plain, found = (cost(more).times(tasks(size), cpu)[0, :, 0] for more in (0.0, every_part))
    assert found.sum() == pytest.approx(plain.sum(), rel=1e-12)
    assert found[FIXED] == pytest.approx(min(max(every_part, 1e-4), plain.sum()))


def test_what_a_size_does_not_tell_is_named() -> None:
    straight = [Measurement("sort", size, "cpu_0", 0.0, size, scatter=0.05) for size in (1, 10, 100)]
    scattered = [Measurement("sort", size, "gpu_0", 0.0, size, scatter=0.3) for size in (1, 10, 100)]
    bent = [Measurement("fft", size, "cpu_0", 0.0, seconds) for size, seconds in ((1, 1.0), (10, 20.0), (100, 100.0))]
    cost = CalibratedCost([*straight, *scattered, *bent])
    assert [str(each) for each in cost.noisy()] == [
        "sort on gpu_0: error 0 %, scatter 30 %: treat its times as noise",
        "fft on cpu_0: error 50 %, scatter 0 %: treat its times as noise",
    ]
    assert cost.noise() == 0.05  # of 0.05, 0.3 and 0


def test_the_sizes_that_all_have() -> None:
    rows = [Measurement("sort", size, "cpu_0", 0.0, 1.0) for size in (1, 50)]
    rows += [Measurement("fft", size, "cpu_0", 0.0, 1.0) for size in (10, 100)]
    rows += [Measurement("axpy", size, "cpu_0", 0.0, 1.0) for size in (200, 300)]
    cost = CalibratedCost(rows)
    assert cost.size_range(["sort", "fft"]) == (10, 50)
    with pytest.raises(InvalidInputError, match="no size was measured of all of fft, axpy"):
        cost.size_range(["fft", "axpy"])


def test_errors_are_those_of_leaving_a_size_out() -> None:
    assert power_law().errors()["matmul"]["cpu_0"] == pytest.approx(0.0, abs=1e-12)
    bent = CalibratedCost(
        [Measurement("sort", size, "cpu_0", 0.0, seconds) for size, seconds in ((1, 1.0), (10, 20.0), (100, 100.0))]
    )
    # Between 1 s and 100 s lie 10 s on a logarithmic scale, and 20 were measured.
    assert bent.errors() == {"sort": {"all": pytest.approx(0.5), "cpu_0": pytest.approx(0.5)}}
    two = CalibratedCost([Measurement("sort", size, "cpu_0", 0.0, 1.0) for size in (1, 2)])
    assert two.errors() == {"sort": {"all": None, "cpu_0": None}}


@pytest.mark.parametrize(
    ("batch", "error", "says"),
    [
        (tasks(99.0), InvalidInputError, "matmul of size 99 lies outside what was measured on cpu_0 (100 to 10000)"),
        (tasks(10_001.0), InvalidInputError, "size 10001 lies outside"),
        (tasks(500.0, kind="fft"), UnknownNameError, "fft"),
    ],
)
def test_nothing_is_guessed(batch: TaskBatch, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as raised:
        power_law().times(batch, NODE)
    assert says in str(raised.value)


def test_a_device_that_was_not_measured() -> None:
    with pytest.raises(InvalidInputError, match="matmul was not measured on 'gpu_1', only on cpu_0, gpu_0"):
        power_law().times(tasks(500.0), ClusterSpec.default(2))
    with pytest.raises(InvalidInputError, match="there are no measurements"):
        CalibratedCost([])
