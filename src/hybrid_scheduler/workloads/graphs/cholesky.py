"""Tiled Cholesky factorisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybrid_scheduler.workloads.graphs.tiled import Kernel, TiledPreset


@dataclass(frozen=True)
class Cholesky(TiledPreset):
    """``A = L L^T`` of a symmetric matrix, lower half, right-looking.

    Buttari, Langou, Kurzak and Dongarra, "A class of parallel tiled linear algebra algorithms for multicore
    architectures", Parallel Computing 35(1), 2009.
    """

    name = "cholesky"
    summary = "tiled Cholesky factorisation: potrf, trsm, syrk, gemm"

    @property
    def tasks(self) -> int:
        """See `GraphPreset.tasks`."""
        return self.tiles * (self.tiles + 1) * (self.tiles + 2) // 6

    def program(self) -> Iterator[Kernel]:
        """See `TiledPreset.program`."""
        n = self.tiles
        for k in range(n):
            yield Kernel("potrf", (), ((k, k),))
            for i in range(k + 1, n):
                yield Kernel("trsm", ((k, k),), ((i, k),))
            for i in range(k + 1, n):
                yield Kernel("syrk", ((i, k),), ((i, i),))
                for j in range(k + 1, i):
                    yield Kernel("gemm", ((i, k), (j, k)), ((i, j),))
