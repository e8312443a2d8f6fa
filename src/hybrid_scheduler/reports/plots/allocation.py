"""Where the work went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.reports.plots.style import BESIDE, DEVICE_COLOURS, INK, Palette, canvas, entitle
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 21
ACROSS = 5
LONGEST_LEGEND = 12


def shares(shares: Mapping[str, Mapping[str, float]], devices: Sequence[str]) -> Figure:
    """Stacked bars: how each scheduler shared the work out among the devices."""
    names = list(shares)[::-1]
    figure, (axes,) = canvas(0.36 * len(names) + 1.25, grid="x")
    left = np.zeros(len(names))
    for k, device in enumerate(devices):
        width = np.array([shares[name][device] for name in names])
        axes.barh(names, width, left=left, height=0.62, color=device_colour(k), label=device)
        left += width
    axes.set_xlim(0, 1)
    axes.set_xticks(np.linspace(0, 1, 6), [f"{tick:.0%}" for tick in np.linspace(0, 1, 6)])
    axes.set_xlabel("share of the work")
    entitle(axes, "Where the work went")
    if len(devices) <= LONGEST_LEGEND:
        axes.legend(**BESIDE)
    return figure


def gpu_fraction_distribution(fractions: Mapping[str, FloatArray], palette: Palette = colour_of) -> Figure:
    """How many tasks got which share of a GPU, one small histogram per scheduler.

    Args:
        fractions: The GPU fraction of every task by scheduler.
        palette: The colours.
    """
    names = list(fractions)
    figure, grid = _panels(len(names), 1.5)
    edges = np.linspace(-0.025, 1.025, BINS + 1)
    for name, axes in zip(names, grid, strict=False):
        weights = np.full(len(fractions[name]), 1.0 / max(1, len(fractions[name])))
        axes.hist(fractions[name], bins=edges.tolist(), weights=weights.tolist(), color=palette(name))
        axes.set_title(name, fontsize=8, color=INK)
        axes.set_ylim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    figure.suptitle(
        "Share of the tasks by GPU fraction", x=0.01, ha="left", fontsize=10.5, color=INK, fontweight="bold"
    )
    figure.supxlabel("GPU fraction of a task", fontsize=9, color=INK)
    return figure


def allocation_over_time(allocations: Mapping[str, FloatArray], devices: Sequence[str], tasks: int) -> Figure:
    """How the shares of the devices change along the run, one panel per scheduler.

    Args:
        allocations: By scheduler, one row per equal share of the tasks, one column per device.
        devices: Their names.
        tasks: How many tasks there were.
    """
    names = list(allocations)
    figure, grid = _panels(len(names), 1.6)
    for name, axes in zip(names, grid, strict=False):
        rows = allocations[name]
        x = (np.arange(len(rows)) + 0.5) * tasks / len(rows)
        axes.stackplot(x, rows.T, colors=[device_colour(k) for k in range(len(devices))], labels=devices)
        axes.set_title(name, fontsize=8, color=INK)
        axes.set_xlim(x[0], x[-1] if len(rows) > 1 else tasks)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        axes.set_xticks([0, tasks], ["0", f"{tasks:,}"])
        first, last = axes.get_xticklabels()
        first.set_horizontalalignment("left")
        last.set_horizontalalignment("right")
    handles, labels = grid[0].get_legend_handles_labels()
    if len(labels) <= LONGEST_LEGEND:
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    figure.suptitle(
        "Share of each device along the run", x=0.01, ha="left", fontsize=10.5, color=INK, fontweight="bold"
    )
    return figure


def device_colour(number: int) -> str:
    """The colour of a device."""
    return DEVICE_COLOURS[number % len(DEVICE_COLOURS)]


def _panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """Small plots in rows of five that share their axes."""
    columns = min(ACROSS, count)
    rows = ceil(count / columns)
    figure, first = canvas(height * rows + 0.9, 1)
    first[0].remove()
    grid: list[Axes] = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel().tolist()
    for axes in grid:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7, length=2, colors=INK)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid
