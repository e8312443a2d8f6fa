"""Metrics by name, found through entry points: built-in ones and other people's alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

import numpy as np

from hybrid_scheduler.metrics.base import Metric, MetricInfo, OutcomeFacts, Value
from hybrid_scheduler.model.outcome import OutcomeBatch

GROUP = "hybrid_scheduler.metrics"


@cache
def metric_classes() -> dict[str, type[Metric]]:
    """Every registered metric by name, in the order in which the packages register them."""
    return {point.name: point.load() for point in entry_points(group=GROUP)}


@cache
def metric_infos() -> dict[str, MetricInfo]:
    """How every registered metric is called and read, by name."""
    return {name: metric.info(name) for name, metric in metric_classes().items()}


def summarise(outcomes: OutcomeBatch, *, warmup: int = 0) -> dict[str, Value]:
    """Every registered metric of one scheduler's outcomes.

    Args:
        outcomes: All of them, in the order of the tasks.
        warmup: The first so many are left out, but for metrics that cover them (`Metric.covers_warmup`).
    """
    whole = OutcomeFacts(outcomes)
    counted = OutcomeFacts(outcomes.select(np.arange(len(outcomes)) >= warmup)) if warmup else whole
    result: dict[str, Value] = {}
    for name, metric_class in metric_classes().items():
        metric = metric_class()
        metric.update_from(whole if metric.covers_warmup else counted)
        result[name] = metric.get()
    return result
