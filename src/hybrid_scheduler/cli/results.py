"""The result of a comparison as a table for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hybrid_scheduler.engine.compare import ComparisonResult
from hybrid_scheduler.schedulers.base import Scheduler

UNITS: dict[str, tuple[tuple[float, str], ...]] = {
    "time": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "energy": ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J")),
    "money": ((1.0, "$"),),
    "micro": ((1.0, "µs"),),
    "plain": ((1.0, ""),),
}
"""The units of each kind of figure, largest first; a column takes the largest its largest figure reaches."""


@dataclass(frozen=True)
class Column:
    """A column of figures; when the terminal is narrow the one with the highest `rank` goes first."""

    metric: str
    title: str
    kind: str
    rank: int


COLUMNS = (
    Column("avg_response", "response", "time", 0),
    Column("p95_response", "p95", "time", 2),
    Column("p99_response", "p99", "time", 6),
    Column("avg_wait", "wait", "time", 5),
    Column("avg_time", "execution", "time", 7),
    Column("makespan", "makespan", "time", 1),
    Column("energy", "energy", "energy", 3),
    Column("cost", "cost", "money", 4),
    Column("load_balance", "balance", "plain", 8),
    Column("decision_us", "decision", "micro", 9),
)
ISOLATED_COLUMNS = (
    Column("total_time", "total", "time", 0),
    Column("avg_time", "execution", "time", 3),
    Column("max_time", "longest", "time", 4),
    Column("energy", "energy", "energy", 1),
    Column("cost", "cost", "money", 2),
    Column("decision_us", "decision", "micro", 9),
)


def sees(scheduler: Scheduler | type[Scheduler]) -> str:
    """What a scheduler is shown beyond the task, in one word."""
    if scheduler.knows_truth:
        return "truth"
    return "estimates" if scheduler.uses_estimates else "queues"


def show(result: ComparisonResult, console: Console | None = None) -> None:
    """Print the table, best scheduler first, and the facts around it."""
    console = console or Console(highlight=False)
    isolated = result.comparison.isolated
    columns = list(ISOLATED_COLUMNS if isolated else COLUMNS)
    key = columns[0].metric
    figures: dict[str, Mapping[str, Any]] = {
        name: {**each.metrics, "decision_us": each.decision_us} for name, each in result.schedulers.items()
    }
    # Nobody wins by failing tasks; who has no figure has finished nothing.
    order = sorted(figures, key=lambda name: (figures[name]["failed"], figures[name][key] or 0.0))
    table = _table(result, figures, order, columns)
    while len(columns) > 1 and _width(console, table) > console.width:
        columns.remove(max(columns, key=lambda column: column.rank))
        table = _table(result, figures, order, columns)
    console.print(table)
    for line in _legend(result, order, "total time" if isolated else "mean response"):
        console.print(line, style="dim", soft_wrap=True)


def _width(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _marks(result: ComparisonResult, order: list[str]) -> dict[str, str]:
    """The winner, and the best of those that could be used in earnest."""
    contestants = result.comparison.schedulers
    honest = [name for name in order if not contestants[name].knows_truth]
    return {name: mark for mark, names in (("☆", honest), ("★", order)) for name in names[:1]}


def _table(
    result: ComparisonResult, figures: Mapping[str, Mapping[str, Any]], order: list[str], columns: list[Column]
) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("scheduler", no_wrap=True)
    table.add_column("sees", no_wrap=True)
    scales = {}
    for column in columns:
        scales[column.metric], unit = _scale(column.kind, [figures[name][column.metric] for name in order])
        table.add_column(f"{column.title} {unit}".strip(), justify="right", no_wrap=True)
    remarks = {name: _remark(figures[name]) for name in order}
    if any(remarks.values()):
        table.add_column("remark", no_wrap=True)
    marks = _marks(result, order)
    for name in order:
        cells = [_number(figures[name][column.metric], scales[column.metric]) for column in columns]
        if any(remarks.values()):
            cells.append(remarks[name])
        label = Text(f"{marks.get(name, ' ')} {name}")
        style = "bold" if marks.get(name) == "★" else None
        table.add_row(label, sees(result.comparison.schedulers[name]), *cells, style=style)
    return table


def _remark(figures: Mapping[str, Any]) -> str:
    words = [f"{figures['failed']} failed"] if figures.get("failed") else []
    return ", ".join([*words, "overloaded"] if figures.get("overloaded") else words)


def _scale(kind: str, values: list[float | None]) -> tuple[float, str]:
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    units = UNITS[kind]
    return next((unit for unit in units if largest >= unit[0]), units[0] if largest == 0 else units[-1])


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
    scale, unit = _scale("time", [value])
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
            reached: list[Any] = [each.metrics[metric] for each in result.schedulers.values()]
            best = min(value for value in reached if value is not None)
            above = f" (the best is {best / least:.2f} times that)" if least > 0 else ""
            parts.append(f"{words} {_seconds(least)}{above}")
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
