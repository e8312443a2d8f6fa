"""One figure per scheduler, with its interval: bars, or points where only a logarithmic scale can show all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hybrid_scheduler.experiments.figures import figure_info
from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.reports.plots.style import BOUND, INK, Palette, canvas, differ_much, entitle, short
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Estimates = Mapping[str, Estimate]
UNITS = {"s": "seconds", "$": "dollars", "J": "joules", "1": "times"}
TITLES = {
    "makespan": "Makespan: from the first arrival to the last finish",
    "avg_response": "Mean response time: from arrival to finish",
    "cost": "Cost of all tasks",
    "avg_time": "Mean execution time of a task, without queueing",
    "speedup": "Speedup over round robin (its makespan over one's own)",
    "total_time": "Total execution time of all tasks",
}
"""What stands above the bars of a metric."""


def metric_bars(metric: str, estimates: Estimates, palette: Palette = colour_of) -> Figure:
    """One metric of everybody, with its unit and which way is better."""
    info = figure_info(metric)
    axis = f"{UNITS.get(info.unit, info.unit)}, {'more' if info.bigger_is_better else 'less'} is better"
    return bars(TITLES[metric], axis, estimates, palette, biggest_first=bool(info.bigger_is_better))


def bars(
    title: str,
    unit: str,
    estimates: Estimates,
    palette: Palette = colour_of,
    *,
    biggest_first: bool = False,
    linear: bool = False,
) -> Figure:
    """Horizontal bars with intervals, the best on top; the figure stands behind each bar.

    Args:
        title: Stands above.
        unit: Of the axis.
        estimates: The figures; a lower bound among them is a dashed line.
        palette: The colours.
        biggest_first: Whether more is better.
        linear: No logarithmic scale, however far apart the figures are.
    """
    bound = estimates.get(BOUND)
    names = sorted((n for n in estimates if n != BOUND), key=lambda n: estimates[n].mean, reverse=not biggest_first)
    figure, (axes,) = canvas(0.36 * len(names) + 1.25, grid="x")
    logarithmic = not linear and differ_much(estimates[name] for name in names)
    for row, name in enumerate(names):
        mean = estimates[name].mean
        if logarithmic:
            axes.plot([mean], [row], marker="o", markersize=8, color=palette(name), linestyle="none")
        else:
            axes.barh([row], [mean], color=palette(name), height=0.62)
    ends = [_whisker(axes, row, estimates[name]) for row, name in enumerate(names)]
    axes.set_yticks(range(len(names)), names)
    _scale(axes, [estimates[name] for name in names], ends, bound, logarithmic)
    _figures(axes, [estimates[name].mean for name in names], ends, logarithmic)
    if bound is not None and bound.mean > 0:
        axes.axvline(bound.mean, color=palette(BOUND), linestyle=(0, (4, 3)), linewidth=1.4)
        unit += f"; dashed: the lower bound, {short(bound.mean)}"
    axes.set_xlabel(unit)
    entitle(axes, title)
    return figure


def _whisker(axes: Axes, row: int, estimate: Estimate) -> float:
    """The interval of a figure; returns where what is drawn ends."""
    if estimate.low is None or estimate.high is None:
        return estimate.mean
    axes.plot([estimate.low, estimate.high], [row, row], color=INK, linewidth=1.2, marker="|", markersize=7)
    return max(estimate.mean, estimate.high)


def _scale(
    axes: Axes, figures: Sequence[Estimate], ends: Sequence[float], bound: Estimate | None, logarithmic: bool
) -> None:
    widest = max(ends, default=1.0) or 1.0
    if not logarithmic:
        axes.set_xlim(0, 1.16 * widest)
        return
    axes.set_xscale("log")
    lows = [estimate.low if estimate.low is not None and estimate.low > 0 else estimate.mean for estimate in figures]
    lowest = min([*lows, *([bound.mean] if bound is not None and bound.mean > 0 else [])])
    axes.set_xlim(lowest / (widest / lowest) ** 0.06, widest * (widest / lowest) ** 0.2)
    axes.minorticks_off()


def _figures(axes: Axes, means: Sequence[float], ends: Sequence[float], logarithmic: bool) -> None:
    for row, (mean, end) in enumerate(zip(means, ends, strict=True)):
        axes.annotate(
            short(mean),
            (end, row),
            xytext=(8 if logarithmic else 5, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK,
        )
