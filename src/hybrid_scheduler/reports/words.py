"""Figures and verdicts in words. "Better" and "worse" are said where the verdict says so, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hybrid_scheduler.experiments.figures import figure_info
from hybrid_scheduler.experiments.statistics import NOT_SHOWN, Estimate
from hybrid_scheduler.reports.plots.style import short
from hybrid_scheduler.reports.run_folder import Run, RunPoint


def metric_words(metric: str) -> str:
    """A metric as people say it; one that is yes or no is a share of the seeds."""
    info = figure_info(metric)
    return f"share of the seeds in which it was {info.title}" if info.unit == "yes/no" else info.title


def unit_of(metric: str) -> str:
    """The unit of a metric; empty for a plain number."""
    return figure_info(metric).symbol


def bigger_is_better(metric: str) -> bool:
    """Which way is better."""
    return bool(figure_info(metric).bigger_is_better)


def with_interval(estimate: Estimate | None) -> str:
    """A figure and its interval."""
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return short(estimate.mean)
    return f"{short(estimate.mean)} [{ends(estimate.low, estimate.high)}]"


def ends(low: float, high: float) -> str:
    """The ends of an interval, in fewer digits than the figure they belong to."""
    return f"{short(low, 3)}, {short(high, 3)}"


def summary(run: Run) -> list[str]:
    """The run in a few sentences, all of them made from its figures."""
    if run.parameter is not None:
        return [*_lowest_along(run), *_verdicts_along(run), *_findings(run)]
    point, sentences = run.points[0], []
    for metric in run.document["compared"]:
        sentences += [_lowest(point, metric), *_verdicts(point, metric)]
    return [*sentences, *_overloaded(run), *_bounds(point), *_forest(point), *_findings(run)]


def _lowest(point: RunPoint, metric: str) -> str:
    figures, most = point.figures(metric), bigger_is_better(metric)
    name = (max if most else min)(figures, key=lambda name: figures[name].mean)
    unit = unit_of(metric)
    return (
        f"{'Highest' if most else 'Lowest'} {metric_words(metric)} on average: {name}, "
        f"{with_interval(figures[name])}{f' {unit}' if unit else ''}."
    )


def _verdicts(point: RunPoint, metric: str) -> Iterator[str]:
    """One sentence for each scheduler the comparisons are about."""
    compared = [comparison for comparison in point.comparisons if comparison.metric == metric]
    for name in dict.fromkeys(comparison.a for comparison in compared):
        rivals = {
            verdict: [comparison.b for comparison in compared if comparison.a == name and comparison.verdict == verdict]
            for verdict in ("better", "worse", NOT_SHOWN)
        }
        parts = [f"{verdict} than {listed(rivals[verdict])}" for verdict in ("better", "worse") if rivals[verdict]]
        words = f"{name} is {' and '.join(parts)}" if parts else ""
        if rivals[NOT_SHOWN]:
            words += f"{'; ' if words else f'{name}: '}{NOT_SHOWN} against {listed(rivals[NOT_SHOWN])}"
        yield f"By {metric_words(metric)}, {words}."


def _lowest_along(run: Run) -> Iterator[str]:
    """Which scheduler has the lowest figure at which points."""
    for metric in run.document["compared"]:
        at: dict[str, list[str]] = {}
        for point in run.points:
            figures = point.figures(metric)
            choose = max if bigger_is_better(metric) else min
            at.setdefault(choose(figures, key=lambda name: figures[name].mean), []).append(str(point.value))
        parts = [f"{name} {_at(run, values)}" for name, values in at.items()]
        extreme = "Highest" if bigger_is_better(metric) else "Lowest"
        yield f"{extreme} {metric_words(metric)} on average: {'; '.join(parts)}."


def _verdicts_along(run: Run) -> Iterator[str]:
    """One sentence for each pair by the first metric: at which points the verdict is which."""
    for metric in run.document["compared"][:1]:
        pairs = dict.fromkeys(
            (comparison.a, comparison.b) for comparison in run.points[0].comparisons if comparison.metric == metric
        )
        for a, b in pairs:
            at: dict[str, list[str]] = {}
            for point in run.points:
                for comparison in point.comparisons:
                    if (comparison.a, comparison.b, comparison.metric) == (a, b, metric):
                        at.setdefault(comparison.verdict, []).append(str(point.value))
            parts = [
                f"{verdict}{'' if len(at) == 1 else f' {_at(run, at[verdict])}'}"
                for verdict in ("better", "worse", NOT_SHOWN)
                if verdict in at
            ]
            everywhere = f" {_everywhere(run)}" if len(at) == 1 else ""
            yield f"By {metric_words(metric)}, {a} against {b}: {'; '.join(parts)}{everywhere}."


def _at(run: Run, values: list[str]) -> str:
    """At which points: "at load 0.2 and 0.4", "in the busy world", "at the weights time=1; energy=1"."""
    if run.parameter == "weights":
        return f"at the weights {'; '.join(values)}"
    return f"at {_name(run)} {listed(values)}" if run.varies_a_number else f"in the {listed(values)} {_name(run)}"


def _everywhere(run: Run) -> str:
    if run.parameter == "weights":
        return "at every choice of weights"
    return f"{'at' if run.varies_a_number else 'in'} every {_name(run)}"


def _name(run: Run) -> str:
    return (run.parameter or "").replace("_", " ")


def _overloaded(run: Run) -> Iterator[str]:
    """Which schedulers were overloaded, in one race; over several seeds it is a figure."""
    if run.is_race:
        figures = run.points[0].figures("overloaded")
        if not figures:
            yield "Whether anybody was overloaded is not known: the store does not say when the tasks were ready."
            return
        late = [name for name, estimate in figures.items() if estimate.mean > 0]
        yield f"Overloaded, with queues that grew until the end: {listed(late) if late else 'nobody'}."


def _bounds(point: RunPoint) -> Iterator[str]:
    for metric, bound in point.estimates.get("lower_bound", {}).items():
        reached = min(estimate.mean for estimate in point.figures(metric).values())
        yield (
            f"No scheduler could have a {metric_words(metric)} below {short(bound.mean)} {unit_of(metric)} on average; "
            f"the lowest reached is {short(reached / bound.mean)} times that."
        )


def _forest(point: RunPoint) -> Iterator[str]:
    scores = point.estimates.get("forest")
    if scores:
        yield (
            f"The forest explains {with_interval(scores['test_r2'])} of the variance of the optimal GPU fraction of "
            f"tasks it has not seen (R²); its mean absolute error is {with_interval(scores['mae'])}."
        )


def _findings(run: Run) -> Iterator[str]:
    breaks = run.document.get("breaks_at")
    if breaks:
        for load in sorted({load for load in breaks.values() if load is not None}):
            names = [name for name, at in breaks.items() if at == load]
            yield f"Overloaded from a load of {load:g} on, in at least half of the seeds: {listed(names)}."
        if whole := [name for name, at in breaks.items() if at is None]:
            yield f"Overloaded at no load that was tried: {listed(whole)}."
    for noise, costs in run.document.get("noise_costs", {}).items():
        grown = listed(f"{name} {short(each['mean'], 3)}" for name, each in costs.items())
        yield f"With noise {noise}, mean response over the same without: {grown}."
    for ladder in run.document.get("ladders", ()):
        yield _climbed(run, ladder)
    yield from run.document.get("remarks", ())


def _climbed(run: Run, ladder: Mapping[str, Any]) -> str:
    """What became of a goal as its weight rose."""
    points, metric = {point.value: point for point in run.points}, ladder["metric"]
    first, last = (points[ladder["points"][k]].estimates for k in (0, -1))
    names = list(ladder["learners"])
    ways = (
        f"{name} from {with_interval(first[name][metric])} to {with_interval(last[name][metric])} {unit_of(metric)}"
        for name in names
    )
    rising = [name for name in names if not ladder["learners"][name]["falls"]]
    verdict = f"it does not fall with {listed(rising)}" if rising else "no step is shown to raise it"
    return (
        f"As the weight of {ladder['goal']} rises from 0 to 1 against {ladder['against']}, {metric_words(metric)} "
        f"goes: {', '.join(ways)}; {verdict}."
    )


def listed(names: Iterable[str]) -> str:
    """Names with commas and an "and"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
