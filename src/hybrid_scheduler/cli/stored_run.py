"""Runs of the store, opened for a report: an experiment by its folder, a race from its rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.cli.kept_run import store_room, store_url
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.reports.race import OneRace, race_run
from hybrid_scheduler.reports.run_folder import Run, open_run
from hybrid_scheduler.server.decision_review import World

if TYPE_CHECKING:
    from hybrid_scheduler.store import ComparedTask, ResultRow, RunRow, Store

MOST_TASKS = 50_000
"""A report of a longer race is about its last so many tasks."""
PAGE = 1000
FOLDER = Path("data/results")
KINDS = {"live": "The live race", "compare": "A comparison"}


def open_stored(run_id: int, out: Path | None = None) -> Run:
    """A stored run of any kind; a race is written to `out`, by default to a folder of its own, and opened there.

    Raises:
        InvalidInputError: There is no such run, or it has nothing to report.
    """
    run, found = asyncio.run(_read(run_id))
    if run.kind == "experiment":
        return open_run(str(run.configuration["folder"]))
    if not found:
        raise InvalidInputError(f"run {run_id} has no finished task, so there is nothing to report; let it race first")
    world = World.of(run.configuration)
    if world is None:
        raise InvalidInputError(f"run {run_id} does not say on which devices it ran; only runs that do have reports")
    tasks, outcomes = raced(found, run.schedulers, world)
    what, began = KINDS.get(run.kind, run.kind), f"{run.started:%Y-%m-%d %H:%M} UTC"
    part = "" if len(found) == run.tasks else f"; the last {len(found):,} of its {run.tasks:,} tasks"
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


async def _read(run_id: int) -> tuple[RunRow, list[ComparedTask]]:
    """A run and, if it is a race, its last tasks with the results of everybody, oldest first."""
    async with await store_room().open_store(store_url()) as store:
        run: RunRow | None = await store.run(run_id)
        if run is None:
            raise InvalidInputError(
                f"there is no stored run {run_id}; 'hms db status' tells how many there are, or give a folder"
            )
        return run, [] if run.kind == "experiment" else await _last_tasks(store, run)


async def _last_tasks(store: Store, run: RunRow) -> list[ComparedTask]:
    found: list[ComparedTask] = []
    before: int | None = run.first_task_id + run.reserved
    while len(found) < MOST_TASKS:
        page = await store.comparative(PAGE, before)
        mine = [each for each in page if each.task.run_id == run.id and len(each.results) == len(run.schedulers)]
        found += mine
        if len(page) < PAGE or page[-1].task.task_id < run.first_task_id:
            break
        before = page[-1].task.task_id
    return found[MOST_TASKS - 1 :: -1]


def raced(
    found: Sequence[ComparedTask], schedulers: Sequence[str], world: World
) -> tuple[TaskBatch, dict[str, OutcomeBatch]]:
    """Stored rows as the columns a race gives. Parents that are not among them count as finished."""
    known = {each.task.task_id for each in found}
    tasks = TaskBatch.from_columns(
        *(
            np.array([getattr(each.task, column) for each in found])
            for column in ("size", "compute_intensity", "memory_required")
        ),
        task_id=np.array([each.task.task_id for each in found]),
        arrival_time=np.array([each.task.arrival_time for each in found]),
        dependencies=[[parent for parent in each.task.dependencies if parent in known] for each in found],
    )
    rows = {(each.task.task_id, row.scheduler_name): row for each in found for row in each.results}
    ids = tasks.task_id.tolist()
    return tasks, {name: _outcomes(tasks, [rows[task, name] for task in ids], world) for name in schedulers}


def _outcomes(tasks: TaskBatch, rows: Sequence[ResultRow], world: World) -> OutcomeBatch:
    cluster, place = world.cluster, {name: i for i, name in enumerate(world.cluster.names)}
    finish = np.array([row.finish_time for row in rows])
    parts = [(task, part) for task, row in enumerate(rows) for part in row.parts]

    def column(values: Sequence[Any], kind: type = float) -> Any:
        return np.array(values, dtype=kind)

    return OutcomeBatch(
        tasks.task_id,
        tasks.arrival_time,
        _ready(tasks, finish),
        finish,
        column([row.actual_time for row in rows]),
        column([row.energy_consumption for row in rows]),
        column([row.execution_cost for row in rows]),
        column([row.failed for row in rows], bool),
        column([task for task, _ in parts], np.int64),
        column([place[part.device] for _, part in parts], np.int64),
        column([part.share for _, part in parts]),
        column([part.start for _, part in parts]),
        column([part.end for _, part in parts]),
        column([np.nan if part.expected is None else part.expected for _, part in parts]),
        column([part.lost for _, part in parts], bool),
        cluster.names,
        cluster.gpu_id,
        cluster.column("idle_watts"),
        world.physics.idle_price(cluster),
    )


def _ready(tasks: TaskBatch, finish: FloatArray) -> FloatArray:
    """When every task could start: at its arrival, or when its last parent had finished."""
    ready = tasks.arrival_time.copy()
    child = np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start))
    np.maximum.at(ready, child, finish[tasks.parents])
    return ready
