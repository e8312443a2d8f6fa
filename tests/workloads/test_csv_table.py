"""Tables of times per task and device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError, Task
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.workloads import read_table

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(content: str) -> Path:
        path = tmp_path / "table.csv"
        path.write_text(content)
        return path

    return put


def test_bare_times_are_enough(write: Write) -> None:
    table = read_table(write("gpu_0,cpu_0\n1.5,4\n2.5,3\n"))
    assert table.device_names == ("gpu_0", "cpu_0")
    np.testing.assert_array_equal(table.seconds, [[1.5, 4.0], [2.5, 3.0]])
    assert list(table.tasks) == [Task(i, 1000.0, 0.5, 0.0, 0.0, seconds) for i, seconds in enumerate((4.0, 3.0))]
    assert table.derived == (
        "task_id",
        "size",
        "compute_intensity",
        "memory_required",
        "arrival_time",
        "duration_estimate",
        "dependencies",
        "kind",
    )


def test_task_columns_are_used_and_rows_follow_the_batch(write: Write) -> None:
    content = (
        "task_id,cpu_0,arrival_time,task_size,gpu_0,kind,dependencies,memory_required,compute_intensity\n"
        "5,10,2,100,1,sort,[8],7,0.1\n8,20,1,200,2,fft,[],8,0.2\n6,30,2,300,3,fft,,9,0.3\n"
    )
    table = read_table(write(content))
    assert table.derived == ("duration_estimate",)
    assert table.tasks.task_id.tolist() == [8, 5, 6]
    np.testing.assert_array_equal(table.seconds, [[20, 2], [10, 1], [30, 3]])
    assert table.tasks[1] == Task(5, 100.0, 0.1, 7.0, 2.0, 10.0, (8,), "sort")


def test_the_estimate_is_the_first_cpu_or_else_the_first_device(write: Write) -> None:
    assert read_table(write("fast,slow\n1,2\n")).tasks.duration_estimate.tolist() == [1.0]
    assert read_table(write("gpu_0,cpu_b,cpu_a\n1,2,3\n")).tasks.duration_estimate.tolist() == [2.0]
    given = read_table(write("cpu_0,duration_estimate\n1,9\n"))
    assert given.tasks.duration_estimate.tolist() == [9.0]
    assert given.device_names == ("cpu_0",)


def test_the_table_cost_takes_it(write: Write) -> None:
    table = read_table(write("arrival_time,gpu_0,cpu_0\n3,1,2\n0,5,6\n"))
    cost = TableCost(table.seconds, tuple(table.tasks.task_id.tolist()), table.device_names)
    times = cost.times(table.tasks, ClusterSpec.default(num_gpus=1))
    np.testing.assert_array_equal(times.sum(axis=1), [[6, 5], [2, 1]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task_id,size\n1,2\n", "line 1: no column is a device"),
        ("cpu_0,\n1,2\n", "line 1: column 2 has no name"),
        ("cpu_0,gpu_0\n1,2\n1,0\n", "line 3, column gpu_0: '0' must be a number of seconds from 1e-09 to 1e.09"),
        ("cpu_0,note\n1,fine\n", "line 2, column note: 'fine' must be .* not a task column is a device"),
        ("cpu_0,gpu_0\n1,nan\n", "line 2, column gpu_0: 'nan'"),
        ("cpu_0,cpu_0\n1,1\n", "column 'cpu_0' occurs twice"),
        ("cpu_0,compute_intensity\n1,2\n", "line 2, column compute_intensity: '2' must be a number from 0 to 1"),
        ("cpu_0,dependencies\n1,[4]\n", "line 2, column dependencies: parent 4"),
        ("cpu_0\n", "there is a header but no task"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write: Write, content: str, message: str) -> None:
    assert len(read_table(write("cpu_0,gpu_0\n1,2\n")).tasks) == 1
    with pytest.raises(InvalidInputError, match=message):
        read_table(write(content))
