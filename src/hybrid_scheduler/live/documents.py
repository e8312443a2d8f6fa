"""Rows of results as the documents that the API sends (shapes of `server.schemas`)."""

from __future__ import annotations

import math
from typing import Any

from hybrid_scheduler.engine.alternatives import Alternative
from hybrid_scheduler.store.rows import ResultRow


def result_document(row: ResultRow) -> dict[str, Any]:
    """A `Result`. Parts that were in vain are left out: they are no part of what came of the task."""
    return {
        "gpu_fraction": row.gpu_fraction,
        "gpu_id": row.gpu_id,
        "actual_time": row.actual_time,
        "wait_time": row.wait_time,
        "response_time": row.response_time,
        "finish_time": row.finish_time,
        "energy_consumption": row.energy_consumption,
        "execution_cost": row.execution_cost,
        "failed": row.failed,
        "parts": [
            {
                "device": part.device,
                "share": part.share,
                "start": part.start,
                "end": part.end,
                "expected": part.expected,
            }
            for part in row.parts
            if not part.lost
        ],
        "reason": row.reason,
        "ready_time": row.ready_time,
        "queue_seconds": None if row.queue_seconds is None else [known(seconds) for seconds in row.queue_seconds],
        "decided_time": row.decided_time,
        "overtaken": row.overtaken,
    }


def known(figure: float | None) -> float | None:
    """A figure as JSON has it: None where nobody knows it, or there is none."""
    return figure if figure is not None and math.isfinite(figure) else None


def chosen_alternative(row: ResultRow) -> Alternative | None:
    """What came, or will come, of a decision; None when the task failed."""
    if row.failed:
        return None
    return Alternative(
        device=" + ".join(part.device for part in row.parts if not part.lost),
        gpu_fraction=row.gpu_fraction,
        seconds=row.actual_time,
        wait=row.wait_time,
        response=row.response_time,
        energy=row.energy_consumption,
        cost=row.execution_cost,
        chosen=True,
    )
