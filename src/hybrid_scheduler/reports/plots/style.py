"""The one style of all plots. matplotlib is imported when something is drawn, never before.

Names stand on an axis or in a legend beside the plot, so that labels cannot overlap; figures are drawn without pyplot,
so nothing global is touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.model.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Palette = Callable[[str], str]
"""The colour of a scheduler: `colour_of` or `colour_blind_safe`."""

WIDTH, DPI = 7.5, 170
INK, FAINT, GRID = "#1e293b", "#64748b", "#e2e8f0"
BOUND = "lower_bound"
DASHES: dict[str, Any] = {
    BOUND: (0, (4, 3)),
    "oracle": "-",
    "mct": (0, (5, 1.5)),
    "sjf": (0, (5, 1.5)),
    "fcfs": (0, (1, 1.2)),
    "greedy": (0, (1, 1.2)),
    "round_robin": (0, (1, 1.2)),
    "random": (0, (1, 1.2)),
    "cpu_only": (0, (4, 1.5, 1, 1.5)),
    "gpu_only": (0, (4, 1.5, 1, 1.5)),
    "static_forest": (0, (5, 1.5)),
}
"""Learners and the oracle have solid lines, rules dotted ones, constant policies dash-dotted ones."""
DEVICE_COLOURS = ("#334155", "#fbbf24", "#f97316", "#ef4444", "#be185d", "#7e22ce", "#1d4ed8", "#0f766e")
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False, "fontsize": 8}
"""Where legends stand: beside the plot, never on it."""
LEGEND_ROW, LEGEND_EDGES = 0.17, 0.9
"""Inches of a name in a legend, and of what is above and below it."""
MUCH = 30.0
"""Figures that differ by more than this factor are drawn on a logarithmic scale."""


def can_draw() -> bool:
    """Whether plots can be drawn here: matplotlib comes with the extra `report`."""
    return find_spec("matplotlib") is not None


def canvas(height: float, columns: int = 1, grid: str = "both", **options: Any) -> tuple[Figure, list[Axes]]:
    """An empty figure with some axes side by side.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    if not can_draw():
        raise MissingExtraError("a plot", "matplotlib", "report")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(1, columns, squeeze=False, **options)[0])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        for spine in axis.spines.values():
            spine.set_color(FAINT)
        axis.grid(True, axis=grid, color=GRID, linewidth=0.7)
        axis.set_axisbelow(True)
        axis.tick_params(colors=INK, labelsize=8, length=3)
        axis.xaxis.label.set(color=INK, fontsize=9)
        axis.yaxis.label.set(color=INK, fontsize=9)
    return figure, axes


def entitle(axes: Axes, title: str) -> None:
    """A title over the left edge of the plot."""
    axes.set_title(fill(title, 90), loc="left", fontsize=10.5, color=INK, fontweight="bold")


def line_style(name: str) -> Any:
    """How a scheduler's lines are drawn; a variant's are dashed."""
    return DASHES.get(name, "-" if name in ("rl_agent", "hybrid_ml", "hybrid_queue") else (0, (3, 1.2)))


def legend_beside(axes: Axes, order: Iterable[str] | None = None) -> None:
    """A legend right of the plot, in this order of the names; the figure grows with it."""
    handles, names = axes.get_legend_handles_labels()
    if order is not None:
        by_name = dict(zip(names, handles, strict=True))
        names = [name for name in order if name in by_name]
        handles = [by_name[name] for name in names]
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.set_figheight(max(figure.get_figheight(), LEGEND_ROW * len(names) + LEGEND_EDGES))
    axes.legend(handles, names, **BESIDE)


def differ_much(figures: Iterable[Estimate | float]) -> bool:
    """Whether positive figures are so far apart that only a logarithmic scale shows them all."""
    values = [figure.mean if isinstance(figure, Estimate) else figure for figure in figures]
    return bool(values) and min(values) > 0 and max(values) / min(values) > MUCH


def short(value: float, digits: int = 4) -> str:
    """A figure in four digits (or so many), without exponents for ordinary magnitudes."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    after = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{after}f}" if after <= 7 else f"{value:.{digits - 1}g}"


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG."""
    figure.savefig(path)
    return path
