"""How much faster than the best device alone task graphs are done."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.metrics.base import OutcomeFacts, SpanMetric


class Speedup(SpanMetric):
    """Time of the best single device for all tasks of graphs, one after the other, over the makespan.

    Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002, section 5.1.
    """

    name, title, short = "speedup", "speedup over the best device", "speedup"
    unit = "ratio"
    bigger_is_better = True

    def __init__(self) -> None:
        super().__init__()
        self._sequential: float | np.ndarray[tuple[int, ...], np.dtype[np.float64]] = 0.0

    def update_from(self, facts: OutcomeFacts) -> None:
        """Take in more outcomes; failed tasks count nothing."""
        super().update_from(facts)
        outcomes = facts.outcomes
        if outcomes.graphs is not None:
            self._sequential = self._sequential + outcomes.graphs.alone_seconds[~outcomes.failed].sum(axis=0)

    def get(self) -> float | None:
        """The figure so far; None where no task depends on another, or no device can do all of them."""
        elapsed, best = self._span.elapsed, float(np.min(self._sequential))
        return best / elapsed if elapsed and 0.0 < best < np.inf else None
