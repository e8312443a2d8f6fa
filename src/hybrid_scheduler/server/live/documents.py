"""From what the race knows to what the API sends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hybrid_scheduler.engine.live import Finished, LiveRace, Verdict
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.view import GPU, KIND, MEMORY


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """As in `Result`."""
    return {
        "gpu_fraction": outcome.gpu_fraction,
        "gpu_id": outcome.gpu_id,
        "actual_time": outcome.actual_time,
        "wait_time": outcome.wait_time,
        "response_time": outcome.response_time,
        "finish_time": outcome.finish_time,
        "energy_consumption": outcome.energy,
        "execution_cost": outcome.cost,
        "failed": outcome.failed,
        "parts": [
            {
                "device": part.device,
                "share": part.share,
                "start": part.start,
                "end": part.end,
                "expected": part.expected if math.isfinite(part.expected) else None,
                "lost": part.lost,
            }
            for part in outcome.parts
        ],
    }


def verdict_report(name: str, verdict: Verdict | None, race: LiveRace) -> dict[str, Any]:
    """As in `DecisionReport`."""
    if verdict is None:
        return {
            "scheduler_name": name,
            "gpu_fraction": 0.0,
            "gpu_id": None,
            "reason": "It waits for a task it depends on; decided once that has finished.",
            "predicted": {},
            "considered": [],
            "projected": None,
            "regret": None,
        }
    projected, names = verdict.projected, race.cluster.names
    expects = verdict.explanation.seconds
    if expects is None:
        predicted = {names[part.device]: part.expected or None for part in verdict.decision.parts}
    else:
        predicted = {device: float(s) if np.isfinite(s) else None for device, s in zip(names, expects, strict=True)}
    return {
        "scheduler_name": name,
        "gpu_fraction": projected.gpu_fraction,
        "gpu_id": projected.gpu_id,
        "reason": verdict.explanation.reason,
        "predicted": predicted,
        "considered": considered(verdict, race),
        "projected": outcome_document(projected),
        "regret": max(projected.response_time - verdict.best_response, 0.0)
        if math.isfinite(verdict.best_response) and not projected.failed
        else None,
    }


def considered(verdict: Verdict, race: LiveRace) -> list[dict[str, Any]]:
    """The whole task on every device, by the simulator's truth, and the chosen split if it is one."""
    cluster, table = race.cluster, race.cluster.public_table()
    watts, price = cluster.column("watts"), race.physics.busy_price(cluster)
    projected = verdict.projected
    chosen = {part.device for part in projected.parts if not part.lost}
    whole = len(chosen) == 1
    rows = []
    for d, device in enumerate(cluster.names):
        seconds, wait = float(verdict.seconds[d]), float(verdict.wait[d])
        on_gpu = table[d, KIND] == GPU
        fits = math.isfinite(seconds) and not (on_gpu and verdict.memory > table[d, MEMORY])
        rows.append(
            {
                "device": device,
                "gpu_fraction": 1.0 if on_gpu else 0.0,
                "seconds": seconds if fits else None,
                "wait": wait if fits else None,
                "response": wait + seconds if fits else None,
                "energy": watts[d] * seconds if fits else None,
                "cost": price[d] * seconds if fits else None,
                "chosen": whole and device in chosen,
            }
        )
    if len(chosen) > 1:
        rows.append(
            {
                "device": " + ".join(part.device for part in projected.parts if not part.lost),
                "gpu_fraction": projected.gpu_fraction,
                "seconds": projected.actual_time,
                "wait": projected.wait_time,
                "response": projected.response_time,
                "energy": projected.energy,
                "cost": projected.cost,
                "chosen": True,
            }
        )
    return rows


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
