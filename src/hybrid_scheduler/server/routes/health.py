"""How the service is doing: for people, load balancers and Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.schemas import Health
from hybrid_scheduler.server.services import Services, ServicesOf

router = APIRouter(prefix="/api", tags=["operations"])


@router.get(
    "/health",
    response_model=Health,
    responses={503: {"model": Health, "description": "The store does not answer."}},
    summary="Whether the service works",
)
async def health(services: ServicesOf, response: Response) -> Any:
    """`ok`; `degraded` when Redis or the engine is away and the rest works on; 503 and `down` without the store."""
    problem = await services.door.problem()
    dependencies = {
        "store": {"status": "down" if problem else "up", "kind": store_kind(services), "message": problem},
        "cache": cache_health(services),
        "engine": {key: services.engine.health()[key] for key in ("status", "kind", "message")},
    }
    if problem:
        response.status_code = 503
        return {"status": "down", "dependencies": dependencies}
    working = all(each["status"] == "up" for each in dependencies.values())
    return {"status": "ok" if working else "degraded", "dependencies": dependencies}


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text format."},
        **declared(429),
    },
    summary="Figures for Prometheus",
)
async def metrics(request: Request) -> Response:
    """Latencies of calls as histograms; tasks, decisions, unfinished tasks, store lag, clients, dropped messages."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def store_kind(services: Services) -> str:
    """`sqlite` or `postgresql`."""
    return "postgresql" if services.settings.database.startswith("postgresql") else "sqlite"


def cache_health(services: Services) -> dict[str, str]:
    """The `Dependency` of the cache."""
    if services.link is None:
        return {"status": "up", "kind": "in-process", "message": ""}
    return {"status": "up" if services.link.up else "down", "kind": "redis", "message": services.link.message}
