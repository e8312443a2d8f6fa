"""Rows of the store as the documents that the API sends (shapes of `server.schemas`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybrid_scheduler.live.documents import result_document
from hybrid_scheduler.store.rows import ComparedTask, HourRow, ModelVersionRow, RetrainingRow, RunMeansRow, RunRow

AVERAGED = ("response", "wait", "time", "energy", "cost")


def comparative_item(compared: ComparedTask) -> dict[str, Any]:
    """A `ComparativeItem`."""
    results = {row.scheduler_name: result_document(row) for row in compared.results}
    return {**compared.task._asdict(), "results": results}


def page_of(rows: Sequence[RunRow | ModelVersionRow | RetrainingRow], limit: int) -> dict[str, Any]:
    """A page of rows in the order of their ids; less than asked for is the last one."""
    return {"items": [row._asdict() for row in rows], "next_cursor": rows[-1].id if len(rows) == limit else None}


def means_point(row: HourRow) -> dict[str, Any]:
    """A `MeansPoint`."""
    return {"start": row.hour, **_means(row)}


def run_means(run: RunRow, rows: Sequence[RunMeansRow]) -> list[dict[str, Any]]:
    """`RunMeans` of every scheduler: from its sums, or from the summary of a run that is older than these."""
    told = (run.summary or {}).get("schedulers", run.summary or {})
    told = {name: figures for name, figures in told.items() if isinstance(figures, dict)}
    if rows:
        return [{**_means(row), "gap": _number(told.get(row.scheduler_name, {}), "gap")} for row in rows]
    names = ("tasks", "failed", *(f"avg_{figure}" for figure in AVERAGED), "win_share", "gap")
    return [
        {"scheduler_name": name, **{each: _number(figures, each) for each in names}} for name, figures in told.items()
    ]


def _means(row: HourRow | RunMeansRow) -> dict[str, Any]:
    good = row.tasks - row.failed
    return {
        "scheduler_name": row.scheduler_name,
        "tasks": row.tasks,
        "failed": row.failed,
        **{f"avg_{figure}": _mean(getattr(row, f"sum_{figure}"), good) for figure in AVERAGED},
        "win_share": row.wins / row.tasks if row.tasks else None,
    }


def _mean(total: float | None, tasks: int) -> float | None:
    """None where there is no task, or the total is not known."""
    return None if total is None or not tasks else total / tasks


def _number(figures: dict[str, Any], name: str) -> float | None:
    """A figure of a summary, where it is a plain number; over several seeds it is not."""
    value = figures.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
