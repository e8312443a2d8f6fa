"""Trade-offs between response time, energy and money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.reports.plots.style import INK, MUCH, Palette, canvas, differ_much, entitle, legend_beside
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
    axes.set_xlabel(f"mean response, times the oracle's\n(marks of learners grow with the weight of {good}: {words})")
    axes.set_ylabel(f"{good}, times the oracle's")
    entitle(axes, f"{good.capitalize()} against response time (left and below is better)")
    legend_beside(axes)
    return figure


@dataclass(frozen=True)
class Choice:
    """What one choice of weights gives.

    Attributes:
        weights: The weights; None of a scheduler without.
        figures: Mean response, energy and cost.
        on_front: Nobody is at least as good in all three.
    """

    weights: str | None
    figures: tuple[float, ...]
    on_front: bool


def front(choices: Mapping[str, Sequence[Choice]], palette: Palette = colour_of) -> Figure:
    """Every choice of weights in the three planes of two goals each; filled marks are on the front of all three."""
    figure, panels = canvas(3.6, 3)
    labels = ("mean response, s", "energy, J", "cost, $")
    for axes, (across, up) in zip(panels, ((0, 1), (0, 2), (1, 2)), strict=True):
        for name, places in choices.items():
            x, y = [place.figures[across] for place in places], [place.figures[up] for place in places]
            learns = any(place.weights for place in places)
            marker, colour = MARKERS.get(name, "o") if learns else "X", palette(name)
            faces = [colour if place.on_front else "none" for place in places]
            axes.scatter(x, y, 26, facecolors=faces, edgecolors=colour, marker=marker, label=name, linewidths=1.0)
        if across == 0 and differ_much(place.figures[0] for places in choices.values() for place in places):
            axes.set_xscale("log")
        axes.xaxis.set_major_locator(_few_ticks(axes))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: "")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel(labels[across])
        axes.set_ylabel(labels[up])
    entitle(panels[0], "Three goals, two at a time")
    legend_beside(panels[-1])
    return figure


def _few_ticks(axes: Axes) -> Any:
    from matplotlib.ticker import LogLocator, MaxNLocator

    return LogLocator(numticks=4) if axes.get_xscale() == "log" else MaxNLocator(3)


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
