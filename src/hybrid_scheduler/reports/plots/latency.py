"""How response times are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.reports.plots.style import INK, Palette, canvas, entitle, legend_beside, line_style
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Samples = Mapping[str, FloatArray]
STEPS = 400
"""Points of a distribution function: more could not be seen."""


def latency_cdf(responses: Samples, palette: Palette = colour_of) -> Figure:
    """The share of tasks that were answered within a time, logarithmic.

    Args:
        responses: The response times of all tasks by scheduler.
        palette: The colours.
    """
    figure, (axes,) = canvas(4.3)
    share = np.linspace(0.0, 1.0, STEPS)
    for name, values in responses.items():
        axes.plot(
            np.quantile(values, share),
            share,
            color=palette(name),
            linestyle=line_style(name),
            linewidth=1.7,
            label=name,
        )
    axes.set_xscale("log")
    axes.set_ylim(0, 1.01)
    axes.set_yticks(np.linspace(0, 1, 6), [f"{tick:.0%}" for tick in np.linspace(0, 1, 6)])
    axes.set_xlabel("response time, seconds")
    axes.set_ylabel("tasks answered by then")
    entitle(axes, "Distribution of response times (left and above is better)")
    legend_beside(axes, _by_median(responses))
    return figure


def latency_boxplot(responses: Samples, palette: Palette = colour_of) -> Figure:
    """Quartiles as boxes, 5 % and 95 % as whiskers, the mean as a point; logarithmic.

    Args:
        responses: The response times of all tasks by scheduler.
        palette: The colours.
    """
    names = _by_median(responses)[::-1]
    figure, (axes,) = canvas(0.38 * len(names) + 1.3, grid="x")
    drawn = axes.boxplot(
        [responses[name] for name in names],
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        widths=0.6,
        medianprops={"color": INK, "linewidth": 1.4},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": INK},
    )
    for name, box in zip(names, drawn["boxes"], strict=True):
        box.set_facecolor(palette(name))
        box.set_edgecolor(INK)
    axes.set_yticks(range(1, len(names) + 1), names)
    axes.set_xscale("log")
    axes.set_xlabel("response time, seconds: quartiles, 5 % to 95 %, ◇ mean")
    entitle(axes, "Response times of all tasks")
    return figure


def _by_median(responses: Samples) -> list[str]:
    return sorted(responses, key=lambda name: float(np.median(responses[name])))
