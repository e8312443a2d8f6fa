"""Rows of the store as the documents that the API sends (shapes of `server.schemas`)."""

from __future__ import annotations

from typing import Any

from hybrid_scheduler.store.rows import ComparedTask, ModelVersionRow, ResultRow, RunRow, TrainingRow


def comparative_item(compared: ComparedTask) -> dict[str, Any]:
    """A `ComparativeItem`."""
    results = {row.scheduler_name: result_document(row) for row in compared.results}
    return {**compared.task._asdict(), "results": results}


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
                "device": each.device,
                "share": each.share,
                "start": each.start,
                "end": each.end,
                "expected": each.expected,
            }
            for each in row.parts
            if not each.lost
        ],
        "reason": row.reason,
    }


def training_record(row: TrainingRow) -> dict[str, Any]:
    """A `TrainingRecord`."""
    return row._asdict()


def stored_run(row: RunRow) -> dict[str, Any]:
    """A `StoredRun`."""
    return row._asdict()


def model_version(row: ModelVersionRow) -> dict[str, Any]:
    """A `ModelVersion`."""
    return row._asdict()
