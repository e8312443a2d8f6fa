"""Factorisations of a matrix in tiles: from the tiles each kernel reads and writes to the graph of its tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.model.task import sizes_of
from hybrid_scheduler.workloads.graphs.base import GraphPreset, TaskGraph, parameter
from hybrid_scheduler.workloads.streams import Streams

Tile = tuple[int, int] | tuple[str, int]
"""Row and column of a tile; or a part of one that is handled apart, by its name and the tile on the diagonal."""
CPU_FLOPS = 25e9
"""Operations a second of a CPU of speed 1: about one core of a server, in double precision."""


class Kernel(NamedTuple):
    """One task of a factorisation.

    Attributes:
        kind: What it computes.
        reads: Tiles it reads only.
        updates: Tiles it reads and writes.
        creates: Parts of those that other kernels take apart from the rest.
    """

    kind: str
    reads: tuple[Tile, ...]
    updates: tuple[Tile, ...]
    creates: tuple[Tile, ...] = ()


class KernelRule(NamedTuple):
    """How much a kernel computes, and how well that suits a GPU.

    Attributes:
        cubes: Operations, in cubes of the tile's side.
        intensity: The `compute_intensity` of its tasks.
    """

    cubes: float
    intensity: float


RULES = {
    "potrf": KernelRule(1 / 3, 0.1),
    "trsm": KernelRule(1.0, 0.6),
    "syrk": KernelRule(1.0, 0.9),
    "gemm": KernelRule(2.0, 1.0),
    "getrf": KernelRule(2 / 3, 0.2),
    "geqrt": KernelRule(4 / 3, 0.2),
    "ormqr": KernelRule(2.0, 0.8),
    "tsqrt": KernelRule(2.0, 0.3),
    "tsmqr": KernelRule(4.0, 0.9),
}
"""By kind. The operations are those of Bouwmeester, Jacquelin, Langou and Robert (SC 2011) for QR and of LAPACK for the
others; the intensities put the kernels in the order of the speedups that run-time systems measure."""


@dataclass(frozen=True)
class TiledPreset(GraphPreset):
    """A factorisation of a square matrix in square tiles.

    A kernel waits for the last one that wrote each of its tiles, and that tile comes from there. No kernel overwrites
    a tile that another one has still to read, so there are no other dependencies. Its `memory_required` is that of its
    tiles. Every graph is the same; the seed is that of the arrivals.
    """

    tiles: int = parameter(10, 1, 100, "tiles on a side of the matrix")
    tile: int = parameter(960, 16, 100_000, "rows and columns of a tile")
    bytes: int = parameter(8, 1, 64, "bytes of a number")

    @property
    def tasks(self) -> int:
        """See `GraphPreset.tasks`: one for each tile of what is left, step after step, unless some are skipped."""
        return self.tiles * (self.tiles + 1) * (2 * self.tiles + 1) // 6

    @abstractmethod
    def program(self) -> Iterator[Kernel]:
        """The kernels in the order of a sequential program."""

    @property
    def tile_mb(self) -> float:
        """Megabytes of a tile."""
        return self.tile**2 * self.bytes / 1e6

    def draw(self, streams: Streams) -> TaskGraph:
        """See `GraphPreset.draw`."""
        return _built(self)


@lru_cache(maxsize=4)
def _built(preset: TiledPreset) -> TaskGraph:
    writer: dict[Tile, int] = {}
    kinds: list[str] = []
    parents, fresh = [], []
    tiles_received: list[int] = []
    for number, kernel in enumerate(preset.program()):
        kinds.append(kernel.kind)
        touched = (*kernel.reads, *kernel.updates)
        received: dict[int, int] = {}
        for tile in touched:
            if tile in writer:
                received[writer[tile]] = received.get(writer[tile], 0) + 1
        parents.append(np.array(list(received), dtype=np.int64))
        tiles_received += received.values()
        fresh.append(len(touched) - sum(received.values()))
        writer.update(dict.fromkeys((*kernel.updates, *kernel.creates), number))
    rules = np.array([RULES[kind] for kind in kinds])
    size = sizes_of(rules[:, 0] * preset.tile**3 / CPU_FLOPS, rules[:, 1])
    data = preset.tile_mb * np.array(tiles_received, dtype=np.float64)
    return TaskGraph.of(size, rules[:, 1].copy(), parents, data, preset.tile_mb * np.array(fresh), kinds)
