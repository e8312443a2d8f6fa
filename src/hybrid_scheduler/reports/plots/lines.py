"""Figures along something: tasks, load, weight. Lines with their intervals as bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.experiments.statistics import Estimate, interval
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.reports.plots.style import BOUND, FAINT, Palette, canvas, entitle, legend_beside, line_style
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, FloatArray]
"""By scheduler, one row per seed."""
Series = Mapping[str, Sequence[Estimate]]
"""By scheduler, one figure per point."""
LABEL_ROOM = 0.05
"""Least distance of two labels, as a share of the axis."""


def regret(curves: Curves, palette: Palette = colour_of) -> Figure:
    """Seconds more than optimal, summed up over the tasks; linear below 0.1 and logarithmic above."""
    figure, (axes,) = canvas(4.3)
    _bands(axes, curves, palette, lambda count: np.arange(1.0, count + 1))
    ends = {name: float(values.mean(axis=0)[-1]) for name, values in curves.items()}
    means = [values.mean(axis=0) for values in curves.values()]
    largest = max(0.1, *(float(mean.max()) for mean in means))
    # The lines fill the plot; a band that is wider than that is cut off.
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(min(0.0, *(float(mean.min()) for mean in means)) - 0.01, 1.5 * largest)
    ticks = [0.0, *(10.0**k for k in range(-1, int(np.floor(np.log10(1.5 * largest))) + 1))]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlim(1, max(2, *(values.shape[1] for values in curves.values())))
    axes.set_xlabel("tasks since the start")
    axes.set_ylabel("seconds more than optimal, summed up")
    entitle(axes, "Regret")
    legend_beside(axes, sorted(ends, key=lambda name: -ends[name]))
    return figure


def learning_curve(curves: Curves, palette: Palette = colour_of) -> Figure:
    """Mean response along the run, over the oracle's of the same tasks; logarithmic, means over seeds geometric.

    Args:
        curves: Mean response of equal shares of the tasks, with the oracle's among them.
        palette: The colours.
    """
    figure, (axes,) = canvas(4.2)
    reference = curves["oracle"]
    ratios = {name: np.log10(values / reference) for name, values in curves.items() if name != "oracle"}
    _bands(axes, ratios, palette, lambda count: np.arange(1.0, count + 1) / count)
    axes.axhline(0.0, color=palette("oracle"), linewidth=1.4, label="oracle")
    middle = [values.mean(axis=0) for values in ratios.values()]
    low, high = (float(end([end(series) for series in middle])) for end in (np.nanmin, np.nanmax))
    # The lines fill the plot; a band that is wider than that is cut off.
    bottom, top = min(low, -0.05) - 0.1, max(high, 0.05) + 0.1
    ticks = [base * 10.0**power for power in range(-6, 7) for base in (1, 2, 5)]
    shown = [tick for tick in ticks if bottom <= np.log10(tick) <= top]
    axes.set_yticks(np.log10(shown), [f"{tick:g}" for tick in shown])
    axes.set_ylim(bottom, top)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("tasks that have arrived")
    axes.set_ylabel("mean response, times the oracle's")
    entitle(axes, "Along the run: response over the oracle's (below 1 is better than the oracle)")
    ends = {name: float(np.nanmean(values[:, -5:])) for name, values in ratios.items()} | {"oracle": 0.0}
    legend_beside(axes, sorted(ends, key=lambda name: -ends[name]))
    return figure


def search(tried: Mapping[int, FloatArray], title: str, label: str, colour: str) -> Figure:
    """Every ratio that a search tried, and the largest so far; one line per search.

    Args:
        tried: By seed, the ratios in the order in which they were tried.
        title: What was searched for.
        label: Of the ratio.
        colour: Of the scheduler it is about.
    """
    figure, (axes,) = canvas(4.2)
    for number, (seed, ratios) in enumerate(tried.items()):
        at = np.arange(1, len(ratios) + 1)
        axes.scatter(at, ratios, s=5, color=FAINT, alpha=0.35, linewidths=0, label=None if number else "tried")
        style = ("-", (0, (5, 1.5)), (0, (1, 1.2)))[number % 3]
        worst = np.maximum.accumulate(ratios)
        axes.step(at, worst, where="post", color=colour, linestyle=style, label=f"seed {seed}")
    axes.axhline(1.0, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:.0e}"[0] in "25" else "")
    axes.tick_params(axis="y", which="minor", labelsize=8)
    axes.set_xlabel("instances tried")
    axes.set_ylabel(label)
    entitle(axes, title)
    legend_beside(axes)
    return figure


def load_response(loads: Sequence[float], responses: Series, palette: Palette = colour_of) -> Figure:
    """Mean response against offered load; an overloaded scheduler leaves the picture at the top.

    Args:
        loads: Shares of the node's capacity.
        responses: Mean response at each load by scheduler; the lower bound may be among them.
        palette: The colours.
    """
    title = "Mean response time against offered load"
    return _against_load(loads, responses, palette, title, "mean response, seconds")


def load_ratio(loads: Sequence[float], ratios: Series, palette: Palette = colour_of) -> Figure:
    """Mean response over the oracle's, against offered load.

    Args:
        loads: Shares of the node's capacity.
        ratios: `times_oracle` at each load by scheduler.
        palette: The colours.
    """
    title = "Response over the oracle's against offered load (below 1 is better than the oracle)"
    return _against_load(loads, ratios, palette, title, "mean response, times the oracle's")


def rows_of_settings(
    title: str, label: str, rows: Mapping[str, tuple[Sequence[str], Series]], palette: Palette = colour_of
) -> Figure:
    """One figure in several rows of settings, side by side, logarithmic.

    Args:
        title: Stands above.
        label: What the figure is.
        rows: By what is varied: the settings' names, and the figure in each of them by scheduler.
        palette: The colours.
    """
    figure, every = canvas(4.3, len(rows), sharey=True)
    for axes, (varied, (names, series)) in zip(every, rows.items(), strict=True):
        _series(axes, range(len(names)), series, palette)
        axes.set_yscale("log")
        axes.set_xticks(range(len(names)), names)
        axes.tick_params(axis="x", labelrotation=30)
        axes.set_xlabel(varied)
    every[0].set_ylabel(label)
    entitle(every[0], title)
    legend_beside(every[-1], sorted(series, key=lambda name: -series[name][-1].mean))
    return figure


def goal_weight(goal: str, weights: Sequence[float], figures: Series, palette: Palette = colour_of) -> Figure:
    """A goal's figure against the weight it has in a learner's objective.

    Args:
        goal: `energy` or `money`.
        weights: From 0, time only, to 1, this goal only.
        figures: At each weight by scheduler, over the oracle's.
        palette: The colours.
    """
    title = f"{goal.capitalize()} against its weight in the objective"
    figure, axes = _along(weights, figures, palette, title, f"weight of {goal}, the rest is time's")
    axes.set_ylabel(f"{goal}, times the oracle's")
    return figure


def _against_load(loads: Sequence[float], series: Series, palette: Palette, title: str, label: str) -> Figure:
    figure, axes = _along(loads, series, palette, title, "offered load, share of the node's capacity")
    axes.set_yscale("log")
    axes.set_ylabel(label)
    axes.axvline(1.0, color=FAINT, linewidth=0.9, linestyle=(0, (2, 2)))
    return figure


def _along(positions: Sequence[float], series: Series, palette: Palette, title: str, label: str) -> tuple[Figure, Axes]:
    figure, (axes,) = canvas(4.3)
    _series(axes, positions, series, palette)
    axes.set_xticks(positions, _labels(positions))
    axes.set_xlabel(label)
    entitle(axes, title)
    legend_beside(axes, sorted(series, key=lambda name: -series[name][-1].mean))
    return figure, axes


def _series(axes: Axes, positions: Sequence[float], series: Series, palette: Palette) -> None:
    """A line with its band for each scheduler."""
    for name, estimates in series.items():
        colour, means = palette(name), [estimate.mean for estimate in estimates]
        marker = "" if name == BOUND else "o"
        axes.plot(
            positions, means, color=colour, linestyle=line_style(name), linewidth=1.7, marker=marker, ms=4, label=name
        )
        ends = [
            (estimate.low, estimate.high)
            for estimate in estimates
            if estimate.low is not None and estimate.high is not None
        ]
        if len(ends) == len(means):
            low, high = zip(*ends, strict=True)
            axes.fill_between(positions, low, high, color=colour, alpha=0.15, linewidth=0)


def _labels(positions: Sequence[float]) -> list[str]:
    """Every position in figures, but for those too near to the one before to be read."""
    room, last, labels = LABEL_ROOM * (max(positions) - min(positions)), -float("inf"), []
    for position in positions:
        shown = position - last >= room
        last = position if shown else last
        labels.append(f"{position:g}" if shown else "")
    return labels


def _bands(axes: Axes, curves: Curves, palette: Palette, positions: Callable[[int], FloatArray]) -> None:
    for name, values in curves.items():
        x, band = positions(values.shape[1]), interval(values)
        axes.plot(x, values.mean(axis=0), color=palette(name), linestyle=line_style(name), linewidth=1.6, label=name)
        if band is not None:
            axes.fill_between(x, *band, color=palette(name), alpha=0.13, linewidth=0)
