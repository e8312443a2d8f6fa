"""Cost models: the formulas of SPEC section 3 by numbers, and tables of explicit times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.cost import FormulaCost, TableCost, gpu_speedup, part_seconds
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics

# (4000/1000)^1.5 / (0.5 + 0.5) = 8 s on a CPU of speed 1.
TASK = Task(3, 4000.0, 0.5, 320.0)
CLUSTER = ClusterSpec(
    (
        Device("cpu_0", "cpu"),
        Device("cpu_1", "cpu", speed=2.0, latency=0.1),
        Device("gpu_0", "gpu"),
        Device("gpu_1", "gpu", speed=0.5, bandwidth=1600.0, latency=0.25),
    )
)


def test_linear() -> None:
    """Speed-up 2.5: 3.2 s, and 320 MB at 16 000 or 1600 MB/s."""
    times = FormulaCost().times(TaskBatch.from_tasks([TASK]), CLUSTER)
    assert times.shape == (1, 2, 4)
    assert times[0, FIXED].tolist() == [0.0, 0.1, 0.0, 0.25]
    assert times[0, SHARED].tolist() == pytest.approx([8.0, 4.0, 3.2 + 0.02, 6.4 + 0.2])


def test_amdahl() -> None:
    """Speed-up 1 / (0.5 + 0.125) = 1.6: 5 s."""
    times = FormulaCost("amdahl").times(TaskBatch.from_tasks([TASK]), CLUSTER)
    assert times[0, SHARED].tolist() == pytest.approx([8.0, 4.0, 5.0 + 0.02, 10.0 + 0.2])


@pytest.mark.parametrize(
    ("intensity", "linear", "amdahl"), [(0.0, 1.0, 1.0), (0.2, 1.6, 1 / 0.85), (0.8, 3.4, 2.5), (1.0, 4.0, 4.0)]
)
def test_speedup(intensity: float, linear: float, amdahl: float) -> None:
    assert gpu_speedup(np.array([intensity]))[0] == pytest.approx(linear)
    assert gpu_speedup(np.array([intensity]), "amdahl")[0] == pytest.approx(amdahl)


def test_unknown_speedup() -> None:
    with pytest.raises(InvalidInputError, match="speedup is 'cubic', but it must be 'linear' or 'amdahl'"):
        FormulaCost("cubic").times(TaskBatch.from_tasks([TASK]), CLUSTER)  # type: ignore[arg-type]


@given(st.floats(0.0, 10.0), st.floats(1e-3, 10.0), st.floats(1e-6, 1.0), st.floats(1.0, 2.0))
def test_a_share_takes_at_least_its_share(fixed: float, shared: float, share: float, stretch: float) -> None:
    times = np.array([[fixed], [shared]])
    whole = part_seconds(times, 0, 1.0, 1.0)
    assert whole == fixed + shared
    assert part_seconds(times, 0, share, stretch) == pytest.approx((fixed + share * shared) * stretch)
    assert part_seconds(times, 0, share, stretch) >= share * whole * (1.0 - 1e-12)


SECONDS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_table_is_looked_up_by_id_and_name() -> None:
    """Rows and columns in another order than tasks and devices, and more of them."""
    cost = TableCost(SECONDS, (30, 10, 20), ("gpu_0", "cpu_0"))
    tasks = TaskBatch.from_tasks([Task(10, 1.0, 0.5, 1.0, 5.0), Task(30, 1.0, 0.5, 1.0, 1.0)])
    cluster = ClusterSpec((Device("cpu_0", "cpu", speed=7.0, latency=9.0), Device("gpu_0", "gpu", latency=9.0)))
    times = cost.times(tasks, cluster)
    assert tasks.task_id.tolist() == [30, 10]
    assert times[:, SHARED].tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert not times[:, FIXED].any()


@pytest.mark.parametrize(
    ("tasks", "devices", "message"),
    [
        ([10, 99], ("cpu_0",), "the table has no row for task 99"),
        ([10], ("cpu_0", "gpu_7"), "the table has no column for device 'gpu_7'; it has: gpu_0, cpu_0"),
    ],
)
def test_table_without_what_is_asked(tasks: list[int], devices: tuple[str, ...], message: str) -> None:
    cost = TableCost(SECONDS, (30, 10, 20), ("gpu_0", "cpu_0"))
    cluster = ClusterSpec(tuple(Device(name, name[:3]) for name in devices))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        cost.times(TaskBatch.from_tasks([Task(i, 1.0, 0.5, 1.0) for i in tasks]), cluster)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, 9e-10, 1.1e9])
def test_table_with_a_bad_time(bad: float) -> None:
    seconds = SECONDS.copy()
    seconds[1, 0] = bad
    with pytest.raises(
        InvalidInputError, match=r"task 10 on gpu_0 takes .* s, but a time must be a number of seconds f"
    ):
        TableCost(seconds, (30, 10, 20), ("gpu_0", "cpu_0"))


def test_table_of_another_shape() -> None:
    with pytest.raises(InvalidInputError, match=r"shape \(3, 2\), but 2 tasks and 2 devices are named"):
        TableCost(SECONDS, (1, 2), ("gpu_0", "cpu_0"))


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("split", "parallel", "split is 'parallel', but it must be 'concurrent' or 'serial'"),
        ("memory_policy", "swap", "memory_policy is 'swap', but it must be 'fallback' or 'fail'"),
        ("pricing", "free", "pricing is 'free', but it must be 'cloud' or 'electricity'"),
        ("coexecution_penalty", -0.1, "coexecution_penalty is -0.1, but"),
        ("noise", float("nan"), "noise is nan, but"),
        ("noise", 11.0, "noise is 11.0, but"),
    ],
)
def test_settings_are_checked(setting: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Physics(**{setting: value})  # type: ignore[arg-type]
