"""From rows back to the model's columns: what `store.outcomes` made into rows, for whoever computes with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.store.rows import ComparedTask, ResultRow

if TYPE_CHECKING:  # a service that starts must not wait for the simulator's libraries
    from hybrid_scheduler.physics.device import ClusterSpec
    from hybrid_scheduler.physics.settings import Physics


def raced(
    found: Sequence[ComparedTask], schedulers: Sequence[str], cluster: ClusterSpec, physics: Physics
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
    return tasks, {name: _outcomes(tasks, [rows[task, name] for task in ids], cluster, physics) for name in schedulers}


def _outcomes(tasks: TaskBatch, rows: Sequence[ResultRow], cluster: ClusterSpec, physics: Physics) -> OutcomeBatch:
    place = {name: i for i, name in enumerate(cluster.names)}
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
        physics.idle_price(cluster),
    )


def _ready(tasks: TaskBatch, finish: FloatArray) -> FloatArray:
    """When every task could start: at its arrival, or when its last parent had finished."""
    ready = tasks.arrival_time.copy()
    child = np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start))
    np.maximum.at(ready, child, finish[tasks.parents])
    return ready
