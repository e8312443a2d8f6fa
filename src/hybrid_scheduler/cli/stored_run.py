"""Runs of the store, opened for a report: an experiment by its folder, a race from its rows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_scheduler.config.store import store_room, store_url
from hybrid_scheduler.config.world import stored_world
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.reports.race import OneRace, race_run
from hybrid_scheduler.reports.run_folder import Run, open_run

if TYPE_CHECKING:
    from hybrid_scheduler.store import ComparedTask, RunRow, Store

MOST_TASKS = 50_000
"""A report of a longer race is about its last so many tasks."""
PAGE = 1000
FOLDER = Path("data/results")
KINDS = {"live": "The live race", "compare": "A comparison"}


def open_stored(run_id: int, out: Path | None = None, *, most_tasks: int = MOST_TASKS, page: int = PAGE) -> Run:
    """A stored run of any kind; a race is written to `out`, by default to a folder of its own, and opened there.

    Args:
        run_id: Its number.
        out: Folder.
        most_tasks: A report of a longer race is about its last so many tasks.
        page: Tasks read at a time.

    Raises:
        InvalidInputError: There is no such run, or it has nothing to report.
    """
    run, compared = asyncio.run(_read(run_id, most_tasks, page))
    if run.kind == "experiment":
        return open_run(str(run.configuration["folder"]))
    if not compared:
        raise InvalidInputError(
            f"run {run_id} has no finished task in the store, so there is nothing to report; "
            + ("they were pruned: raise RETENTION_MB" if run.last_task_id is not None else "let it race first")
        )
    world = stored_world(run.configuration)
    if world is None:
        raise InvalidInputError(
            f"run {run_id} was real work, or does not say on which devices it ran; "
            "only simulated runs that do have reports"
        )
    tasks, outcomes = store_room().raced(compared, run.schedulers, world)
    what, began = KINDS.get(run.kind, run.kind), f"{run.started:%Y-%m-%d %H:%M} UTC"
    part = "" if len(compared) == run.tasks else f"; the last {len(compared):,} of its {run.tasks:,} tasks"
    race = OneRace(
        f"Run {run.id}: {what.lower()}",
        f"{what} of {len(run.schedulers)} schedulers, begun {began}{part}.",
        run.seed,
        tasks,
        outcomes,
        run.configuration["cluster"],
        settings=dict(run.configuration.get("workload") or run.configuration.get("settings") or {}),
    )
    return race_run(race, out or FOLDER / f"run-{run.id}")


async def _read(run_id: int, most_tasks: int, page: int) -> tuple[RunRow, list[ComparedTask]]:
    """A run and, if it is a race, its last tasks with the results of everybody, oldest first."""
    async with await store_room().open_store(store_url()) as store:
        run: RunRow | None = await store.run(run_id)
        if run is None:
            raise InvalidInputError(
                f"there is no stored run {run_id}; 'hms db status' tells how many there are, or give a folder"
            )
        return run, [] if run.kind == "experiment" else await _last_tasks(store, run, most_tasks, page)


async def _last_tasks(store: Store, run: RunRow, most: int, size: int) -> list[ComparedTask]:
    compared: list[ComparedTask] = []
    before: int | None = run.first_task_id + run.reserved
    while len(compared) < most:
        page = await store.comparative(size, before)
        mine = [entry for entry in page if entry.task.run_id == run.id and len(entry.results) == len(run.schedulers)]
        compared += mine
        if len(page) < size or page[-1].task.task_id < run.first_task_id:
            break
        before = page[-1].task.task_id
    return compared[most - 1 :: -1]
