"""Stored runs and saved models."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from hybrid_scheduler.server.documents import page_of
from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.routes.parameters import Before, Limit, RunKind, RunNumber, SchedulerFilter
from hybrid_scheduler.server.schemas import ModelVersionPage, RunPage, StoredRun
from hybrid_scheduler.server.services import ServicesOf

router = APIRouter(prefix="/api", tags=["runs"], responses=declared(503))


@router.get("/runs", response_model=RunPage, summary="Stored runs")
async def runs(services: ServicesOf, limit: Limit = 100, before: Before = None, kind: RunKind = None) -> Any:
    """Live runs, comparisons and experiments, newest first, in pages."""
    return page_of(await services.store.runs(limit, before, kind), limit)


@router.get("/runs/{run_id}", response_model=StoredRun, responses=declared(404), summary="One run")
async def run(run_id: RunNumber, services: ServicesOf) -> Any:
    """One stored run with its configuration, and its figures once they are known."""
    return (await services.run(run_id))._asdict()


@router.get("/models", response_model=ModelVersionPage, summary="Saved models")
async def models(
    services: ServicesOf, limit: Limit = 100, before: Before = None, scheduler: SchedulerFilter = None
) -> Any:
    """Every saved version of the live learners, newest first, in pages."""
    return page_of(await services.store.model_versions(limit, scheduler, before), limit)
