"""What a twin foretold against what a machine did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.reports.plots.style import FAINT, GRID, Palette, canvas, entitle, legend_beside, short
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[Estimate, Estimate]
"""What was measured, and what was predicted."""
MARGIN, TICKS = 1.4, 4


def reality(panels: Mapping[str, Mapping[str, Pair]], tolerance: float, palette: Palette = colour_of) -> Figure:
    """Schedulers as points, measured to the right, predicted upwards; on the diagonal both agree.

    Args:
        panels: By figure, in words with its unit, the pairs by scheduler.
        tolerance: The band around the diagonal, as a share.
        palette: The colours.
    """
    figure, axes = canvas(3.4, len(panels))
    for axis, (words, pairs) in zip(axes, panels.items(), strict=True):
        _panel(axis, words, pairs, tolerance, palette)
    entitle(axes[0], "Predicted by the twin, and measured")
    legend_beside(axes[-1])
    return figure


def _panel(axes: Axes, words: str, pairs: Mapping[str, Pair], tolerance: float, palette: Palette) -> None:
    import numpy as np
    from matplotlib.ticker import FixedLocator, NullLocator

    means = [each.mean for pair in pairs.values() for each in pair]
    low, high = min(means) / MARGIN, max(means) * MARGIN
    # A share is as wide everywhere where the scale is of ratios; intervals may leave the picture.
    axes.set_xscale("log")
    axes.set_yscale("log")
    line = [low, high]
    axes.fill_between(
        line, [(1 - tolerance) * x for x in line], [(1 + tolerance) * x for x in line], color=GRID, alpha=0.6, zorder=0
    )
    axes.plot(line, line, color=FAINT, linewidth=1.0, zorder=1)
    for name, (measured, predicted) in pairs.items():
        colour = palette(name)
        if measured.low is not None and measured.high is not None:
            axes.plot([measured.low, measured.high], [predicted.mean] * 2, color=colour, linewidth=1.0)
        if predicted.low is not None and predicted.high is not None:
            axes.plot([measured.mean] * 2, [predicted.low, predicted.high], color=colour, linewidth=1.0)
        axes.plot([measured.mean], [predicted.mean], "o", color=colour, markersize=5, label=name)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_xlabel(f"{words}, measured")
    axes.set_ylabel("predicted")
    for each in (axes.xaxis, axes.yaxis):
        each.set_major_locator(FixedLocator(np.geomspace(low * 1.1, high / 1.1, TICKS).tolist()))
        each.set_minor_locator(NullLocator())
        each.set_major_formatter(lambda value, _: short(value, 2))
