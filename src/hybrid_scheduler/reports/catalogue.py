"""Which plots there are, and how each is drawn from a run; the names are those an experiment lists as its `plots`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.experiments.energy import STEPS
from hybrid_scheduler.experiments.figures import figure_info
from hybrid_scheduler.experiments.reality import JUDGED, PREDICTED, TOLERANCE
from hybrid_scheduler.experiments.statistics import Estimate, estimate
from hybrid_scheduler.model.errors import UnknownNameError
from hybrid_scheduler.reports.plots import allocation, bars, forest, latency, lines, pareto, reality, workload
from hybrid_scheduler.reports.plots.style import Palette, save
from hybrid_scheduler.reports.run_folder import Run, RunPoint
from hybrid_scheduler.schedulers.colours import colour_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Builder = Callable[[Run, RunPoint, Palette], "Figure | None"]
"""None where the run has no data for the plot."""
LEARNING = ("oracle", "rl_agent", "hybrid_ml", "static_forest", "mct")
TOO_SLOW = 50.0
"""Times the oracle's response."""
REGRETS = ("rl_agent", "hybrid_ml", "hybrid_queue", "static_forest", "greedy", "cpu_only", "gpu_only")


@dataclass(frozen=True)
class Picture:
    """A drawn plot.

    Attributes:
        name: The plot's name, with the point's value where there is one plot per point.
        path: Its PNG.
        caption: What is to be seen, in a sentence.
    """

    name: str
    path: Path
    caption: str


@dataclass(frozen=True)
class Plot:
    """A kind of plot.

    Attributes:
        build: Draws it.
        caption: What is to be seen, in a sentence.
        each_point: Whether every point gets one; else one plot shows them all.
    """

    build: Builder
    caption: str
    each_point: bool = False


SEEDS = re.compile(
    r"(,? with 95 % (intervals|bands)|, all seeds( together)?| of all seeds|, first seed)(?=[.;,])"
    r"|(?<=the )first seed's "
)
"""What a caption says only when there are several seeds."""

BOUND = "; the dashed line is what no scheduler can beat"
"""The end of a caption, where there is such a line."""


def draw(run: Run, folder: Path, names: Iterable[str] | None = None, palette: Palette = colour_of) -> list[Picture]:
    """Draw the plots of a run (those its experiment asks for, or these) as PNG files.

    Raises:
        UnknownNameError: There is no such plot.
        MissingExtraError: matplotlib is not installed.
    """
    drawn: list[Picture] = []
    for name in run.document["plots"] if names is None else names:
        if name not in PLOTS:
            raise UnknownNameError("plot", name, PLOTS)
        plot = PLOTS[name]
        for point in run.points if plot.each_point else run.points[:1]:
            figure = plot.build(run, point, palette)
            if figure is not None:
                several = plot.each_point and point.value is not None
                suffix = f"_{point.value}" if several else ""
                said = plot.caption if len(run.seeds) > 1 else SEEDS.sub("", plot.caption)
                said = said if "lower_bound" in point.estimates else said.replace(BOUND, "")
                caption = f"{run.parameter} {point.value}: {said}" if several else said
                path = save(figure, folder / f"{name}{suffix}.png")
                drawn.append(Picture(name + suffix, path, caption[0].upper() + caption[1:]))
    return drawn


def _bars(metric: str, bound: bool, run: Run, point: RunPoint, c: Palette) -> Figure | None:
    figures = point.figures(metric, bound=bound)
    return bars.metric_bars(metric, figures, c) if figures else None


def _samples(builder: Callable[..., Figure], sample: str, run: Run, point: RunPoint, c: Palette) -> Figure | None:
    samples = point.sample(sample)
    return builder(samples, c) if samples else None


def _series(builder: Callable[..., Figure], metric: str, bound: bool, run: Run, p: RunPoint, c: Palette) -> Figure:
    series: dict[str, list[Estimate]] = {}
    for point in run.points:
        for name, figure in point.figures(metric, bound=bound).items():
            series.setdefault(name, []).append(figure)
    return builder(_values(run), series, c)


def _regret(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    curves = {name: values for name, values in point.curves("regret").items() if name in REGRETS}
    return lines.regret(curves, c) if curves else None


def _learning(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    curves = point.curves("learning")
    kept = {name: values for name, values in curves.items() if name in LEARNING or name.startswith(("rl_", "hybrid_"))}
    return lines.learning_curve(kept, c) if "oracle" in kept else None


def _shares(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    names = [name for name in point.schedulers if f"share_{run.devices[0]}" in point.estimates[name]]
    shares = {name: {d: point.estimates[name][f"share_{d}"].mean for d in run.devices} for name in names}
    return allocation.shares(shares, run.devices) if shares else None


def _allocation(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    sample = point.first_sample("allocation")
    return allocation.allocation_over_time(sample, run.devices, run.tasks) if sample else None


def _workload(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    sample = point.first_sample("workload")
    columns = ("size", "compute_intensity", "memory_required", "arrival_time")
    return workload.workload(*(sample[name] for name in columns)) if sample else None


def _dependencies(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    sample = point.first_sample("workload")
    if "child" not in sample:
        return None
    child, parent = (sample[key].astype(np.int64) for key in ("child", "parent"))
    return workload.dependency_graph(child, parent, len(sample["size"]))


def _confusion(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    sample = point.sample("confusion")
    return forest.confusion(sample["optimal"], sample["predicted"]) if sample else None


def _importance(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    start = "importance_"
    scores = point.estimates.get("forest", {})
    importances = {
        metric.removeprefix(start): importance for metric, importance in scores.items() if metric.startswith(start)
    }
    return forest.feature_importance(importances) if importances else None


def _over_oracle(point: RunPoint, name: str, metric: str) -> Estimate:
    """A figure over the oracle's, seed by seed."""
    pairs = zip(point.estimates[name][metric].values, point.estimates["oracle"][metric].values, strict=True)
    return estimate([own / reference for own, reference in pairs])


def _ladder(goal: str, run: Run) -> list[RunPoint]:
    """The points along which the weight of a goal rises from 0 to 1."""
    (names,) = (each["points"] for each in run.document["ladders"] if each["goal"] == goal)
    return [next(point for point in run.points if point.value == name) for name in names]


def _goal_weight(goal: str, metric: str, run: Run, point: RunPoint, c: Palette) -> Figure:
    ladder = _ladder(goal, run)
    names = [name for name in point.schedulers if metric in point.estimates[name]]
    series = {name: [_over_oracle(each, name, metric) for each in ladder] for name in names}
    return lines.goal_weight(goal, STEPS, series, c)


def _front(run: Run, point: RunPoint, c: Palette) -> Figure:
    places: dict[str, list[pareto.Choice]] = {}
    for place in run.document["front"]:
        figures = tuple(place[goal] for goal in ("time", "energy", "money"))
        places.setdefault(place["scheduler"], []).append(pareto.Choice(place["weights"], figures, place["on_front"]))
    fastest = min(choice.figures[0] for choices in places.values() for choice in choices)
    kept = {n: [k for k in choices if k.weights or k.figures[0] <= TOO_SLOW * fastest] for n, choices in places.items()}
    return pareto.front({name: choices for name, choices in kept.items() if choices}, c)


def _pareto(goal: str, metric: str, run: Run, point: RunPoint, c: Palette) -> Figure:
    def place(where: RunPoint, name: str) -> tuple[Estimate, Estimate]:
        return _over_oracle(where, name, "avg_response"), _over_oracle(where, name, metric)

    ladder = _ladder(goal, run)
    moving = [name for name in point.schedulers if len({p.estimates[name][metric].mean for p in ladder}) > 1]
    # The control lies under the learner that starts from the same forest, not over it.
    moving.sort(key=lambda name: name != "static_forest")
    trails = {name: [place(p, name) for p in ladder] for name in moving}
    others = {name: place(point, name) for name in point.schedulers if name not in moving}
    # An overloaded scheduler lies far to the right and would squeeze the rest into a corner.
    fixed = {name: estimates for name, estimates in others.items() if estimates[0].mean <= TOO_SLOW}
    return pareto.pareto(trails, fixed, STEPS, goal, c)


def _settings(metric: str, title: str, label: str, run: Run, point: RunPoint, c: Palette) -> Figure:
    """A figure along every row of settings of `order`."""
    at = {each.value: each for each in run.points}

    def series(settings: Sequence[str]) -> dict[str, list[Estimate]]:
        return {name: [at[each].estimates[name][metric] for each in settings] for name in point.schedulers}

    rows = {varied: (list(row), series(list(row.values()))) for varied, row in run.document["rows"].items()}
    return lines.rows_of_settings(title, label, rows, c)


def _search(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    tried = {record.seed: record.samples["search"]["ratio"] for record in point.records}
    if not tried:
        return None
    asked = run.document["configuration"]["options"]
    words = figure_info(asked["metric"]).title
    title = f"The search for the worst of {asked['scheduler']} against {asked['against']}"
    return lines.search(tried, title, f"{words}, times {asked['against']}'s", c(asked["scheduler"]))


def _reality(run: Run, point: RunPoint, c: Palette) -> Figure | None:
    panels: dict[str, dict[str, reality.Pair]] = {}
    for metric in JUDGED:
        info, other = figure_info(metric), PREDICTED.format(metric)
        known = {name: point.estimates[name] for name in point.schedulers}
        pairs = {name: (own[metric], own[other]) for name, own in known.items() if metric in own and other in own}
        if pairs:
            panels[f"{info.title}, {info.symbol}"] = pairs
    return reality.reality(panels, TOLERANCE, c) if panels else None


def _values(run: Run) -> list[float]:
    return [float(point.value) for point in run.points if point.value is not None]


PLOTS: dict[str, Plot] = {
    "makespan_comparison": Plot(
        partial(_bars, "makespan", True),
        f"Makespan with 95 % intervals{BOUND}.",
    ),
    "response_comparison": Plot(
        partial(_bars, "avg_response", True),
        f"Mean response time with 95 % intervals{BOUND}.",
    ),
    "ablation": Plot(
        partial(_bars, "avg_response", False),
        "Mean response time of the learners, whole and with one part taken out.",
        each_point=True,
    ),
    "latency_cdf": Plot(
        partial(_samples, latency.latency_cdf, "response"), "Share of the tasks answered within a time, all seeds."
    ),
    "latency_boxplot": Plot(
        partial(_samples, latency.latency_boxplot, "response"), "Response times of all tasks of all seeds."
    ),
    "cost_comparison": Plot(partial(_bars, "cost", False), "Money for the devices' busy time, with 95 % intervals."),
    "speedup_comparison": Plot(
        partial(_bars, "speedup", False),
        "Round robin's makespan over each scheduler's, with 95 % intervals.",
    ),
    "avg_duration_comparison": Plot(
        partial(_bars, "avg_time", False),
        "Mean execution time without queueing: short is not all, where it makes others wait.",
    ),
    "totals": Plot(partial(_bars, "total_time", False), "Total execution time with 95 % intervals."),
    "workload": Plot(_workload, "Sizes, compute intensity against memory, and arrivals of the first seed's tasks."),
    "dependency_graph": Plot(_dependencies, "Who waits for whom."),
    "load_response": Plot(
        partial(_series, lines.load_response, "avg_response", True),
        "Mean response time against offered load; a line that leaves upwards is a scheduler that breaks.",
    ),
    "load_ratio": Plot(
        partial(_series, lines.load_ratio, "times_oracle", False), "The same over the oracle's, seed by seed."
    ),
    "order_response": Plot(
        partial(_settings, "times_oracle", "Deciding at once or letting wait: mean response", "times the oracle's"),
        "Mean response over the oracle's, seed by seed: by load, on random nodes, and as the true times scatter around "
        "the expected ones. The oracle alone knows the noise.",
    ),
    "order_slowdown": Plot(
        partial(_settings, "p99_slowdown", "The tail: slowdown that one task in a hundred exceeds", "p99 slowdown"),
        "The 99th percentile of response over the task's best time on an idle node, in the same settings.",
    ),
    "order_fairness": Plot(
        partial(_settings, "fairness", "Fairness: are all tasks slowed down alike?", "Jain's index of slowdown"),
        "Jain's index of the slowdowns in the same settings: 1 where all tasks are slowed down alike.",
    ),
    "reality": Plot(
        _reality,
        f"Each scheduler's figures in the calibrated twin over those on the machine, with 95 % intervals; on the line "
        f"both agree, in the grey band within {TOLERANCE:.0%}.",
    ),
    "search": Plot(
        _search,
        "Every instance a search tried, and the worst so far; above 1 the scheduler does worse than the other.",
    ),
    "energy_weight": Plot(
        partial(_goal_weight, "energy", "energy"),
        "Energy of each scheduler over the oracle's of the same seed as the learners' weight of energy rises.",
    ),
    "money_weight": Plot(
        partial(_goal_weight, "money", "cost"), "Money the same way, as the learners' weight of money rises."
    ),
    "front": Plot(
        _front,
        "Every choice of weights by its mean response, energy and cost, two at a time; filled marks are on the front "
        "of all three. Rules that do not keep up are left out.",
    ),
    "pareto": Plot(
        partial(_pareto, "energy", "energy"),
        "Energy against response time, over the oracle's of the same seed; the broad grey line is the front of what "
        "nobody beats in both. Schedulers "
        "that do not keep up are left out.",
    ),
    "pareto_cost": Plot(partial(_pareto, "money", "cost"), "Money against response time, drawn the same way."),
    "regret": Plot(_regret, "Seconds lost against the optimum, summed up since the start, with 95 % bands."),
    "learning_curve": Plot(_learning, "Response over the oracle's along the run, with 95 % bands.", each_point=True),
    "confusion": Plot(_confusion, "Rows add up to 100 %; in brackets the number of tasks, all seeds together."),
    "feature_importance": Plot(_importance, "What the forest's splits rest on, with 95 % intervals."),
    "gpu_fraction_distribution": Plot(
        partial(_samples, allocation.gpu_fraction_distribution, "gpu_fraction"),
        "How the schedulers split tasks: 0 is the CPU alone, 1 a GPU alone.",
    ),
    "shares": Plot(_shares, "Share of the work each device got: a constant policy cannot hide here."),
    "allocation_over_time": Plot(_allocation, "Share of each device along the run, first seed."),
}
"""Every plot by name."""
