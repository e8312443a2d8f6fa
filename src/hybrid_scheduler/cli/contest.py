"""A contest, simulated or for real: run under a progress bar, shown, and kept in the store if that is asked for."""

from __future__ import annotations

from hybrid_scheduler.api.compare import Contest
from hybrid_scheduler.api.table import show
from hybrid_scheduler.cli.output import STANDARD_OUTPUT, note, progress_bar, write_json

FAILURES_SHOWN = 3
"""Of every scheduler."""


def run_contest(contest: Contest, json: str | None, *, store: bool) -> None:
    """Run a contest and say what came of it.

    Args:
        contest: It.
        json: Where the result goes as JSON.
        store: Whether the run is kept; a store that cannot be used is refused before the race.
    """
    kept = None
    if store:
        from hybrid_scheduler.cli.kept_run import KeptRun  # its libraries are slow to load, and optional

        kept = KeptRun()
    with progress_bar(list(contest.schedulers), contest.scenario.count) as progress:
        result = contest.run(progress, keep_outcomes=store)
    for remark in result.notes:
        note(remark)
    for name, entry in result.items():
        for task_id, reason in list(entry.failures.items())[:FAILURES_SHOWN]:
            note(f"{name}: task {task_id} failed: {reason}")
    if json is not None:
        write_json(json, result.to_json())
    if json != STANDARD_OUTPUT:
        show(result.race)
    if kept is not None:  # last: whatever becomes of the store, the result has been shown
        note(f"kept as {kept.save(result)}")
