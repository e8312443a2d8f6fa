"""Fairness: how evenly the tasks are slowed down."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.metrics.base import FigureMetric


class Fairness(FigureMetric):
    """Jain's index of the slowdowns: 1 where all tasks are slowed down alike, 1/n where one of n bears it all.

    Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems", DEC Research Report TR-301 (1984): the squared sum over n times the sum of squares.
    """

    name, title, short = "fairness", "fairness of slowdown", "fairness"
    unit = "ratio"
    bigger_is_better = True
    figure = "slowdowns"

    def get(self) -> float | None:
        """The index so far, or None where the best times are not known."""
        slowdowns = self.values()
        if not len(slowdowns):
            return None
        most = slowdowns.max()
        if most == 0.0:  # all too short for the clock: alike
            return 1.0
        scaled = slowdowns / most
        return float(scaled.sum() ** 2 / (len(scaled) * np.square(scaled).sum()))
