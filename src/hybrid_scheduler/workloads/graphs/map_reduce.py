"""Map-reduce graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.workloads.graphs.base import GraphPreset, TaskGraph, parameter
from hybrid_scheduler.workloads.graphs.drawn import draw_tasks
from hybrid_scheduler.workloads.streams import Streams


@dataclass(frozen=True)
class MapReduce(GraphPreset):
    """Every reduce task takes its share of what every map task made: Dean and Ghemawat, OSDI 2004.

    A map task reads one split of the input and passes on as much, as sorting does, the same share to each reduce task.
    The mean time of a reduce task is that of a map task for each split's worth of data it gets.
    """

    name = "map_reduce"
    summary = "map tasks, and reduce tasks that each take a share of what every map task made"

    maps: int = parameter(40, 1, 1000, "map tasks")
    reduces: int = parameter(10, 1, 1000, "reduce tasks")
    split_mb: float = parameter(64.0, 0.0, 1e6, "megabytes of input of a map task")

    @property
    def tasks(self) -> int:
        """See `GraphPreset.tasks`."""
        return self.maps + self.reduces

    def draw(self, streams: Streams) -> TaskGraph:
        """See `GraphPreset.draw`."""
        work = np.repeat((1.0, self.maps / self.reduces), (self.maps, self.reduces))
        size, intensity = draw_tasks(streams, self.tasks, work)
        parents = [np.zeros(0, dtype=np.int64)] * self.maps + [np.arange(self.maps)] * self.reduces
        share = np.full(self.maps * self.reduces, self.split_mb / self.reduces)
        split = np.repeat((self.split_mb, 0.0), (self.maps, self.reduces))
        kind = ["map"] * self.maps + ["reduce"] * self.reduces
        return TaskGraph.of(size, intensity, parents, share, split, kind)
