"""What the race says of its placements, as the documents that the API sends."""

from __future__ import annotations

import math
from typing import Any

from hybrid_scheduler.engine.alternatives import alternatives
from hybrid_scheduler.engine.live_data import Finished, Placement, WaitingTask, Waits
from hybrid_scheduler.live.documents import chosen_alternative, known, result_document
from hybrid_scheduler.live.race import Race
from hybrid_scheduler.store import result_row


def placement_report(name: str, task_id: int, placement: Placement | Waits | None, race: Race) -> dict[str, Any]:
    """As in `DecisionReport`."""
    if not isinstance(placement, Placement):
        reason = "It waits for a task it depends on; decided once that has finished."
        if placement is not None:
            reason = f"One of {placement.waiting} waiting tasks. {placement.reason}"
        elif name in race.out:
            reason = f"Out of the race: {race.out[name]}"
        return {
            "scheduler_name": name,
            "gpu_fraction": 0.0,
            "gpu_id": None,
            "reason": reason,
            "predicted": {},
            "considered": [],
            "projected": None,
            "regret": None,
            "waiting": placement is not None,
            "expected_start": None if placement is None else placement.expected_start,
        }
    projected, names = result_row(placement.projected, name, task_id), race.world.cluster.names
    expects = placement.explanation.seconds
    if expects is None:
        predicted = {names[part.device]: part.expected or None for part in placement.decision.parts}
    else:
        predicted = dict(zip(names, map(known, expects.tolist()), strict=True))
    known_regret = math.isfinite(placement.best_response) and not projected.failed
    options = alternatives(
        race.world,
        placement.memory_mb,
        placement.seconds,
        placement.wait,
        chosen_alternative(projected),
    )
    return {
        "scheduler_name": name,
        "gpu_fraction": projected.gpu_fraction,
        "gpu_id": projected.gpu_id,
        "reason": placement.explanation.reason,
        "predicted": predicted,
        "considered": [option._asdict() for option in options],
        "projected": result_document(projected),
        "regret": max(projected.response_time - placement.best_response, 0.0) if known_regret else None,
        "waiting": False,
        "expected_start": None,
    }


def waiting_document(waiting: WaitingTask, task_id: int, now: float) -> dict[str, Any]:
    """As in `WaitingTask` of the API."""
    task = waiting.task
    return {
        "task_id": task_id,
        "kind": task.kind,
        "size": task.size,
        "compute_intensity": task.compute_intensity,
        "memory_required": task.memory_required,
        "ready_time": waiting.ready_time,
        "waited": max(now - waiting.ready_time, 0.0),
        "overtaken": waiting.overtaken,
        "expected_start": waiting.expected_start,
        "reason": waiting.reason,
    }


def latest_results(finished: Finished, stored_id: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """`task` and `latest_results` of a `SimulationUpdate`."""
    task = finished.tasks[-1]
    described = {
        "id": stored_id,
        "size": task.size,
        "intensity": task.compute_intensity,
        "memory": task.memory_required,
    }
    results = {}
    for name, outcomes in finished.outcomes.items():
        outcome = outcomes[-1]
        results[name] = {
            "time": outcome.actual_time,
            "wait": outcome.wait_time,
            "response": outcome.response_time,
            "energy": known(outcome.energy),
            "cost": outcome.cost,
            "gpu_fraction": outcome.gpu_fraction,
            "gpu_id": outcome.gpu_id,
        }
    return described, results
