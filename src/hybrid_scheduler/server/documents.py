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
    document = row._asdict()
    document["parts"] = [part._asdict() for part in row.parts if not part.lost]
    return document


def training_record(row: TrainingRow) -> dict[str, Any]:
    """A `TrainingRecord`."""
    return row._asdict()


def stored_run(row: RunRow) -> dict[str, Any]:
    """A `StoredRun`."""
    return row._asdict()


def model_version(row: ModelVersionRow) -> dict[str, Any]:
    """A `ModelVersion`."""
    return row._asdict()
