"""The result of a comparison as a table for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hybrid_scheduler.engine.compare import DECISION, GAP, ComparisonResult
from hybrid_scheduler.metrics.base import MetricInfo
from hybrid_scheduler.metrics.registry import metric_infos
from hybrid_scheduler.schedulers.base import Scheduler

SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "J": ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J")),
}
"""How a unit is written, largest first; a column takes the largest its largest figure reaches. Others as they are."""


@dataclass(frozen=True)
class Column:
    """A column of figures; when the terminal is narrow the one with the highest `rank` goes first."""

    metric: str
    rank: int

    @property
    def info(self) -> MetricInfo:
        """What it is called, and its unit."""
        beside = {DECISION.name: DECISION, GAP.name: GAP}
        return beside.get(self.metric) or metric_infos()[self.metric]


COLUMNS = (
    Column("avg_response", 0),
    Column("p95_response", 2),
    Column("p99_response", 7),
    Column("gap", 5),
    Column("avg_wait", 6),
    Column("avg_time", 8),
    Column("makespan", 1),
    Column("energy", 3),
    Column("cost", 4),
    Column("load_balance", 9),
    Column("decision_us", 10),
)
GRAPH_COLUMNS = (*COLUMNS, Column("slr", 2), Column("speedup", 3), Column("efficiency", 10))
ISOLATED_COLUMNS = (
    Column("total_time", 0),
    Column("avg_time", 3),
    Column("max_time", 4),
    Column("energy", 1),
    Column("cost", 2),
    Column("decision_us", 9),
)


def sees(scheduler: Scheduler | type[Scheduler]) -> str:
    """What a scheduler is shown beyond the task, in one word."""
    if scheduler.knows_truth:
        return "truth"
    return "estimates" if scheduler.uses_estimates else "queues"


def show(result: ComparisonResult, console: Console | None = None) -> None:
    """Print the table, best scheduler first, and the facts around it."""
    console = console or Console(highlight=False)
    grid = Grid(result)
    columns = list(grid.columns)
    table = grid.table(columns)
    while len(columns) > 1 and _width(console, table) > console.width:
        columns.remove(max(columns, key=lambda column: column.rank))
        table = grid.table(columns)
    console.print(table)
    for line in grid.legend():
        console.print(line, style="dim", soft_wrap=True)


def as_text(result: ComparisonResult) -> str:
    """What `show` prints, as wide as the terminal, without colours."""
    lines = StringIO()
    show(result, Console(file=lines, highlight=False, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in lines.getvalue().rstrip().splitlines())


def as_html(result: ComparisonResult, notes: Sequence[str] = ()) -> str:
    """The same for notebooks, every column."""
    grid = Grid(result)
    titles, rows = grid.cells(list(grid.columns))
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "<br>".join(escape(line) for line in (*grid.legend(), *(f"note: {note}" for note in notes)))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{below}</small>"


class Grid:
    """The figures of a result in the order of the table: best scheduler first."""

    def __init__(self, result: ComparisonResult) -> None:
        self._result = result
        isolated = result.comparison.isolated
        usual = GRAPH_COLUMNS if result.comparison.tasks.has_dependencies else COLUMNS
        self.columns = ISOLATED_COLUMNS if isolated else usual
        self._goal = "total time" if isolated else "mean response"
        self._figures: dict[str, Mapping[str, Any]] = {
            name: {**scheduler.figures(), GAP.name: scheduler.gap["avg_response"]}
            for name, scheduler in result.schedulers.items()
        }
        # Nobody wins by failing tasks; who has no figure has finished nothing.
        figures, key = self._figures, self.columns[0].metric
        self._order = sorted(figures, key=lambda name: (figures[name]["failed"], figures[name][key] or 0.0))
        self._marks = _marks(result, self._order)

    def cells(self, columns: Sequence[Column]) -> tuple[list[str], list[list[str]]]:
        """Titles and rows."""
        figures, order = self._figures, self._order
        titles, scales = ["scheduler", "sees"], {}
        for column in columns:
            info = column.info
            scales[column.metric], unit = _scale(info.symbol, [figures[name][column.metric] for name in order])
            titles.append(f"{info.short} {unit}".strip())
        remarks = {name: _remark(figures[name]) for name in order}
        if any(remarks.values()):
            titles.append("remark")
        rows = []
        for name in order:
            seen = sees(self._result.comparison.schedulers[name])
            row = [f"{self._marks.get(name, ' ')} {name}", seen]
            row += [_number(figures[name][column.metric], scales[column.metric]) for column in columns]
            rows.append([*row, remarks[name]] if any(remarks.values()) else row)
        return titles, rows

    def table(self, columns: Sequence[Column]) -> Table:
        """For a terminal; the winner is bold."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        titles, rows = self.cells(columns)
        for title in titles:
            words = title in ("scheduler", "sees", "remark")
            table.add_column(title, justify="left" if words else "right", no_wrap=True)
        for name, row in zip(self._order, rows, strict=True):
            table.add_row(*map(Text, row), style="bold" if self._marks.get(name) == "★" else None)
        return table

    def legend(self) -> list[str]:
        """The facts around the table."""
        return _legend(self._result, self._order, self._goal)


def _width(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _marks(result: ComparisonResult, order: list[str]) -> dict[str, str]:
    """The winner, and the best of those that could be used in earnest."""
    contestants = result.comparison.schedulers
    honest = [name for name in order if not contestants[name].knows_truth]
    return {name: mark for mark, names in (("☆", honest), ("★", order)) for name in names[:1]}


def _remark(figures: Mapping[str, Any]) -> str:
    words = [f"{figures['failed']} failed"] if figures.get("failed") else []
    return ", ".join([*words, "overloaded"] if figures.get("overloaded") else words)


def _scale(unit: str, values: list[float | None]) -> tuple[float, str]:
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    units = SCALES.get(unit, ((1.0, unit),))
    if largest == 0.0:
        return next(scale for scale in units if scale[0] == 1.0)
    return next((scale for scale in units if largest >= scale[0]), units[-1])


def _number(value: float | None, scale: float = 1.0) -> str:
    """Four digits that matter; a dash where there is no data."""
    if value is None:
        return "–"
    value /= scale
    if value and abs(value) < 1e-6:
        return f"{value:.3e}"
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, 3 - magnitude)}f}"


def _seconds(value: float) -> str:
    scale, unit = _scale("s", [value])
    return f"{_number(value, scale)} {unit}"


def _legend(result: ComparisonResult, order: list[str], goal: str) -> list[str]:
    comparison, marks = result.comparison, _marks(result, order)
    lines = [f"★ least {goal}" + (", ☆ least without knowing the truth" if "☆" in marks.values() else "")]
    bound = result.lower_bound
    if bound is not None:
        parts = []
        for metric, words, least in (
            ("makespan", "makespan", bound.makespan),
            ("avg_response", "mean response", bound.avg_response),
        ):
            reached: list[Any] = [entry.metrics[metric] for entry in result.schedulers.values()]
            best = min(value for value in reached if value is not None)
            above = f" (the best is {best / least:.2f} times that)" if least > 0 else ""
            parts.append(f"{words} {_seconds(least)}{above}")
        if result.whole_makespan is not None:
            parts.append(f"makespan of tasks that are not divided {_seconds(result.whole_makespan)}")
        lines.append(f"lower bound: {', '.join(parts)}")
    facts = comparison.workload_facts()
    origin = next(f"{key} {facts[key]}" for key in ("preset", "trace", "table", "tasks") if key in facts)
    parts = [f"workload: {origin}", f"{len(comparison.tasks)} tasks"]
    if comparison.isolated:
        parts.append("each on an idle node")
    elif isinstance(rate := facts.get("arrival_rate"), float) and isinstance(load := facts.get("load"), float):
        parts += [f"{rate:.4g} per second", f"load {load:.3g}"]
    if comparison.warmup:
        parts.append(f"first {comparison.warmup} not counted")
    lines.append(", ".join([*parts, f"seed {comparison.seed}"]))
    lines.append(f"took {_seconds(result.wall_seconds)}")
    return lines
