"""A sparse matrix times a dense one."""

from __future__ import annotations

import warnings

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers
from hybrid_scheduler.workloads.kernel_kinds import DENSE_COLUMNS, NON_ZEROS, SPARSE_ROWS


class Spmm(Kernel):
    """10 N rows with 8 non-zeros each, times 32 columns."""

    kind = "spmm"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """The sparse matrix, by compressed rows, and the dense one."""
        rows = SPARSE_ROWS * size
        starts = torch.arange(0, rows * NON_ZEROS + 1, NON_ZEROS)
        columns = torch.randint(0, rows, (rows, NON_ZEROS), generator=generator).sort(dim=1).values.reshape(-1)
        values = numbers(generator, rows * NON_ZEROS)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            # A column may occur twice in a row, which the check of invariants would refuse and the product adds up.
            sparse = torch.sparse_csr_tensor(starts, columns, values, (rows, rows), check_invariants=False)
        return sparse, numbers(generator, rows, DENSE_COLUMNS)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The dense product."""
        sparse, dense = data
        return sparse @ dense
