"""How the service is doing: for people, load balancers and Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from hybrid_scheduler.server.openapi import content
from hybrid_scheduler.server.schemas import Health
from hybrid_scheduler.server.services import ServicesOf

router = APIRouter(prefix="/api", tags=["operations"])


@router.get(
    "/health",
    response_model=Health,
    responses={
        503: {"model": Health, "description": "Nothing can be stored, or nobody races; `dependencies` say why."}
    },
    summary="Whether the service works",
)
async def health(services: ServicesOf, response: Response) -> Any:
    """`ok`; `degraded` (200) when something is away that the service does without; `down` (503) when it is not.

    Without Redis it is degraded, and for ten seconds without the engine. It is down when the engine is away for longer,
    has failed or dies again and again, when nobody owns the race, when the store is away, locked, full, damaged or
    lacks a table, and while the engine waits for it. What is wrong stands beside the dependency. Answered from memory.
    """
    document = services.watch.document()
    response.status_code = 503 if document["status"] == "down" else 200
    return document


@router.get(
    "/metrics",
    response_class=Response,
    responses=content("Prometheus text format.", "text/plain"),
    summary="Figures for Prometheus",
)
async def metrics(request: Request) -> Response:
    """Latencies of calls as histograms; tasks, decisions, unfinished tasks, store lag, clients, dropped messages."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
