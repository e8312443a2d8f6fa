"""What routes work with: one object per application, made by `create_app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Response
from starlette.requests import HTTPConnection

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.cache import Cache
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.errors import ApiError
from hybrid_scheduler.server.experiment_jobs import ExperimentJobs
from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.health_watch import HealthWatch
from hybrid_scheduler.server.leader_link import LeaderLink
from hybrid_scheduler.server.limits import RateLimits
from hybrid_scheduler.server.redis_link import RedisLink
from hybrid_scheduler.server.store_access import StoreAccess

if TYPE_CHECKING:
    from hybrid_scheduler.store.rows import RunRow
    from hybrid_scheduler.store.store import Store


@dataclass(frozen=True)
class Services:
    """The parts of one running service.

    Attributes:
        settings: Where and how it runs.
        engine: The live engine of this process.
        store_access: Opens the store and holds it.
        link: Redis, None when none is configured.
        cache: Answers kept for a moment.
        limits: How often clients may call.
        feed: The WebSocket clients of this process.
        leader: The process that runs the engine, this one or another.
        experiments: Those that this process started.
        watch: Knows how the others are.
    """

    settings: ServiceSettings
    engine: EnginePort
    store_access: StoreAccess
    link: RedisLink | None
    cache: Cache
    limits: RateLimits
    feed: Feed
    leader: LeaderLink
    experiments: ExperimentJobs
    watch: HealthWatch

    @property
    def store(self) -> Store:
        """The open store.

        Raises:
            StoreUnavailableError: It could not be opened yet.
        """
        return self.store_access.store

    async def run(self, run_id: int) -> RunRow:
        """A stored run.

        Raises:
            ApiError: 404, there is none of this number.
        """
        run = await self.store.run(run_id)
        if run is None:
            raise ApiError(404, f"there is no run {run_id}")
        return run

    async def shared_answer(self, key: str, seconds: float, made: Callable[[], Awaitable[bytes]]) -> Response:
        """An answer in JSON that is dear to make: for so long all callers share one."""
        document = await self.cache.get(key)
        if document is None:
            document = await made()
            await self.cache.set(key, document, seconds)
        return json_answer(document)

    def status(self) -> dict[str, Any]:
        """The whole `Status`."""
        feed = {"clients": self.feed.clients, "frames": self.feed.frames, "dropped": self.feed.dropped}
        token_required = self.settings.api_token is not None
        return {**self.leader.status(), "feed": feed, "token_required": token_required}


def json_answer(document: bytes, status: int = 200) -> Response:
    """What is encoded already; through the model it would cost as much again."""
    return Response(document, status, media_type="application/json")


def services_of(connection: HTTPConnection) -> Services:
    """The services of the application that a call came to."""
    services: Services = connection.app.state.services
    return services


ServicesOf = Annotated[Services, Depends(services_of)]
