"""What routes work with: one object per application, made by `create_app`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.cache import Cache
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.experiment_jobs import ExperimentJobs
from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.health_watch import HealthWatch
from hybrid_scheduler.server.leader_link import LeaderLink
from hybrid_scheduler.server.limits import RateLimits
from hybrid_scheduler.server.redis_link import RedisLink
from hybrid_scheduler.server.store_access import StoreAccess

if TYPE_CHECKING:
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

    def status(self) -> dict[str, Any]:
        """The whole `Status`."""
        feed = {"clients": self.feed.clients, "frames": self.feed.frames, "dropped": self.feed.dropped}
        token_required = self.settings.api_token is not None
        return {**self.leader.status(), "feed": feed, "token_required": token_required}


def services_of(connection: HTTPConnection) -> Services:
    """The services of the application that a call came to."""
    services: Services = connection.app.state.services
    return services


ServicesOf = Annotated[Services, Depends(services_of)]
