"""Kernels do what they say, and calibration measures and reads them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import torch

from hybrid_scheduler.hardware.calibration import check_forms
from hybrid_scheduler.hardware.calibration_file import read_calibration, write_calibration
from hybrid_scheduler.hardware.kernels import KERNELS
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.physics.calibrated import Measurement
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_kind


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, those of a sparse one in a row."""
    if tensor.layout is not torch.sparse_csr:
        return tensor.reshape(-1)
    pieces = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    return torch.cat([piece.contiguous().view(torch.uint8) for piece in pieces])


def data(kind: str, size: int = 40, seed: int = 1) -> tuple[torch.Tensor, ...]:
    return KERNELS[kind].make(size, torch.Generator().manual_seed(seed))


def test_every_kind_has_its_kernel() -> None:
    assert set(KERNELS) == set(KERNEL_KINDS)


@pytest.mark.parametrize("kind", KERNELS)
def test_bytes_are_those_of_its_kind(kind: str) -> None:
    made, said = data(kind, 128), kernel_kind(kind)
    result = KERNELS[kind].run(*made)
    # The sparse matrix has one start of a row more than rows.
    assert sum(dense(t).nbytes for t in made) == pytest.approx(said.input_bytes(128), abs=8)
    assert result.nbytes == said.output_bytes(128)


@pytest.mark.parametrize("kind", KERNELS)
def test_the_same_seed_gives_the_same_data(kind: str) -> None:
    once, again, other = (list(map(dense, data(kind, seed=seed))) for seed in (1, 1, 2))
    assert all(map(torch.equal, once, again))
    assert not all(map(torch.equal, once, other))


EXPECTED: dict[str, Callable[..., torch.Tensor]] = {
    "matmul": lambda a, b: (a[:, :, None] * b[None]).sum(1),
    "sort": lambda x: torch.tensor(sorted(x.tolist())),
    "axpy": lambda x, y: 1.5 * x + y,
    "cholesky": lambda a: torch.linalg.cholesky(a.double()).float(),
    "fft": lambda x: torch.fft.fft(x.double())[: len(x) // 2 + 1].to(torch.complex64),
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_the_result(kind: str) -> None:
    made = data(kind)
    assert torch.allclose(KERNELS[kind].run(*made), EXPECTED[kind](*made), rtol=1e-3, atol=1e-2)


def test_a_sparse_product_adds_what_stands_in_a_row() -> None:
    sparse, right = made = data("spmm", 3)
    starts, columns, values = sparse.crow_indices(), sparse.col_indices(), sparse.values()
    row = sum((values[k] * right[columns[k]] for k in range(int(starts[5]), int(starts[6]))), torch.zeros(32))
    assert torch.allclose(KERNELS["spmm"].run(*made)[5], row, atol=1e-5)


def test_the_chain_waits_for_itself() -> None:
    (x,) = made = data("loop")
    expected = x
    for _ in range(100):
        expected = expected * expected + x
    assert torch.allclose(KERNELS["loop"].run(*made), expected, atol=1e-5)


def test_forms_that_agree_are_accepted_and_others_are_not() -> None:
    check_forms(KERNELS["matmul"], 20, "cpu", 0)

    class Wrong(type(KERNELS["matmul"])):  # type: ignore[misc]
        runs = count()

        def run(self, *matrices: torch.Tensor) -> torch.Tensor:
            product: torch.Tensor = super().run(*matrices)
            return product + next(self.runs)

    with pytest.raises(InvalidInputError, match="matmul of size 20 gives another result on cpu"):
        check_forms(Wrong(), 20, "cpu", 0)


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml.csv"
    measurements = (
        Measurement("fft", 10.0, "cpu_0", 0.0, 0.1, 0.0, 0.01),
        Measurement("fft", 20.0, "cpu_0", 1e-6, 0.3, 0.2, 0.02),
    )
    write_calibration(path, measurements)
    assert read_calibration(path).measurements == measurements
    path.write_text(path.read_text().replace("0.3", "-1"))
    with pytest.raises(InvalidInputError, match="line 3, column compute_s"):
        read_calibration(path)
