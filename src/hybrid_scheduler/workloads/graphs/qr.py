"""Tiled QR factorisation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybrid_scheduler.workloads.graphs.tiled import Kernel, TiledPreset


@dataclass(frozen=True)
class Qr(TiledPreset):
    """``A = Q R`` with a flat tree: the tiles of a column are eliminated one after the other against the diagonal.

    Buttari, Langou, Kurzak and Dongarra, Parallel Computing 35(1), 2009. `geqrt` leaves the reflectors below the
    diagonal of its tile and R on and above it: `ormqr` takes the former, `tsqrt` the latter, so they do not wait for
    each other.
    """

    name = "qr"
    summary = "tiled QR factorisation with a flat tree: geqrt, ormqr, tsqrt, tsmqr"

    def program(self) -> Iterator[Kernel]:
        """See `TiledPreset.program`."""
        n = self.tiles
        for k in range(n):
            reflectors = ("reflectors", k)
            yield Kernel("geqrt", (), ((k, k),), (reflectors,))
            for j in range(k + 1, n):
                yield Kernel("ormqr", (reflectors,), ((k, j),))
            for i in range(k + 1, n):
                yield Kernel("tsqrt", (), ((k, k), (i, k)))
                for j in range(k + 1, n):
                    yield Kernel("tsmqr", ((i, k),), ((k, j), (i, j)))
