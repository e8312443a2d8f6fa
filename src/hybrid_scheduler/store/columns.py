"""From rows back to the model's columns: the reverse of `store.outcomes`, for computing with stored results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import Dependency, FloatArray, TaskBatch
from hybrid_scheduler.store.rows import ComparedTask, ResultRow

if TYPE_CHECKING:  # a service that starts must not wait for the simulator's libraries
    from hybrid_scheduler.physics.world import World

UNKNOWN_KIND = "unknown"
UNKNOWN_COUNT = -1


def raced(
    compared: Sequence[ComparedTask], schedulers: Sequence[str], world: World
) -> tuple[TaskBatch, dict[str, OutcomeBatch]]:
    """Stored rows as the columns a race gives. Parents that are not among them count as finished.

    What older versions did not store is unknown: estimates, ready and decided times are NaN then, kinds `UNKNOWN_KIND`,
    counts `UNKNOWN_COUNT`. So is energy that the machine did not tell: NaN.
    """
    known = {entry.task.task_id for entry in compared}
    tasks = TaskBatch.from_columns(
        *(
            np.array([getattr(entry.task, column) for entry in compared])
            for column in ("size", "compute_intensity", "memory_required")
        ),
        task_id=np.array([entry.task.task_id for entry in compared]),
        arrival_time=np.array([entry.task.arrival_time for entry in compared]),
        duration_estimate=np.array([entry.task.duration_estimate or 1.0 for entry in compared]),
        dependencies=[_kept(entry.task.dependencies, known) for entry in compared],
        kind=[entry.task.kind or UNKNOWN_KIND for entry in compared],
    )
    unknown = [entry.task.task_id for entry in compared if entry.task.duration_estimate is None]
    tasks.duration_estimate[np.isin(tasks.task_id, unknown)] = np.nan
    rows = {(entry.task.task_id, row.scheduler_name): row for entry in compared for row in entry.results}
    ids = tasks.task_id.tolist()
    return tasks, {name: _outcomes(tasks, [rows[task, name] for task in ids], world) for name in schedulers}


def _kept(dependencies: Iterable[Dependency], known: set[int]) -> list[Dependency]:
    """The dependencies on known tasks."""
    return [each for each in dependencies if (each[0] if isinstance(each, tuple) else each) in known]


def _outcomes(tasks: TaskBatch, rows: Sequence[ResultRow], world: World) -> OutcomeBatch:
    cluster = world.cluster
    place = {name: i for i, name in enumerate(cluster.names)}
    parts = [(task, part) for task, row in enumerate(rows) for part in row.parts]

    def column(values: Sequence[Any], kind: type = float) -> Any:
        return np.array(values, dtype=kind)

    return OutcomeBatch(
        tasks.task_id,
        tasks.arrival_time,
        column([np.nan if row.ready_time is None else row.ready_time for row in rows]),
        column([np.nan if row.decided_time is None else row.decided_time for row in rows]),
        column([row.finish_time for row in rows]),
        column([row.actual_time for row in rows]),
        column([np.nan if row.energy_consumption is None else row.energy_consumption for row in rows]),
        column([row.execution_cost for row in rows]),
        column([row.failed for row in rows], bool),
        column([UNKNOWN_COUNT if row.overtaken is None else row.overtaken for row in rows], np.int64),
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
        _queues(rows, len(cluster.names)),
    )


def _queues(rows: Sequence[ResultRow], devices: int) -> FloatArray | None:
    """The queues at every decision; None when nobody knows any of them."""
    if all(row.queue_seconds is None for row in rows):
        return None
    unknown = (np.nan,) * devices
    return np.array([unknown if row.queue_seconds is None else row.queue_seconds for row in rows])
