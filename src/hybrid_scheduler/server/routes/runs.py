"""Stored runs and saved models."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from hybrid_scheduler.server.documents import model_version, stored_run
from hybrid_scheduler.server.errors import ApiError, declared
from hybrid_scheduler.server.routes.parameters import Before, Limit, RunKind, RunNumber, SchedulerFilter
from hybrid_scheduler.server.schemas import ModelVersionPage, RunPage, StoredRun
from hybrid_scheduler.server.services import ServicesOf

router = APIRouter(prefix="/api", tags=["runs"])

MOST_VERSIONS = 10_000
"""Saved models that can be paged through."""


@router.get("/runs", response_model=RunPage, responses=declared(422, 429, 503), summary="Stored runs")
async def runs(services: ServicesOf, limit: Limit = 100, before: Before = None, kind: RunKind = None) -> Any:
    """Live runs, comparisons and experiments, newest first, in pages."""
    rows = await services.store.runs(limit, before, kind)
    cursor = rows[-1].id if len(rows) == limit else None
    return {"items": [stored_run(row) for row in rows], "next_cursor": cursor}


@router.get("/runs/{run_id}", response_model=StoredRun, responses=declared(404, 422, 429, 503), summary="One run")
async def run(run_id: RunNumber, services: ServicesOf) -> Any:
    """One stored run with its configuration, and its figures once they are known."""
    run = await services.store.run(run_id)
    if run is None:
        raise ApiError(404, f"there is no run {run_id}")
    return stored_run(run)


@router.get("/models", response_model=ModelVersionPage, responses=declared(422, 429, 503), summary="Saved models")
async def models(
    services: ServicesOf, limit: Limit = 100, before: Before = None, scheduler: SchedulerFilter = None
) -> Any:
    """Every saved version of the live learners, newest first, in pages."""
    # The store gives the newest only; older pages are cut from more of them.
    versions = await services.store.model_versions(limit if before is None else MOST_VERSIONS, scheduler)
    rows = [row for row in versions if before is None or row.id < before][:limit]
    cursor = rows[-1].id if len(rows) == limit else None
    return {"items": [model_version(row) for row in rows], "next_cursor": cursor}
