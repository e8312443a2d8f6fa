"""The health of the service, checked once a second so that requests for it never wait."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from typing import Any

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.background import BackgroundTasks
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.leader_link import LeaderLink
from hybrid_scheduler.server.redis_link import RedisLink
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.server.timeouts import Timeouts
from hybrid_scheduler.store.errors import SUMMARIES, UNREACHABLE, StoreError

_LOG = logging.getLogger(__name__)

DEATHS, DEATHS_SECONDS = 3, 60.0
"""An engine that has died as often in so many seconds is down, although it is being started again each time."""
UP, DOWN = "up", "down"


class HealthWatch:
    """Knows how store, cache and engine are.

    `ok`: all are well. `degraded`: something is away that the service does without: Redis, or the engine for a moment.
    `down`: what callers come for does not happen: nothing can be stored, or nobody races.

    Attributes:
        timeouts: When something counts as late; may be replaced at any time.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        engine: EnginePort,
        store_access: StoreAccess,
        link: RedisLink | None,
        leader: LeaderLink,
        timeouts: Timeouts,
    ) -> None:
        self.timeouts = timeouts
        self._engine, self._store_access, self._link, self._leader = engine, store_access, link, leader
        self._store_kind = "postgresql" if settings.database.startswith("postgresql") else "sqlite"
        self._store_problem, self._looked = "", -math.inf
        self._engine_was_up, self._deaths = False, deque[float](maxlen=DEATHS)
        self._engine_seen = self._owner_seen = self._told = 0.0
        self._engine_status: dict[str, Any] = {}
        self._last_status = "ok"
        self._background = BackgroundTasks()

    async def open(self) -> None:
        """Look once, and go on looking."""
        self._engine_seen = self._owner_seen = self._told = time.monotonic()
        await self._look()
        self._background.start(self._watch(), "health-watch")

    async def close(self) -> None:
        """Stop looking."""
        await self._background.end()

    def document(self) -> dict[str, Any]:
        """The `Health` as last checked."""
        engine, is_outage = self._engine_health()
        dependencies = {"store": self._store_health(), "cache": self._cache_health(), "engine": engine}
        if is_outage or dependencies["store"]["status"] == DOWN:
            status = DOWN
        else:
            status = "ok" if all(dependency["status"] == UP for dependency in dependencies.values()) else "degraded"
        return {"status": status, "dependencies": dependencies}

    def answering(self) -> dict[str, bool]:
        """Which dependencies are well."""
        return {name: dependency["status"] == UP for name, dependency in self.document()["dependencies"].items()}

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.timeouts.look)
            await self._look()

    async def _look(self) -> None:
        self._store_problem = await self._problem_of_store()
        now = self._looked = time.monotonic()
        is_up, status = self._engine.health()["status"] == UP, self._engine.status()
        if status is not self._engine_status or not is_up:
            self._engine_status, self._told = status, now
        if self._engine_was_up and not is_up:
            self._deaths.append(now)
        self._engine_was_up = is_up
        self._engine_seen = now if is_up else self._engine_seen
        self._owner_seen = now if not is_up or self._is_owned() else self._owner_seen
        self._log_change()

    async def _problem_of_store(self) -> str:
        """Why the store cannot be used; empty when it can."""
        try:
            async with asyncio.timeout(self.timeouts.store_answer):
                await self._store_access.store.ping()
        except TimeoutError:
            return SUMMARIES[UNREACHABLE]
        except StoreError as error:
            if error.summary != self._store_problem:
                _LOG.warning("%s", error)  # where it is, is said in the log only
            return error.summary
        return ""

    def _is_owned(self) -> bool:
        """Whether a process owns the race: this one, or another as far as Redis can tell."""
        status = self._engine.status()
        if status["state"] != "following":
            return bool(status["owner"])
        return self._link is None or not self._link.up or self._leader.owner_is_known

    def _store_health(self) -> dict[str, str]:
        """As the engine knows it and as this process does: each uses it in its own way."""
        status = self._engine.status()
        if time.monotonic() - self._looked > self.timeouts.stale:
            problem = f"the store has not answered for {self.timeouts.stale:g} s"
        else:
            problem = status["store"].get("problem") or self._store_problem
        if not problem and (status["state"] == "waiting_for_store" or not status["store"]["available"]):
            problem = "the engine waits for the store"
        return {"status": DOWN if problem else UP, "kind": self._store_kind, "message": problem}

    def _cache_health(self) -> dict[str, str]:
        if self._link is None:
            return {"status": UP, "kind": "in-process", "message": ""}
        return {"status": UP if self._link.up else DOWN, "kind": "redis", "message": self._link.message}

    def _engine_health(self) -> tuple[dict[str, str], bool]:
        """The engine, and whether that is an outage."""
        now, told, status = time.monotonic(), self._engine.health(), self._engine.status()
        problem, is_outage = told["message"] if told["status"] != UP else "", False
        if status["state"] == "failed":
            problem, is_outage = status["message"] or "the race cannot go on", True
        elif len(self._deaths) == DEATHS and now - self._deaths[0] < DEATHS_SECONDS:
            problem, is_outage = "it dies again and again; the log says of what", True
        elif now - self._engine_seen > self.timeouts.outage and problem:
            is_outage = True
        elif now - self._told > self.timeouts.silent:
            problem, is_outage = f"it has said nothing for {self.timeouts.silent:g} s", True
        elif now - self._owner_seen > self.timeouts.outage and not problem and not self._is_owned():
            problem, is_outage = "nobody owns the race", True
        return {"status": DOWN if problem else UP, "kind": told["kind"], "message": problem}, is_outage

    def _log_change(self) -> None:
        """Log every change of the health."""
        document = self.document()
        if document["status"] != self._last_status:
            parts = document["dependencies"].items()
            reasons = [f"({name}: {part['message']})" for name, part in parts if part["status"] == DOWN]
            level = logging.WARNING if document["status"] == DOWN else logging.INFO
            _LOG.log(level, "%s", " ".join((f"the service is {document['status']}", *reasons)))
        self._last_status = document["status"]
