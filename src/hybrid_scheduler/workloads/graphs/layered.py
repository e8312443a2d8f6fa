"""Layered random graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.workloads.graphs.base import GraphPreset, TaskGraph, parameter
from hybrid_scheduler.workloads.graphs.drawn import draw_data, draw_tasks
from hybrid_scheduler.workloads.streams import Streams

MOST_EDGES = 20_000_000
"""Pairs of tasks of neighbouring layers: every one is drawn."""


@dataclass(frozen=True)
class Layered(GraphPreset):
    """A task waits for each task of the layer before with a probability, for one at least.

    The layer-by-layer method with edge probabilities ("layrprob") of Tobita and Kasahara, "A standard task graph set
    for fair evaluation of multiprocessor scheduling algorithms", J. Scheduling 5(5), 2002, with layers of equal width
    and edges between neighbouring layers, so that depth and width are what was asked for. The ratio of communication
    to computation is that of Topcuoglu, Hariri and Wu (IEEE TPDS 13(3), 2002): mean time of an edge's data over a link
    of 16 GB/s over mean time of a task on a CPU of speed 1.
    """

    name = "layered"
    summary = "random graphs in layers; each task waits for some of the layer before"

    layers: int = parameter(10, 1, 100_000, "layers of a graph, its depth")
    width: int = parameter(10, 1, 1000, "tasks of a layer")
    edges: float = parameter(0.3, 0.0, 1.0, "probability of an edge between tasks of neighbouring layers")
    ccr: float = parameter(0.1, 0.0, 1000.0, "communication-to-computation ratio")

    def __post_init__(self) -> None:
        super().__post_init__()
        possible = (self.layers - 1) * self.width**2
        if possible > MOST_EDGES:
            raise InvalidInputError(
                f"preset {self.text} has {possible} possible edges (layers and the square of width), but it must have "
                f"at most {MOST_EDGES}"
            )

    @property
    def tasks(self) -> int:
        """See `GraphPreset.tasks`."""
        return self.layers * self.width

    def draw(self, streams: Streams) -> TaskGraph:
        """See `GraphPreset.draw`."""
        size, intensity = draw_tasks(streams, self.tasks)
        chance, choice = streams.of("graph edges"), streams.of("graph one edge")
        parents = [np.zeros(0, dtype=np.int64)] * self.width
        for layer in range(1, self.layers):
            waits = chance.random((self.width, self.width)) < self.edges
            one = (choice.random(self.width) * self.width).astype(np.int64)
            alone = np.flatnonzero(~waits.any(axis=1))
            waits[alone, one[alone]] = True
            parents += [(layer - 1) * self.width + np.flatnonzero(row) for row in waits]
        data = draw_data(streams, sum(map(len, parents)), self.ccr)
        first = np.zeros(self.tasks)
        first[: self.width] = draw_data(streams, self.width, self.ccr)
        return TaskGraph.of(size, intensity, parents, data, first)
