"""Plots in one small style. matplotlib is imported when something is drawn, never before.

Names stand on the axis or in a legend beside the plot, so that labels cannot overlap; figures are drawn without
pyplot, so nothing global is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.experiments.statistics import Estimate, interval
from hybrid_scheduler.model.task import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "oracle": "#111111",
    "cpu_only": "#8a8a8a",
    "gpu_only": "#d55e00",
    "greedy": "#009e73",
    "round_robin": "#e69f00",
    "random": "#b59b6a",
    "mct": "#cc6677",
    "static_forest": "#0b5fa5",
    "hybrid_ml": "#12a5c9",
    "rl_agent": "#8b3fd1",
}
"""One colour per scheduler, everywhere: the forest cyan, the agent purple."""
OTHER_COLOUR = "#666666"
DASHES = {"cpu_only": "--", "gpu_only": "--", "greedy": ":", "round_robin": ":", "random": ":"}
"""Learners have solid lines."""
DEVICE_COLOURS = ("#5b8def", "#f2a33a", "#e8743b", "#d9534f", "#a83279", "#6b2d73")
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False}
"""Where legends stand: beside the plot, never on it."""
WIDTH = 7.5
DPI = 150


def draw_bars(path: Path, title: str, unit: str, estimates: Mapping[str, Estimate]) -> Path:
    """Horizontal bars with intervals, the least on top; the figure stands behind each bar."""
    names = sorted(estimates, key=lambda name: -estimates[name].mean)
    figure, axes = _canvas(0.38 * len(names) + 1.2)
    means = [estimates[name].mean for name in names]
    axes.barh(names, means, color=[COLOURS.get(name, OTHER_COLOUR) for name in names], height=0.65)
    ends = []
    for row, name in enumerate(names):
        each = estimates[name]
        end = each.mean
        if each.low is not None and each.high is not None:
            axes.plot([each.low, each.high], [row, row], color="#000000", linewidth=1.2, marker="|", markersize=7)
            end = max(end, each.high)
        ends.append(end)
    widest = max(ends) or 1.0
    for row, (end, mean) in enumerate(zip(ends, means, strict=True)):
        axes.text(end + 0.015 * widest, row, f"{mean:.4g}", va="center", fontsize=8)
    axes.set_xlim(0, 1.14 * widest)
    axes.set_xlabel(unit)
    axes.set_title(title)
    return _saved(figure, path)


def draw_lines(path: Path, title: str, labels: tuple[str, str], curves: Mapping[str, FloatArray]) -> Path:
    """Mean lines with their intervals as bands; the scale is linear below 0.1 and logarithmic above.

    Args:
        path: The file to write.
        title: Stands above.
        labels: Of the x and the y axis.
        curves: By scheduler, one row per seed.
    """
    figure, axes = _canvas(4.2)
    means = {name: values.mean(axis=0) for name, values in curves.items()}
    for name, values in curves.items():
        colour, position, found = COLOURS.get(name, OTHER_COLOUR), np.arange(1, values.shape[1] + 1), interval(values)
        axes.plot(position, means[name], color=colour, linestyle=DASHES.get(name, "-"), linewidth=1.6, label=name)
        if found is not None:
            axes.fill_between(position, *found, color=colour, alpha=0.15, linewidth=0)
    lowest, largest = (float(end([end(mean) for mean in means.values()])) for end in (np.min, np.max))
    # The lines fill the plot; a band that is wider than that is cut off.
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(min(0.0, lowest) - 0.01, 1.5 * max(0.1, largest))
    ticks = [0.0, *(10.0**k for k in range(-1, int(np.floor(np.log10(max(0.1, 1.5 * largest)))) + 1))]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.set_xlim(1, max(2, *(values.shape[1] for values in curves.values())))
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(title)
    handles, names = axes.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda k: -means[names[k]][-1])  # as the lines end, top to bottom
    axes.legend([handles[k] for k in order], [names[k] for k in order], **BESIDE)
    return _saved(figure, path)


def draw_shares(path: Path, title: str, shares: Mapping[str, Mapping[str, float]], devices: Sequence[str]) -> Path:
    """Stacked bars: how each scheduler shared the tasks out among the devices."""
    names = list(shares)[::-1]
    figure, axes = _canvas(0.38 * len(names) + 1.2)
    left = np.zeros(len(names))
    for k, device in enumerate(devices):
        width = np.array([shares[name][device] for name in names])
        axes.barh(names, width, left=left, height=0.65, color=DEVICE_COLOURS[k % len(DEVICE_COLOURS)], label=device)
        left += width
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the tasks")
    axes.set_title(title)
    if len(devices) <= 12:  # a longer legend would be higher than the plot
        axes.legend(**BESIDE)
    return _saved(figure, path)


def _canvas(height: float) -> tuple[Figure, Axes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _saved(figure: Figure, path: Path) -> Path:
    figure.savefig(path)
    return path
