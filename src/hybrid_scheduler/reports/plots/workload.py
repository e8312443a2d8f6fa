"""What the tasks were like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.reports.plots.style import FAINT, INK, canvas, entitle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR, SECOND = "#0ea5e9", "#f97316"
DRAWN_TASKS = 3000
"""More points than this would be one blot."""
ARRIVAL_BINS = 60
GRAPH_TASKS = 60
"""The first so many tasks of a graph; more could not be read."""


def workload(size: FloatArray, intensity: FloatArray, memory: FloatArray, arrival: FloatArray) -> Figure:
    """Sizes, compute against memory, and the rate of arrivals.

    The first three may be a sample of the tasks; the arrivals are those of all, and none when they arrive at once.

    Args:
        size: Problem sizes.
        intensity: Compute intensities.
        memory: Megabytes.
        arrival: Arrival times in seconds, ascending.
    """
    figure, (first, second, third) = canvas(2.9, 3)
    low, high = float(size.min()), float(size.max())
    edges = np.geomspace(low, high, 40) if high > low else np.array([0.9 * low, 1.1 * low])
    first.hist(size, bins=edges.tolist(), color=COLOUR)
    first.set_xscale("log")
    first.set_yscale("log")
    first.set_xlabel("size")
    first.set_ylabel("tasks")
    few = np.linspace(0, len(size) - 1, min(len(size), DRAWN_TASKS)).astype(int)
    second.scatter(memory[few], intensity[few], s=3, alpha=0.25, color=SECOND, linewidths=0)
    second.set_xlabel("memory, MB")
    second.set_ylabel("compute intensity")
    span = float(arrival[-1] - arrival[0]) if len(arrival) else 0.0
    if span > 0:
        counts, times = np.histogram(arrival, bins=ARRIVAL_BINS)
        third.stairs(counts / np.diff(times), times, color=INK, linewidth=1.1)
        third.axhline(len(arrival) / span, color=FAINT, linestyle=(0, (3, 2)), linewidth=1)
    third.set_ylim(bottom=0)
    third.set_xlabel("time, seconds")
    third.set_ylabel("arrivals per second")
    entitle(first, "The tasks")
    return figure


def dependency_graph(child: IntArray, parent: IntArray, tasks: int) -> Figure:
    """Tasks in columns by depth, arrows from parents to children; the first tasks only when there are many.

    Args:
        child: Positions of the tasks that wait.
        parent: Positions of the tasks they wait for.
        tasks: How many tasks there are.

    Raises:
        InvalidInputError: A parent comes after its child.
    """
    late = np.flatnonzero(parent >= child)
    if len(late):
        raise InvalidInputError(
            f"task {child[late[0]]} waits for task {parent[late[0]]}, but parents must come first to be drawn"
        )
    shown = min(tasks, GRAPH_TASKS)
    kept = child < shown
    edges = sorted(zip(child[kept].tolist(), parent[kept].tolist(), strict=True))
    depth = [0] * shown
    for one, other in edges:
        depth[one] = max(depth[one], depth[other] + 1)
    columns = [[task for task in range(shown) if depth[task] == level] for level in range(max(depth) + 1)]
    place = {
        task: (level, (row + 0.5) / len(column))
        for level, column in enumerate(columns)
        for row, task in enumerate(column)
    }
    tallest = max(map(len, columns))
    figure, (axes,) = canvas(min(8.0, max(2.5, 0.3 * tallest + 0.8)))
    axes.grid(False)
    for one, other in edges:
        axes.annotate(
            "",
            xy=place[one],
            xytext=place[other],
            arrowprops={"arrowstyle": "-|>", "color": FAINT, "linewidth": 0.8, "shrinkA": 8, "shrinkB": 8},
        )
    across, down = zip(*place.values(), strict=True)
    axes.scatter(across, down, s=190, color=COLOUR, zorder=3, edgecolors="white")
    for task, (x, y) in place.items():
        axes.text(x, y, str(task), ha="center", va="center", fontsize=6.5, color="white", zorder=4)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(1.02, -0.02)
    axes.set_xticks(range(len(columns)))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("tasks that must have finished one after the other before")
    some = "" if shown == tasks else f" (the first {shown} of {tasks} tasks)"
    entitle(axes, f"Dependencies{some}")
    return figure
