"""Looking back at one task: what every device would have taken under each scheduler's own queues, and the regret.

Queues are not stored; they follow from the parts of the tasks before. Every device serves its parts in the order they
were decided, so at a decision it is free at the last end of the parts placed on it until then. Disturbances are not
reconstructed: a device that was down at that moment counts as up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_scheduler.config.world import World
from hybrid_scheduler.model.view import FIXED, SHARED
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.optimum import best_finish
from hybrid_scheduler.server.considered import considered
from hybrid_scheduler.server.documents import result_document
from hybrid_scheduler.store.rows import ComparedTask, ResultRow, TaskRow, TrainingRow

Finishes = Mapping[int, Mapping[str, float]]
"""Finish times by task id and scheduler."""


def review(
    compared: ComparedTask, label: TrainingRow | None, around: Sequence[ComparedTask], world: World | None
) -> list[dict[str, Any]]:
    """One `DecisionReport` per scheduler.

    Args:
        compared: The task and its results.
        label: Its whole-task times, None when they are not stored.
        around: The tasks before it in the same run (and some after it when it waited for parents), any order.
        world: The node, None when it is not known.
    """
    # Its own finish too: a child of it is decided after it, however early the child arrived.
    finishes = {
        each.task.task_id: {row.scheduler_name: row.finish_time for row in each.results} for each in (compared, *around)
    }
    return [_report(compared.task, row, label, around, finishes, world) for row in compared.results]


def _report(
    task: TaskRow,
    row: ResultRow,
    label: TrainingRow | None,
    around: Sequence[ComparedTask],
    finishes: Finishes,
    world: World | None,
) -> dict[str, Any]:
    kept = [part for part in row.parts if not part.lost]
    rows: list[dict[str, Any]] = []
    regret = None
    if world is not None and label is not None:
        ready = _ready(task, row.scheduler_name, finishes)
        free = _free(task, ready, row.scheduler_name, around, finishes, world.cluster)
        seconds = [label.times.get(name) for name in world.cluster.names]
        wait = (np.maximum(free, ready) - task.arrival_time).tolist()
        rows = considered(world.cluster, world.physics, task.memory_required, seconds, wait, row)
        if not row.failed:
            best = _best_finish(task, ready, free, label, world)
            # The grid has shares in steps of 5 %: a choice between two steps may be better than all of them.
            regret = None if best is None else max(0.0, row.finish_time - best)
    return {
        "scheduler_name": row.scheduler_name,
        "gpu_fraction": row.gpu_fraction,
        "gpu_id": row.gpu_id,
        "reason": _reason(row, rows, regret),
        "predicted": {part.device: part.expected for part in kept},
        "considered": rows,
        "projected": result_document(row),
        "regret": regret,
    }


def _ready(task: TaskRow, scheduler: str, finishes: Finishes) -> float:
    """When a task was decided: on arrival, or when the last parent had finished."""
    ends = (finishes.get(parent, {}).get(scheduler, task.arrival_time) for parent in task.dependencies)
    return max(task.arrival_time, *ends) if task.dependencies else task.arrival_time


def _free(
    task: TaskRow,
    ready: float,
    scheduler: str,
    around: Sequence[ComparedTask],
    finishes: Finishes,
    cluster: ClusterSpec,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """When each device is done with the parts decided before."""
    free = np.full(len(cluster.devices), -np.inf)
    position = {name: i for i, name in enumerate(cluster.names)}
    for other in around:
        if (_ready(other.task, scheduler, finishes), other.task.task_id) >= (ready, task.task_id):
            continue
        for row in other.results:
            if row.scheduler_name == scheduler:
                for part in row.parts:
                    if part.device in position:
                        i = position[part.device]
                        free[i] = max(free[i], part.end)
    return free


def _best_finish(
    task: TaskRow,
    ready: float,
    free: np.ndarray[tuple[int], np.dtype[np.float64]],
    label: TrainingRow,
    world: World,
) -> float | None:
    """When the oracle's search would have had the task finished, given these queues."""
    whole = np.array([_known(label.times.get(name)) for name in world.cluster.names])
    times = np.empty((2, len(whole)))
    times[FIXED] = world.cluster.column("latency")
    times[SHARED] = whole - times[FIXED]
    devices, facts = world.cluster.public_table(), world.physics.facts()
    end = float(best_finish(ready, task.memory_required, devices, times, free, facts))
    return end if np.isfinite(end) else None


def _known(seconds: float | None) -> float:
    return np.inf if seconds is None else seconds


def _reason(row: ResultRow, rows: Sequence[Mapping[str, Any]], regret: float | None) -> str:
    kept = [part for part in row.parts if not part.lost]
    if row.failed or not kept:
        return "it failed: no device could take the task"
    where = " and ".join(f"{part.share:.0%} on {part.device}" for part in kept) if len(kept) > 1 else kept[0].device
    text = f"{where}: {row.wait_time:.3g} s of waiting and {row.actual_time:.3g} s of execution"
    others = [each for each in rows if each["response"] is not None and not each["chosen"]]
    best = min(others, key=lambda each: float(each["response"]), default=None)
    if best is not None and best["response"] < row.response_time:
        text += f"; {best['device']} alone would have had it done after {best['response']:.3g} s"
    elif best is not None:
        text += f"; no other device alone would have been earlier (next: {best['device']}, {best['response']:.3g} s)"
    return text if regret is None else f"{text}; {regret:.3g} s above the best possible"
