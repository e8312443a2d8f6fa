"""The schedule length ratio of task graphs."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.metrics.base import OutcomeFacts, SharingMetric
from hybrid_scheduler.model.outcome import OutcomeBatch


class ScheduleLengthRatio(SharingMetric):
    """Makespan of a graph over the least seconds along its critical path: the mean over the graphs, at best 1.

    Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing",
    IEEE TPDS 13(3), 2002, section 5.1. A graph is tasks that dependencies join; its makespan runs from its first
    arrival to its last finish. Only graphs all of whose tasks are counted and finished have one.
    """

    name, title, short = "slr", "schedule length ratio", "SLR"
    unit = "ratio"

    def __init__(self) -> None:
        self._batches: list[OutcomeBatch] = []

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes."""
        if facts.outcomes.graphs is not None:
            self._batches.append(facts.outcomes)

    def get(self) -> float | None:
        """The mean so far; None where no task depends on another, or the best times are not known."""
        rows = [
            (b.graphs.graph, b.graphs.graph_tasks, b.graphs.path_seconds, b.arrival_time, b.finish_time, b.failed)
            for b in self._batches
            if b.graphs is not None
        ]
        if not rows:
            return None
        graph, tasks, path, arrival, finish, failed = map(np.concatenate, zip(*rows, strict=True))
        numbers, first, of = np.unique(graph, return_index=True, return_inverse=True)
        begin, end = np.full(len(numbers), np.inf), np.full(len(numbers), -np.inf)
        longest = np.zeros(len(numbers))
        np.minimum.at(begin, of, arrival)
        np.maximum.at(end, of, finish)
        np.maximum.at(longest, of, path)
        whole = np.bincount(of, weights=~failed) == tasks[first]
        return float(((end - begin)[whole] / longest[whole]).mean()) if whole.any() else None
