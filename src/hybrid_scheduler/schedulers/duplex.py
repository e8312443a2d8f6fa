"""Duplex: the better of min-min and max-min."""

from __future__ import annotations

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, makespan
from hybrid_scheduler.schedulers.max_min import max_min
from hybrid_scheduler.schedulers.min_min import min_min


class Duplex(BatchScheduler):
    """Duplex on estimates: maps the waiting tasks by min-min and by max-min, and takes what is done sooner.

    The heuristic of Braun et al., "A comparison of eleven static heuristics for mapping a class of independent tasks
    onto heterogeneous distributed computing systems", J. Parallel Distrib. Comput. 61 (2001). See `BatchScheduler` for
    when tasks are mapped.
    """

    rule = "The tasks that wait are mapped by min-min or by max-min, whichever is done sooner"

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """The mapping with the lesser makespan; min-min's when they are equal."""
        mappings = min_min(times, ready), max_min(times, ready)
        return min(mappings, key=lambda mapping: makespan(times, ready, mapping[1]))
