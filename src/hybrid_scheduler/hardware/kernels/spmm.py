"""A sparse matrix times a dense one."""

from __future__ import annotations

import warnings

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers, span
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
        return _sparse(starts, columns, values, rows), numbers(generator, rows, DENSE_COLUMNS)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The dense product."""
        sparse, dense = data
        return sparse @ dense

    def part(self, data: Tensors, begin: float, share: float) -> Tensors:
        """Rows of the sparse matrix, and the dense one."""
        sparse, dense = data
        rows = span(len(dense), begin, share)
        starts = sparse.crow_indices()[rows.start : rows.stop + 1]
        first = starts[0]
        kept = slice(int(first), int(starts[-1]))
        return _sparse(starts - first, sparse.col_indices()[kept], sparse.values()[kept], len(dense)), dense


def _sparse(starts: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, width: int) -> torch.Tensor:
    """A matrix by compressed rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")
        # A column may occur twice in a row, which the check of invariants would refuse and the product adds up.
        return torch.sparse_csr_tensor(starts, columns, values, (len(starts) - 1, width), check_invariants=False)
