"""The preset `kernels`: kinds equally often, round sizes of uniform logarithms, every figure that of kind and size."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.testing.workloads import check_workload
from hybrid_scheduler.workloads import KernelPreset, WorkloadGenerator, find_kernels, find_preset
from hybrid_scheduler.workloads.csv_trace import write_csv
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS
from hybrid_scheduler.workloads.kernel_preset import KERNEL_COLUMNS
from hybrid_scheduler.workloads.readers.registry import read_workload

FEW = "kernels:kinds=matmul+sort,sizes=50-500"


def test_it_keeps_the_contract_of_workloads() -> None:
    check_workload(lambda seed: WorkloadGenerator(seed).stream(FEW, 3.0))


def test_kinds_and_sizes_are_as_asked_for() -> None:
    count = 40_000
    tasks = WorkloadGenerator(5).generate(FEW, count, 20.0)
    named = np.array(tasks.kinds)[tasks.kind_index]
    assert set(named) == {"matmul", "sort"}
    # Half of each: 4.5 standard errors of a coin.
    assert abs((named == "sort").mean() - 0.5) < 4.5 * 0.5 / math.sqrt(count)
    assert (tasks.size.min(), tasks.size.max()) == (50, 500)
    assert (tasks.size == np.round(tasks.size)).all()
    smooth = {8 * 2**i * 3**j * 5**k for i in range(6) for j in range(4) for k in range(3)}
    assert set(tasks.size) == {50, 500, *(size for size in smooth if 50 <= size <= 500)}
    # Uniform in the logarithms, but for that each is rounded to the nearest of these.
    for low, high in pairwise(sorted(set(tasks.size))):
        below = math.log(math.sqrt(low * high) / 50) / math.log(10)
        assert abs((tasks.size <= low).mean() - below) < 4.5 * math.sqrt(below * (1 - below) / count)
    assert abs(tasks.arrival_time[-1] * 20.0 / count - 1.0) < 4.5 / math.sqrt(count)
    for task in tasks[:100]:
        kind = KERNEL_KINDS[task.kind]
        assert task.memory_required == pytest.approx(kind.megabytes(task.size))
        assert task.compute_intensity == pytest.approx(kind.intensity(task.size))
        assert task.duration_estimate == pytest.approx(kind.nominal_seconds(task.size))


def test_a_stream_is_the_workload_bit_for_bit() -> None:
    whole = WorkloadGenerator(3).generate("kernels", 9000, 7.0)
    assert list(WorkloadGenerator(3).stream("kernels", 7.0, 9000)) == list(whole)
    assert list(islice(WorkloadGenerator(3).stream("kernels", 7.0), 5000)) == list(whole[:5000])


def test_a_file_of_it_needs_kind_and_size_alone(tmp_path: Path) -> None:
    tasks = WorkloadGenerator(1).generate(FEW, 50)
    write_csv(tmp_path / "kernels.csv", tasks, KERNEL_COLUMNS)
    assert (tmp_path / "kernels.csv").read_text().splitlines()[0] == "task_id,kind,size,arrival_time"
    name, file = read_workload(tmp_path / "kernels.csv", 0)
    assert name == "kernels"
    assert list(file.tasks) == list(tasks)


def test_the_text_of_a_preset_is_the_preset() -> None:
    assert find_kernels(FEW) == KernelPreset(("matmul", "sort"), (50, 500))
    assert find_kernels(KernelPreset(("fft",), (7, 7)).text) == KernelPreset(("fft",), (7, 7))
    assert find_kernels("kernels:sizes=64") == KernelPreset(sizes=(64, 64))
    assert find_kernels("mixed") is None


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("kernels:kind=sort", UnknownNameError, "unknown parameter of preset kernels 'kind'"),
        ("kernels:kinds=sort+matmull", UnknownNameError, "unknown kernel kind 'matmull'"),
        ("kernels:kinds=sort+sort", InvalidInputError, "kind sort is named twice"),
        ("kernels:sizes=2000-100", InvalidInputError, "the least first"),
        ("kernels:sizes=1-2-3", InvalidInputError, "must be the least and the greatest"),
        ("kernels:sizes=ten", InvalidInputError, "must be the least and the greatest"),
        ("kernels:sizes=0-10", InvalidInputError, "must be the least and the greatest"),
        ("kernels:sizes=1-30000", InvalidInputError, "a whole number from 1 to 20000"),
    ],
)
def test_bad_parameters(text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as raised:
        find_kernels(text)
    assert says in str(raised.value)


def test_what_it_does_not_take() -> None:
    with pytest.raises(InvalidInputError, match="a size range is for synthetic tasks, but kernels makes kernels"):
        WorkloadGenerator(0).generate("kernels", 10, size_range=(1, 2))
    with pytest.raises(InvalidInputError, match="'kernels' makes kernels, but here it must be one of"):
        find_preset("kernels")
