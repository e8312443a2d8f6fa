"""The web application: everything put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from hybrid_scheduler import __version__
from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.auth_and_limits import AuthAndLimits
from hybrid_scheduler.server.cache import Cache
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.errors import error_response, install_error_handlers
from hybrid_scheduler.server.experiment_jobs import ExperimentJobs
from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.health_watch import HealthWatch
from hybrid_scheduler.server.leader_link import LeaderLink
from hybrid_scheduler.server.limits import RateLimits
from hybrid_scheduler.server.metrics import Metrics, RaceCollector
from hybrid_scheduler.server.openapi import DESCRIPTION, describe
from hybrid_scheduler.server.redis_link import RedisLink
from hybrid_scheduler.server.request_log import HEADER, RequestLog
from hybrid_scheduler.server.routes import (
    analysis,
    experiments,
    graph,
    health,
    history,
    live,
    pages,
    runs,
    schedulers,
    simulation,
    tasks,
)
from hybrid_scheduler.server.security import SecurityHeaders, add_security_headers
from hybrid_scheduler.server.services import Services
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts

ROUTERS = tuple(
    module.router
    for module in (simulation, tasks, graph, history, analysis, runs, experiments, schedulers, health, pages, live)
)


def create_app(
    settings: ServiceSettings, engine: EnginePort, store_access: StoreAccess, timeouts: Timeouts = DEFAULT_TIMEOUTS
) -> FastAPI:
    """The application; it opens store, Redis and engine when it starts, and closes them when it ends.

    Args:
        settings: Where and how it runs.
        engine: The live engine.
        store_access: Opens the store; may be open already.
        timeouts: How long its parts wait.
    """
    link = None if settings.redis is None else RedisLink(settings.redis)
    feed, limits, metrics = Feed(settings.max_clients), RateLimits(settings, link), Metrics()
    leader = LeaderLink(engine, feed, link, timeouts)
    jobs = ExperimentJobs(settings, store_access, timeouts.cancelled_experiment)
    watch = HealthWatch(settings, engine, store_access, link, leader, timeouts)
    services = Services(settings, engine, store_access, link, Cache(link), limits, feed, leader, jobs, watch)
    app = FastAPI(
        title="Hybrid ML Scheduler",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        # The pages FastAPI brings load their scripts from elsewhere, which the content security policy forbids.
        # `/docs` is a page of ours (`routes.pages`).
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        middleware=[
            Middleware(RequestLog, metrics=metrics),
            Middleware(SecurityHeaders),
            *_cors(settings),
            Middleware(AuthAndLimits, settings=settings, limits=limits),
        ],
        redirect_slashes=False,
    )
    app.state.services, app.state.metrics = services, metrics
    metrics.watch(RaceCollector(services.status, watch.answering, lambda: engine.restarts))
    install_error_handlers(app)
    app.add_exception_handler(HTTPException, pages.not_routed)
    app.add_exception_handler(Exception, _unexpected)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/assets", pages.AssetFiles(), name="assets")
    app.openapi = lambda: describe(app, token_needed=settings.api_token is not None)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """What was opened first is closed last: the engine still needs the store to put away what it has accepted."""
    services: Services = app.state.services
    async with AsyncExitStack() as opened:
        parts = (
            services.store_access,
            services.link,
            services.engine,
            services.leader,
            services.experiments,
            services.watch,
        )
        for part in parts:
            if part is not None:
                await part.open()
                opened.push_async_callback(part.close)
        yield


async def _unexpected(request: Request, error: Exception) -> Response:
    """A mistake of ours. The server logs it with its traceback; callers get the number to ask about, nothing else."""
    number = request.state.request_id
    message = f"something went wrong inside the service; its log says more under request id {number}"
    # This answer passes none of the middleware any more.
    response = error_response(500, message, headers={HEADER: number})
    add_security_headers(response.headers, request.url.path)
    return response


def _cors(settings: ServiceSettings) -> list[Middleware]:
    if not settings.allowed_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(settings.allowed_origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", HEADER],
            expose_headers=[HEADER, "Retry-After"],
        )
    ]
