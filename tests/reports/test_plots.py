"""Every plot from made-up figures: what is drawn is what was given, and no label lies on another."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from hybrid_scheduler.experiments.load import LOADS
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.reports.plots import allocation, bars, forest, latency, lines, pareto, reality, workload
from hybrid_scheduler.reports.plots.style import short
from hybrid_scheduler.schedulers.colours import colour_blind_safe, colour_of
from hybrid_scheduler.schedulers.registry import scheduler_names

NAMES = [name for name in scheduler_names() if name != "example"]
RNG = np.random.default_rng(5)


def _estimates(spread: float = 0.5) -> dict[str, Estimate]:
    return {name: estimate((1.0 + k * spread + RNG.random(5) * 0.1).tolist()) for k, name in enumerate(NAMES)}


def _samples() -> dict[str, np.ndarray]:
    return {name: RNG.lognormal(k / 3, 1.0, 300) for k, name in enumerate(NAMES)}


def _curves() -> dict[str, np.ndarray]:
    return {name: np.cumsum(RNG.random((4, 50)) * (k + 1), axis=1) for k, name in enumerate(NAMES)}


def _series(points: int) -> dict[str, list[Estimate]]:
    return {name: [estimate((p + k + RNG.random(5)).tolist()) for p in range(points)] for k, name in enumerate(NAMES)}


def _choices(name: str) -> list[pareto.Choice]:
    draw = np.random.default_rng(len(name))
    weights = [None] if name == "mct" else ["time=1", "energy=1", "money=1", "time=0.5,money=0.5"]
    scales = np.array([0.1, 2e4, 0.05])
    return [
        pareto.Choice(each, tuple((1 + draw.random(3)) * scales), on_front=k % 2 == 0) for k, each in enumerate(weights)
    ]


def _places() -> tuple[Estimate, Estimate]:
    return estimate((1 + RNG.random(5)).tolist()), estimate((100 + RNG.random(5)).tolist())


def _graph() -> Figure:
    child, parent = np.array([2, 3, 3, 4, 70]), np.array([0, 0, 1, 3, 4])
    return workload.dependency_graph(child, parent, 80)


BOUNDED = {**_estimates(), "lower_bound": estimate([0.5] * 5)}
FIGURES: dict[str, Callable[[], Figure]] = {
    "makespan_comparison": lambda: bars.metric_bars("makespan", BOUNDED),
    "response_comparison": lambda: bars.metric_bars(
        "avg_response", {**_estimates(40.0), "lower_bound": estimate([0.5] * 5)}
    ),
    "cost_comparison": lambda: bars.metric_bars("cost", _estimates()),
    "speedup_comparison": lambda: bars.metric_bars("speedup", _estimates()),
    "avg_duration_comparison": lambda: bars.metric_bars("avg_time", _estimates()),
    "totals": lambda: bars.metric_bars("total_time", _estimates()),
    "latency_cdf": lambda: latency.latency_cdf(_samples()),
    "latency_boxplot": lambda: latency.latency_boxplot(_samples()),
    "regret": lambda: lines.regret(_curves()),
    "learning_curve": lambda: lines.learning_curve(_curves()),
    "load_response": lambda: lines.load_response(LOADS, _series(len(LOADS))),
    "load_ratio": lambda: lines.load_ratio([0.2, 1.0, 1.5], _series(3)),
    "order_response": lambda: lines.rows_of_settings(
        "Mean response",
        "times the oracle's",
        {
            "load": (["0.3", "0.6", "0.8"], _series(3)),
            "load, random nodes": (["0.20-0.45", "0.45-0.70", "0.70-0.85"], _series(3)),
            "noise, load 0.6": (["0", "0.25", "0.5", "1"], _series(4)),
        },
    ),
    "energy_weight": lambda: lines.goal_weight("energy", [0.0, 0.5, 1.0], _series(3)),
    "money_weight": lambda: lines.goal_weight("money", [0.0, 0.5, 1.0], _series(3)),
    "front": lambda: pareto.front({name: _choices(name) for name in ("rl_agent", "hybrid_ml", "mct")}),
    "pareto": lambda: pareto.pareto({"rl_agent": [_places(), _places()]}, {"mct": _places()}, [0.0, 1.0]),
    "reality": lambda: reality.reality(
        {"makespan, s": {name: (each, each) for name, each in _estimates().items()}, "energy, J": {"mct": _places()}},
        0.1,
    ),
    "workload": lambda: workload.workload(
        RNG.lognormal(6, 1, 500), RNG.random(500), RNG.random(500) * 300, np.cumsum(RNG.random(500))
    ),
    "dependency_graph": _graph,
    "confusion": lambda: forest.confusion(RNG.integers(10, 18, 300) / 20, RNG.integers(10, 18, 300) / 20),
    "feature_importance": lambda: forest.feature_importance({"size": estimate([0.9]), "memory": estimate([0.1])}),
    "gpu_fraction_distribution": lambda: allocation.gpu_fraction_distribution({n: RNG.random(50) for n in NAMES}),
    "allocation_over_time": lambda: allocation.allocation_over_time(
        {name: RNG.dirichlet(np.ones(5), 20) for name in NAMES}, ["cpu_0", "gpu_0", "gpu_1", "gpu_2", "gpu_3"], 1000
    ),
    "shares": lambda: allocation.shares({n: {"cpu_0": 0.3, "gpu_0": 0.7} for n in NAMES}, ["cpu_0", "gpu_0"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_labels_lie_inside_and_not_on_each_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = FIGURES[name]()
    boxes = [(text.get_text(), text.get_window_extent()) for text in _drawn(figure, monkeypatch)]
    assert boxes
    whole = figure.bbox
    for words, box in boxes:
        assert box.x0 >= whole.x0 - 1, words
        assert box.x1 <= whole.x1 + 1, words
        assert box.y0 >= whole.y0 - 1, words
        assert box.y1 <= whole.y1 + 1, words
    for (a, one), (b, other) in itertools.combinations(boxes, 2):
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
        assert min(overlap) < 2.0, f"{a!r} lies on {b!r}"


def _drawn(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """The words that are really drawn: an axis has labels beyond its ends that never are."""
    drawn: list[Text] = []
    original = Text.draw

    def draw(text: Text, renderer: Any) -> None:
        original(text, renderer)
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)

    monkeypatch.setattr(Text, "draw", draw)
    figure.canvas.draw()
    return drawn


def test_bars_show_the_figures() -> None:
    figure = bars.metric_bars("makespan", BOUNDED)
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == sorted(NAMES, key=lambda name: -BOUNDED[name].mean), "the shortest is on top"
    widths = [patch.get_width() for patch in axes.patches if isinstance(patch, Rectangle)]
    assert widths == [BOUNDED[name].mean for name in names]
    assert [patch.get_facecolor()[:3] for patch in axes.patches] == [_rgb(colour_of(name)) for name in names]
    words = {text.get_text() for text in axes.texts}
    assert {short(BOUNDED[name].mean) for name in NAMES} <= words
    assert "lower bound, 0.5000" in axes.get_xlabel()


def test_the_most_stands_on_top_where_more_is_better() -> None:
    estimates = _estimates()
    axes = bars.metric_bars("speedup", estimates).axes[0]
    assert axes.get_yticklabels()[-1].get_text() == max(NAMES, key=lambda name: estimates[name].mean)


def test_figures_far_apart_are_points_on_a_logarithmic_scale() -> None:
    axes = bars.metric_bars("avg_response", _estimates(40.0)).axes[0]
    assert axes.get_xscale() == "log"
    assert not axes.patches


def test_colour_blind_safe_colours() -> None:
    axes = bars.metric_bars("total_time", _estimates(), colour_blind_safe).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [patch.get_facecolor()[:3] for patch in axes.patches] == [_rgb(colour_blind_safe(name)) for name in names]


def test_the_distribution_function_is_that_of_the_samples() -> None:
    samples = {"mct": np.arange(1.0, 102.0)}
    (line,) = latency.latency_cdf(samples).axes[0].lines
    x, y = map(np.asarray, line.get_data())
    assert np.interp(0.5, y, x) == pytest.approx(51.0)
    assert (x[0], x[-1]) == (1.0, 101.0)


def test_learning_is_shown_over_the_oracle() -> None:
    curves = {"oracle": np.full((3, 10), 2.0), "mct": np.full((3, 10), 20.0)}
    line = next(each for each in lines.learning_curve(curves).axes[0].lines if each.get_label() == "mct")
    assert np.allclose(line.get_ydata(), 1.0), "ten times as long is one power of ten"


def test_the_front() -> None:
    places = [(1.0, 5.0), (2.0, 3.0), (3.0, 4.0), (4.0, 1.0), (4.0, 2.0)]
    assert pareto.pareto_front(places) == [(1.0, 5.0), (2.0, 3.0), (4.0, 1.0)]


def test_confusion_counts() -> None:
    counts, classes = forest.confusion_counts(np.array([0.5, 0.5, 0.6]), np.array([0.5, 0.61, 0.6]))
    assert classes.tolist() == [0.5, 0.55, 0.6]
    assert counts.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1]]
    many, coarse = forest.confusion_counts(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert len(coarse) == 11
    assert many.sum() == 2


def test_a_graph_is_drawn_parents_first() -> None:
    with pytest.raises(InvalidInputError, match="task 1 waits for task 2"):
        workload.dependency_graph(np.array([1]), np.array([2]), 3)
    axes = _graph().axes[0]
    assert "first 60 of 80" in axes.get_title(loc="left")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (1234.5678, "1,235"), (0.0012345, "0.001234"), (12.0, "12.00"), (-0.5, "-0.5000"), (1e-9, "1e-09")],
)
def test_short_figures(value: float, words: str) -> None:
    assert short(value) == words


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))


def test_the_check_of_labels_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = bars.metric_bars("total_time", {"mct": estimate([1.0])})
    words = [text.get_text() for text in _drawn(figure, monkeypatch)]
    assert {"mct", "1.000", "seconds, less is better", "0.0"} <= set(words)
