"""From what the race knows to what the API sends."""

from __future__ import annotations

import math
from typing import Any

from hybrid_scheduler.engine.live import Finished, LiveRace, Verdict
from hybrid_scheduler.server.considered import considered
from hybrid_scheduler.server.documents import result_document
from hybrid_scheduler.store import result_row


def verdict_report(name: str, task_id: int, verdict: Verdict | None, race: LiveRace) -> dict[str, Any]:
    """As in `DecisionReport`."""
    if verdict is None:
        waits = "It waits for a task it depends on; decided once that has finished."
        return {
            "scheduler_name": name,
            "gpu_fraction": 0.0,
            "gpu_id": None,
            "reason": f"Out of the race: {race.out[name]}" if name in race.out else waits,
            "predicted": {},
            "considered": [],
            "projected": None,
            "regret": None,
        }
    projected, names = result_row(verdict.projected, name, task_id), race.cluster.names
    expects = verdict.explanation.seconds
    if expects is None:
        predicted = {names[part.device]: part.expected or None for part in verdict.decision.parts}
    else:
        predicted = dict(zip(names, map(known, expects.tolist()), strict=True))
    known_regret = math.isfinite(verdict.best_response) and not projected.failed
    return {
        "scheduler_name": name,
        "gpu_fraction": projected.gpu_fraction,
        "gpu_id": projected.gpu_id,
        "reason": verdict.explanation.reason,
        "predicted": predicted,
        "considered": considered(
            race.cluster,
            race.physics,
            verdict.memory,
            [known(seconds) for seconds in verdict.seconds.tolist()],
            verdict.wait.tolist(),
            projected,
        ),
        "projected": result_document(projected),
        "regret": max(projected.response_time - verdict.best_response, 0.0) if known_regret else None,
    }


def known(seconds: float) -> float | None:
    """None where a device cannot take the task."""
    return seconds if math.isfinite(seconds) else None


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
            "energy": outcome.energy,
            "cost": outcome.cost,
            "gpu_fraction": outcome.gpu_fraction,
            "gpu_id": outcome.gpu_id,
        }
    return described, results
