"""Rows of the store as the documents that the API sends (shapes of `server.schemas`)."""

from __future__ import annotations

from typing import Any

from hybrid_scheduler.live.documents import result_document
from hybrid_scheduler.store.rows import ComparedTask, ModelVersionRow, RunRow, TrainingRow


def comparative_item(compared: ComparedTask) -> dict[str, Any]:
    """A `ComparativeItem`."""
    results = {row.scheduler_name: result_document(row) for row in compared.results}
    return {**compared.task._asdict(), "results": results}


def training_record(row: TrainingRow) -> dict[str, Any]:
    """A `TrainingRecord`."""
    return row._asdict()


def stored_run(row: RunRow) -> dict[str, Any]:
    """A `StoredRun`."""
    return row._asdict()


def model_version(row: ModelVersionRow) -> dict[str, Any]:
    """A `ModelVersion`."""
    return row._asdict()
