"""How good the forest is that predicts the optimal GPU fraction, and what it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.experiments.statistics import Estimate
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.reports.plots.bars import bars
from hybrid_scheduler.reports.plots.style import INK, canvas, entitle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINE, COARSE, MOST = 0.05, 0.1, 12
"""Classes are as fine as the oracle's steps, or coarser where there would be more than can be read."""
COLOUR = "#0891b2"


def confusion(optimal: FloatArray, predicted: FloatArray) -> Figure:
    """Predicted against optimal fraction in classes; every row adds up to all tasks of that optimum.

    Args:
        optimal: The optimal GPU fraction of every task.
        predicted: What the forest says.
    """
    counts, classes = confusion_counts(optimal, predicted)
    totals = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    figure, (axes,) = canvas(max(2.8, 0.42 * len(classes) + 1.0))
    axes.grid(False)
    axes.imshow(share, cmap="GnBu", vmin=0, vmax=1, aspect="auto")
    for row, column in zip(*np.nonzero(counts), strict=True):
        dark = share[row, column] > 0.6
        words = f"{share[row, column]:.0%} ({counts[row, column]:,})"
        axes.text(column, row, words, ha="center", va="center", fontsize=6.5, color="white" if dark else INK)
    labels = [f"{share:.2f}" for share in classes]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("fraction the forest predicts")
    axes.set_ylabel("optimal fraction on an idle node")
    error = float(np.abs(optimal - predicted).mean())
    entitle(axes, f"Forest: predicted against optimal GPU fraction (mean error {error:.3f})")
    return figure


def confusion_counts(optimal: FloatArray, predicted: FloatArray) -> tuple[IntArray, FloatArray]:
    """How many tasks of each class of optimum were predicted in each class, and the classes' middles."""
    low, high = (float(end(np.concatenate([optimal, predicted]))) for end in (np.min, np.max))
    step = FINE if round(high / FINE) - round(low / FINE) < MOST else COARSE
    first = round(low / step)
    rows, columns = (np.rint(values / step).astype(np.int64) - first for values in (optimal, predicted))
    size = int(max(rows.max(), columns.max())) + 1
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    return counts, np.round((np.arange(size) + first) * step, 6)


def feature_importance(importances: Mapping[str, Estimate]) -> Figure:
    """What the forest looks at, the most important on top."""
    title = "Forest: importance of the features (they add up to 1)"
    return bars(title, "importance", importances, lambda _: COLOUR, biggest_first=True, linear=True)
