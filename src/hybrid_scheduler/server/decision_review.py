"""Looking back at one task: what every device would have taken under each scheduler's own queues, and the regret."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.engine.alternatives import Alternative, alternatives, best_finish_of, reason_for
from hybrid_scheduler.live.decision_log import FEW
from hybrid_scheduler.live.documents import chosen_alternative, result_document
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.store.rows import ComparedTask, ResultRow, TaskRow, TrainingRow


def review(compared: ComparedTask, label: TrainingRow | None, world: World | None) -> list[dict[str, Any]]:
    """One `DecisionReport` per scheduler.

    Args:
        compared: The task and its results.
        label: Its whole-task times, None when they are not stored.
        world: The node, None when it is not known.
    """
    return [_report(compared.task, row, label, world) for row in compared.results]


def _report(task: TaskRow, row: ResultRow, label: TrainingRow | None, world: World | None) -> dict[str, Any]:
    kept = [part for part in row.parts if not part.lost]
    chosen = chosen_alternative(row)
    options: list[Alternative] = []
    regret = None
    if world is not None and label is not None:
        memory_mb = task.memory_required
        times = (label.times.get(name) for name in world.cluster.names)
        seconds = np.array([np.inf if time is None else time for time in times])
        ready, queue = _moment(row, len(seconds))
        options = alternatives(world, memory_mb, seconds, ready - task.arrival_time + queue, chosen)
        if chosen is not None and row.queue_seconds is not None:
            best = best_finish_of(world, memory_mb, seconds, ready, ready + queue)
            # The grid has shares in steps of 5 %: a choice between two steps may be better than all of them.
            regret = None if best is None else max(0.0, row.finish_time - best)
    reason = "it failed: no device could take the task"
    if chosen is not None:
        split = " and ".join(f"{part.share:.0%} on {part.device}" for part in kept)
        if len(kept) > FEW:
            split = f"{len(kept)} devices together"
        reason = reason_for(split if len(kept) > 1 else chosen.device, chosen, options, regret)
        if options and row.queue_seconds is None:
            reason += "; the queues of the other devices at that moment are not known"
    return {
        "scheduler_name": row.scheduler_name,
        "gpu_fraction": row.gpu_fraction,
        "gpu_id": row.gpu_id,
        "reason": reason,
        "predicted": {part.device: part.expected for part in kept},
        "considered": [option._asdict() for option in options],
        "projected": result_document(row),
        "regret": regret,
        "waiting": False,
        "expected_start": None,
    }


def _moment(row: ResultRow, devices: int) -> tuple[float, FloatArray]:
    """When the task could be decided, and every device's queue at the decision; NaN where nobody knows."""
    if row.ready_time is None or row.queue_seconds is None:
        return np.nan, np.full(devices, np.nan)
    return row.ready_time, np.array(row.queue_seconds)
