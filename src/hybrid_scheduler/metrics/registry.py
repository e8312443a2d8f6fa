"""Metrics by name, found through entry points: built-in ones and other people's alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from hybrid_scheduler.metrics.base import Metric, Value
from hybrid_scheduler.model.outcome import OutcomeBatch

GROUP = "hybrid_scheduler.metrics"


@cache
def metric_classes() -> dict[str, type[Metric]]:
    """Every registered metric by name, in the order in which the packages register them."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}


def summarise(outcomes: OutcomeBatch) -> dict[str, Value]:
    """Every registered metric of one scheduler's outcomes."""
    result: dict[str, Value] = {}
    for name, found in metric_classes().items():
        metric = found()
        metric.update(outcomes)
        result[name] = metric.get()
    return result
