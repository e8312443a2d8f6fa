"""Formats that give times per device: ETC matrices, StarPU kernels, Gavel throughputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_files import ETC, GAVEL, STARPU, put

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.readers.etc import EtcReader
from hybrid_scheduler.workloads.readers.gavel import GavelReader
from hybrid_scheduler.workloads.readers.starpu import StarpuReader, kernel_seconds


def test_etc_is_task_by_task(tmp_path: Path) -> None:
    table = EtcReader().read(put(tmp_path, "m", ETC), 1)
    assert table.device_names == ("machine_0", "machine_1")
    assert table.seconds.tolist() == [[1.5, 2.5], [3.0, 1.0], [0.25, 4.0]]
    assert table.tasks.duration_estimate.tolist() == [1.5, 3.0, 0.25]
    assert "size" in table.derived


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 2 0\n1 2 3 4 5", r"m: there are 5 times, but line 1 says 3 tasks on 2 machines, that is 6; correct"),
        ("3 2 1\n1 2 3 4 5 6", r"m, line 1: '3 2 1' must be the tasks, the machines and 0, like '512 16 0'"),
        ("0 2 0\n", r"m, line 1: 0 tasks on 2 machines; both must be at least 1"),
        ("1 2 0\n1\nx", r"m, line 3: 'x' must be a number of seconds"),
        ("1 2 0\n1\n-4", r"m, line 3: '-4' must be a number of seconds from 1e-09"),
    ],
)
def test_etc_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        EtcReader().read(put(tmp_path, "m", text), 1)


def test_starpu_takes_medians_of_what_was_measured_on_both(tmp_path: Path) -> None:
    table = StarpuReader().read(put(tmp_path, "k.csv", STARPU), 1)
    assert table.device_names == ("cpu_0", "gpu_0")
    assert table.seconds.tolist() == [[0.004, 0.002], [0.0001, 0.0004]]
    assert [task.kind for task in table.tasks] == ["gemm", "potrf"]
    assert table.tasks.memory_required.tolist() == [2.0, 0.0]
    assert table.tasks.size.tolist() == [2e6, 1.0]
    assert table.tasks.compute_intensity.tolist() == pytest.approx([1 / 3, 0.0])
    assert [assumption.tasks for assumption in table.assumed if assumption.rule == "dropped"] == [1, 1]


def test_starpu_times_of_one_machine(tmp_path: Path) -> None:
    other = STARPU.splitlines()[2:4]
    path = put(tmp_path, "k.csv", STARPU + "".join(f"{row.replace('m,', 'other,', 1)}\n" for row in other))
    assert kernel_seconds(path, "m") == {("gemm", 2e6): (0.004, 0.002), ("potrf", 0.0): (0.0001, 0.0004)}
    with pytest.raises(InvalidInputError, match=r"unknown machine of .*k\.csv 'n': .*known: m, other"):
        kernel_seconds(path, "n")


def test_starpu_without_pairs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no kernel was measured on both 'cpu' and 'cuda'"):
        StarpuReader().read(put(tmp_path, "k.csv", STARPU.replace(",cuda,", ",opencl,")), 1)
    with pytest.raises(InvalidInputError, match=r"k\.csv, line 3, column mean_us: '0\.0' must be"):
        StarpuReader().read(put(tmp_path, "k.csv", STARPU.replace("1000.0", "0.0", 1)), 1)


def test_gavel_turns_rates_into_times(tmp_path: Path) -> None:
    table = GavelReader().read(put(tmp_path, "t.csv", GAVEL), 1)
    assert table.device_names == ("gpu_k80", "gpu_v100")
    assert table.seconds.tolist() == [[500.0, 100.0], [250.0, 25.0]]
    assert table.width is not None
    assert table.width.tolist() == [1, 4]
    assert [assumption.tasks for assumption in table.assumed if assumption.rule == "dropped"] == [1, 1]
    assert any(assumption.rule == "one_device" for assumption in table.assumed)


def test_gavel_without_a_job_measured_everywhere(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no job type was measured on k80, v100"):
        GavelReader().read(put(tmp_path, "t.csv", GAVEL.replace("k80,ResNet", "k80,Other")), 1)
