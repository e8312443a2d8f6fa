"""What kernels move and compute, by hand and against measured data."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.testing.readers import check_reader
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_columns, kernel_kind
from hybrid_scheduler.workloads.readers.kernels import KernelsReader

MEASURED = Path(__file__).parents[3] / "shared" / "hardware" / "kernels.csv"


def test_a_matrix_product() -> None:
    matmul = kernel_kind("matmul")
    assert matmul.flops(1000) == 2e9
    assert matmul.megabytes(1000) == 12.0
    per_byte = 2e9 / 12e6
    assert matmul.intensity(1000) == per_byte / (per_byte + 10)
    assert matmul.nominal_seconds(1000) == 2e9 / 20e9


def test_a_serial_kernel_gains_nothing() -> None:
    assert kernel_kind("loop").intensity(5000) == 0.0
    assert kernel_kind("axpy").nominal_seconds(1000) == 48e6 / 10e9


def test_intensity_orders_the_kinds_as_memory_bounds_them() -> None:
    at = {name: kind.intensity(2000) for name, kind in KERNEL_KINDS.items()}
    assert at["axpy"] < at["spmm"] < at["sort"] < at["fft"] < at["cholesky"] < at["matmul"]
    assert all(0 <= value < 1 for value in at.values())


def test_an_unknown_kind_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="matmul"):
        kernel_kind("matmull")


@pytest.mark.skipif(not MEASURED.exists(), reason="the measured kernels are not beside this checkout")
def test_bytes_are_those_that_were_measured() -> None:
    with MEASURED.open(encoding="utf-8") as text:
        for row in csv.DictReader(text):
            kind, size = kernel_kind(row["kind"]), float(row["size"])
            # A random sparse matrix has a few entries twice, which were merged there.
            assert math.isclose(kind.input_bytes(size) / 1e6, float(row["input_mb"]), rel_tol=2e-3)
            assert math.isclose(kind.output_bytes(size) / 1e6, float(row["output_mb"]), rel_tol=2e-3)


def test_a_trace_of_kinds_and_sizes(tmp_path: Path) -> None:
    path = tmp_path / "kernels.csv"
    path.write_text("kind,size,arrival_time\nmatmul,1000,0\nfft,500,0.25\nloop,200,0.5\n")
    check_reader(KernelsReader(), path)
    file = KernelsReader().read(path, 0)
    assert [task.kind for task in file.tasks] == ["matmul", "fft", "loop"]
    expected = kernel_columns(["matmul", "fft", "loop"], np.array([1000.0, 500.0, 200.0]))
    assert np.array_equal(file.tasks.memory_required, expected["memory_required"])
    assert np.array_equal(file.tasks.duration_estimate, expected["duration_estimate"])
    assert [assumption.rule for assumption in file.assumed] == ["kernel_figures"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind,size\nmatmull,10\n", "line 2, column kind: unknown kernel kind 'matmull'"),
        ("kind,size\nmatmul,0\n", "line 2, column size"),
        ("kind\nmatmul\n", "line 1: the required column 'size' is missing"),
    ],
)
def test_a_bad_trace(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "kernels.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError) as error:
        KernelsReader().read(path, 0)
    assert says in str(error.value)
    assert str(path) in str(error.value)
