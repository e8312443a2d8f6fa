"""Trade-offs: energy or money against response time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.reports.plots.style import INK, MUCH, Palette, canvas, entitle, legend_beside
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = tuple[Estimate, Estimate]
"""Response time, and the other good."""
MARKERS = {"rl_agent": "o", "hybrid_ml": "s", "static_forest": "D"}


def pareto(
    trails: Mapping[str, Sequence[Place]],
    fixed: Mapping[str, Place],
    weights: Sequence[float],
    good: str = "energy",
    palette: Palette = colour_of,
) -> Figure:
    """Learners as trails over the weight, the others as points; the Pareto front is marked.

    All figures are over the oracle's of the same seed, so that the spread of the tasks does not hide the differences.

    Args:
        trails: By learner, one place per weight.
        fixed: The others, which do not depend on the weight.
        weights: The weights of the trails; marks grow with them.
        good: What stands on the vertical axis.
        palette: The colours.
    """
    figure, (axes,) = canvas(4.8)
    for name, trail in trails.items():
        x, y = [time.mean for time, _ in trail], [other.mean for _, other in trail]
        marker, sizes = MARKERS.get(name, "o"), [22 + 90 * weight for weight in weights]
        axes.plot(x, y, color=palette(name), linewidth=1.2, zorder=2)
        axes.scatter(x, y, sizes, color=palette(name), marker=marker, label=name, zorder=3, edgecolors="white")
        for place in trail:
            _cross(axes, place, palette(name))
    for name, place in fixed.items():
        axes.plot([place[0].mean], [place[1].mean], marker="X", ms=8, linestyle="none", color=palette(name), label=name)
        _cross(axes, place, palette(name))
    every = [place for trail in trails.values() for place in trail] + list(fixed.values())
    front = pareto_front([(time.mean, other.mean) for time, other in every])
    axes.plot(
        *zip(*front, strict=True), color=INK, linewidth=6, alpha=0.13, zorder=1, label="front", drawstyle="default"
    )
    if max(time.mean for time, _ in every) > MUCH * min(time.mean for time, _ in every):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    words = ", ".join(f"{weight:g}" for weight in weights)
    axes.set_xlabel(f"mean response, times the oracle's\n(marks of learners grow with the energy weight: {words})")
    axes.set_ylabel(f"{good}, times the oracle's")
    entitle(figure, axes, f"{good.capitalize()} against response time (left and below is better)")
    legend_beside(axes)
    return figure


def pareto_front(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The places that no other beats in one good without losing in the other, from left to right."""
    front: list[tuple[float, float]] = []
    for x, y in sorted(places):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def _cross(axes: Axes, place: Place, colour: str) -> None:
    """The intervals both ways."""
    time, other = place
    if time.low is not None and time.high is not None:
        axes.plot([time.low, time.high], [other.mean] * 2, color=colour, linewidth=1.0, alpha=0.7)
    if other.low is not None and other.high is not None:
        axes.plot([time.mean] * 2, [other.low, other.high], color=colour, linewidth=1.0, alpha=0.7)
