"""What a report says, before it is a PDF or a web page: sections of words, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from hybrid_scheduler.experiments.statistics import NOT_SHOWN, Estimate
from hybrid_scheduler.reports.catalogue import Picture
from hybrid_scheduler.reports.plots.style import short
from hybrid_scheduler.reports.run_folder import Run, RunPoint
from hybrid_scheduler.reports.words import bigger_is_better, ends, metric_words, summary, unit_of, with_interval

ONE_RACE = "One race gives no intervals, so nothing here says whether a difference would be there in another one."
LETTERS = 132
"""Letters of a row that fit on a page; a wider table is split."""


@dataclass(frozen=True)
class Table:
    """A table of words.

    Attributes:
        title: Stands above.
        columns: Heads; the first column holds names, the others figures.
        rows: One list of cells each.
        text_columns: Columns that hold words, not figures.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes:
        title: What it is about.
        question: What was asked.
        facts: One line under the question.
        summary: Sentences.
        sections: The rest.
    """

    title: str
    question: str
    facts: str
    summary: Sequence[str]
    sections: Sequence[Section]


def build(run: Run, pictures: Sequence[Picture]) -> Report:
    """The report of a run, with these pictures."""
    document = run.document
    count = f"{len(run.seeds)} seed{'' if len(run.seeds) == 1 else 's'}, {run.tasks:,} tasks each"
    facts = f"{f'{run.tasks:,} tasks' if run.is_race else count} · hybrid-ml-scheduler {document['version']}"
    means = f"Means over the seeds. Intervals in brackets: {document['intervals']}."
    figures = Section("Figures", [ONE_RACE if run.is_race else means], _figures(run))
    compared = Section(
        "Comparisons",
        [
            "Differences are taken seed by seed, the first scheduler's figure less the second's. Verdicts: "
            f"{document['verdicts']}. d is Cohen's effect size of the paired differences, p the corrected probability."
        ],
        _comparisons(run),
    )
    drawn = Section(
        "Plots", ["No plots: the arrays they are drawn from are gone."] if not pictures else (), (), pictures
    )
    judged = [compared] if run.points[0].comparisons else []
    return Report(
        document.get("title", f"Experiment “{run.name}”"),
        str(document["question"]),
        facts,
        summary(run),
        [*_front(run), figures, drawn, *judged, _method(run), _configuration(run), _machine(run)],
    )


def _figures(run: Run) -> list[Table]:
    """One table of everything, or one per metric when something is varied; each split so that it fits the page."""
    shown, first = list(run.document["shown"]), run.points[0]
    names = _ranked(first, run.document["compared"][0])
    if run.parameter is None:
        columns = [(_head(metric), [first.estimates[name].get(metric) for name in names]) for metric in shown]
        return _split("", names, columns)
    tables = []
    for metric in shown:
        columns = [
            (f"{run.parameter.replace('_', ' ')} {point.value}", [point.estimates[n].get(metric) for n in names])
            for point in run.points
        ]
        tables += _split(_title(metric), names, columns)
    return tables


def _front(run: Run) -> list[Section]:
    """What every choice of weights gives, where weights are varied."""
    rows = []
    for place in run.document.get("front", ()):
        figures = (short(place[goal]) for goal in ("time", "energy", "money"))
        rows.append([place["scheduler"], place["weights"] or "–", *figures, "yes" if place["on_front"] else "no"])
    if not rows:
        return []
    head = ["scheduler", "weights", *(_head(metric) for metric in ("avg_response", "energy", "cost")), "on the front"]
    words = "Means over the seeds. On the front: nobody is at least as good in all three goals and better in one."
    return [Section("Front", [words], [Table("", head, rows, (0, 1, 5))])]


def _split(title: str, names: Sequence[str], columns: Sequence[tuple[str, Sequence[Estimate | None]]]) -> list[Table]:
    """As few tables as fit the page, of about as many columns each."""
    cells = [[head, *map(with_interval, figures)] for head, figures in columns]
    widths = [max(map(len, column)) + 2 for column in cells]
    start = max(map(len, names)) + 2
    for count in range(1, len(cells) + 1):
        size = ceil(len(cells) / count)
        groups = [range(k, min(k + size, len(cells))) for k in range(0, len(cells), size)]
        if all(start + sum(widths[k] for k in group) <= LETTERS for group in groups):
            break
    return [
        Table(
            title,
            ["scheduler", *(cells[k][0] for k in group)],
            [[name, *(cells[k][row] for k in group)] for row, name in enumerate(names, start=1)],
        )
        for group in groups
    ]


def _ranked(point: RunPoint, metric: str) -> list[str]:
    figures = point.figures(metric)
    return sorted(figures, key=lambda name: figures[name].mean, reverse=bigger_is_better(metric))


def _head(metric: str) -> str:
    unit = unit_of(metric)
    return metric_words(metric) + (f", {unit}" if unit else "")


def _title(metric: str) -> str:
    head = _head(metric)
    return head[0].upper() + head[1:]


def _comparisons(run: Run) -> list[Table]:
    tables = []
    for point in run.points:
        where = "" if run.parameter is None else f", {run.parameter.replace('_', ' ')} {point.value}"
        for metric in run.document["compared"]:
            rows = []
            for comparison in point.comparisons:
                if comparison.metric == metric:
                    between = (
                        ""
                        if comparison.low is None or comparison.high is None
                        else f" [{ends(comparison.low, comparison.high)}]"
                    )
                    rows.append(
                        [
                            comparison.a,
                            comparison.b,
                            f"{'+' if comparison.difference > 0 else ''}{short(comparison.difference)}{between}",
                            "–" if comparison.effect_size is None else f"{comparison.effect_size:+.2f}",
                            _probability(comparison.p_holm),
                            comparison.verdict,
                        ]
                    )
            head = ["scheduler", "compared with", "difference", "d", "p", "verdict"]
            tables.append(Table(_title(metric) + where, head, rows, (0, 1, 5)))
    return tables


def _probability(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


MODEL = "Every scheduler gets its own copy of the same simulated node and sees the same tasks."
METRICS = (
    "Response time is finish less arrival, makespan the last finish less the first arrival, energy and cost those of "
    "the devices' busy time."
)
BOUND = "The lower bound holds for every possible schedule of the same tasks."


def _method(run: Run) -> Section:
    document = run.document
    if run.is_race:
        return Section("Method", [MODEL, METRICS, *([BOUND] if "lower_bound" in run.points[0].estimates else [])])
    paragraphs = [
        f"{MODEL} Seeds differ in tasks and noise. {METRICS} {BOUND}",
        f"How learners start: {document.get('start', 'no data')}.",
        f"Intervals: {document['intervals']}. With few seeds a bootstrap interval is narrower than it should be, "
        "which is why a verdict needs the corrected test as well.",
        f"Where neither is shown, the words are “{NOT_SHOWN}”: that is not a proof that there is none.",
        "The same command with the same seeds writes the same tables; only clock.csv depends on the machine's speed.",
    ]
    if "warmup" in document:
        paragraphs.insert(2, f"The first {document['warmup']:,} tasks of every run do not count.")
    return Section("Method", paragraphs)


def command(run: Run) -> str:
    """What was typed, with what was left at its default written out."""
    configuration = run.document["configuration"]
    options = {
        "seeds": len(run.seeds),
        "seed": run.seeds[0],
        "tasks": configuration["tasks"],
        # Where nobody is trained there is nothing to say.
        **({"train-tasks": configuration["train_tasks"]} if configuration["train_tasks"] else {}),
        "split": configuration["cluster"]["physics"]["split"],
        **configuration.get("options", {}),
    }
    return " ".join([f"hms experiment {run.name}", *(f"--{key} {value}" for key, value in options.items())])


def _configuration(run: Run) -> Section:
    configuration = run.document["configuration"]
    physics, devices = configuration["cluster"]["physics"], configuration["cluster"]["devices"]
    rows = [] if run.is_race else [["command", command(run)]]
    rows += [[key.replace("_", " "), _plain(value)] for key, value in configuration.get("settings", {}).items()]
    rows += [[f"parameters of {name}", _plain(chosen)] for name, chosen in configuration["parameters"].items()]
    rows += [[f"variant {name}", _plain(of)] for name, of in run.document.get("variants", {}).items()]
    rows += [[key.replace("_", " "), _plain(value)] for key, value in physics.items()]
    if run.parameter is not None:
        rows.append([run.parameter.replace("_", " "), _plain(configuration["points"])])
    words = tuple(range(2))
    tables = [Table("Settings", ["setting", "value"], rows, words)]
    if devices:  # a search has no node of its own
        heads = list(devices[0])
        nodes = [[_plain(device[key]) for key in heads] for device in devices]
        tables.append(Table("Devices", [head.replace("_", " ") for head in heads], nodes, words))
    return Section("Configuration", (), tables)


def _machine(run: Run) -> Section:
    machine = run.document["machine"]
    rows = [[key.replace("_", " "), _plain(value)] for key, value in machine.items() if key != "libraries"]
    rows += [[name, str(version)] for name, version in machine["libraries"].items()]
    if run.document["work_seconds"] is not None:
        rows.append(["seconds of all parts together", short(float(run.document["work_seconds"]))])
    return Section(
        "Machine of this report" if run.is_race else "Machine", (), [Table("", ["what", "value"], rows, (0, 1))]
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    if value is None:
        return "no limit"
    return f"{value:g}" if isinstance(value, float) else str(value)
