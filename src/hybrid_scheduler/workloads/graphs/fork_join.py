"""Fork-join graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.workloads.graphs.base import GraphPreset, TaskGraph, parameter
from hybrid_scheduler.workloads.graphs.drawn import draw_data, draw_tasks
from hybrid_scheduler.workloads.streams import Streams


@dataclass(frozen=True)
class ForkJoin(GraphPreset):
    """One task forks into parallel ones, which one task joins; that one forks again in the next stage.

    Times, data and `ccr` as in `layered`.
    """

    name = "fork_join"
    summary = "one task forks into parallel ones that one task joins, stage after stage"

    stages: int = parameter(3, 1, 100_000, "forks one after the other")
    width: int = parameter(16, 1, 100_000, "parallel tasks of a stage")
    ccr: float = parameter(0.1, 0.0, 1000.0, "communication-to-computation ratio")

    @property
    def tasks(self) -> int:
        """See `GraphPreset.tasks`."""
        return 1 + self.stages * (self.width + 1)

    def draw(self, streams: Streams) -> TaskGraph:
        """See `GraphPreset.draw`."""
        size, intensity = draw_tasks(streams, self.tasks)
        parents = [np.zeros(0, dtype=np.int64)]
        for fork in range(0, self.tasks - 1, self.width + 1):
            parents += [np.array([fork])] * self.width
            parents.append(np.arange(fork + 1, fork + 1 + self.width))
        data = draw_data(streams, 2 * self.stages * self.width, self.ccr)
        first = np.zeros(self.tasks)
        first[:1] = draw_data(streams, 1, self.ccr)
        return TaskGraph.of(size, intensity, parents, data, first)
