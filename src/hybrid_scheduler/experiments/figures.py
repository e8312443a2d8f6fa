"""The figures of a race: its metrics as numbers, and what is derived from them; how each of them is called."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hybrid_scheduler.engine.compare import GAP, gaps
from hybrid_scheduler.metrics.base import MetricInfo, Value
from hybrid_scheduler.metrics.registry import metric_infos
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.bounds import LowerBound

BOUND, ORACLE, BASELINE = "lower_bound", "oracle", "round_robin"
DERIVED = {
    info.name: info
    for info in (
        MetricInfo(
            "speedup", "speedup over round robin", "speedup", "1", True, "Round robin's makespan over one's own."
        ),
        MetricInfo("times_oracle", "mean response over the oracle's", "× oracle", "1", False),
        MetricInfo("p99_times_oracle", "99th percentile of response over the oracle's", "p99 × oracle", "1", False),
        MetricInfo("times_optimal", "total time over the optimum", "× optimal", "1", False),
        GAP,
        MetricInfo(
            "makespan_gap",
            "makespan above the lower bound",
            "makespan gap",
            "share",
            False,
            "Makespan over the lower bound of the same tasks, less 1.",
        ),
        MetricInfo(
            "win_share",
            "share of the tasks finished first",
            "wins",
            "share",
            True,
            "Tasks finished at least as soon as everybody else, of all tasks.",
        ),
        MetricInfo("gpu_share", "share of the work on GPUs", "on GPUs", "share", None),
        MetricInfo("predicted_avg_response", "mean response in the twin", "twin", "s", False),
        MetricInfo("predicted_makespan", "makespan in the twin", "twin", "s", False),
        MetricInfo("predicted_energy", "energy in the twin", "twin", "J", False),
        MetricInfo("avg_response_error", "the twin's mean response over the real one, less 1", "error", "share", None),
        MetricInfo("makespan_error", "the twin's makespan over the real one, less 1", "makespan error", "share", None),
        MetricInfo("energy_error", "the twin's energy over the measured one, less 1", "energy error", "share", None),
    )
}
"""Figures that relate schedulers to each other, beside the metrics of each."""


def figure_info(name: str) -> MetricInfo:
    """How a figure is called and read; one that nobody describes is a plain number."""
    words = name.replace("_", " ")
    return metric_infos().get(name) or DERIVED.get(name) or MetricInfo(name, words, words, "1", False)


def race_figures(
    outcomes: Mapping[str, OutcomeBatch], metrics: Mapping[str, Mapping[str, Value]], bound: LowerBound | None
) -> dict[str, dict[str, float]]:
    """The figures of everybody who raced, those that relate them to each other, and the bound.

    Args:
        outcomes: By scheduler, the ones that count.
        metrics: By scheduler, its summary (`metrics.registry.summarise`).
        bound: What nobody can beat, where it is known.
    """
    figures = {name: numbers(batch, metrics[name]) for name, batch in outcomes.items()}
    if bound is not None:
        for name in outcomes:
            own = gaps(metrics[name], bound)
            named = (("gap", own["avg_response"]), ("makespan_gap", own["makespan"]))
            figures[name] |= {key: value for key, value in named if value is not None}
        figures[BOUND] = {"makespan": bound.makespan, "avg_response": bound.avg_response}
    _relate(figures)
    return figures


def numbers(outcomes: OutcomeBatch, metrics: Mapping[str, Value]) -> dict[str, float]:
    """Every metric that is a number, and the share of the work each device got (`share_DEVICE`; GPUs: `gpu_share`)."""
    figures = {}
    for name, value in metrics.items():
        if isinstance(value, dict):
            average = value.get(f"average_{name}")
            value = float(average) if isinstance(average, int | float) else None
        if value is not None:
            figures[name] = float(value)
    work = shares(outcomes).mean(axis=0)
    figures["gpu_share"] = float(work[outcomes.device_gpu_id >= 0].sum())
    return figures | {f"share_{device}": float(s) for device, s in zip(outcomes.device_names, work, strict=True)}


def shares(outcomes: OutcomeBatch) -> FloatArray:
    """The share of each task that each device had, one row per task."""
    shares = np.zeros((len(outcomes), len(outcomes.device_names)))
    kept = ~outcomes.part_lost
    np.add.at(shares, (outcomes.part_task[kept], outcomes.part_device[kept]), outcomes.part_share[kept])
    return shares


def _relate(figures: Mapping[str, dict[str, float]]) -> None:
    """Add what people ask for: `speedup`, round robin's makespan over one's own; responses over the oracle's."""
    for reference, metric, name in (
        (BASELINE, "makespan", "speedup"),
        (ORACLE, "avg_response", "times_oracle"),
        (ORACLE, "p99_response", "p99_times_oracle"),
    ):
        base = figures.get(reference, {}).get(metric)
        for own_figures in figures.values():
            own = own_figures.get(metric)
            if base and own and "tasks" in own_figures:
                own_figures[name] = base / own if name == "speedup" else own / base
