"""Tiled LU factorisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybrid_scheduler.workloads.graphs.tiled import Kernel, TiledPreset


@dataclass(frozen=True)
class Lu(TiledPreset):
    """``A = L U`` without pivoting, right-looking.

    Gaussian elimination by blocks: Golub and Van Loan, "Matrix Computations", section 3.2.
    """

    name = "lu"
    summary = "tiled LU factorisation without pivoting: getrf, trsm, gemm"

    def program(self) -> Iterator[Kernel]:
        """See `TiledPreset.program`."""
        n = self.tiles
        for k in range(n):
            yield Kernel("getrf", (), ((k, k),))
            for j in range(k + 1, n):
                yield Kernel("trsm", ((k, k),), ((k, j),))
            for i in range(k + 1, n):
                yield Kernel("trsm", ((k, k),), ((i, k),))
            for i in range(k + 1, n):
                for j in range(k + 1, n):
                    yield Kernel("gemm", ((i, k), (k, j)), ((i, j),))
