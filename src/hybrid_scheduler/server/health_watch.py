"""How the service is doing, looked at once a second, so that nobody who asks has to wait."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from typing import Any

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.background import end_tasks, log_failure
from hybrid_scheduler.server.engine_port import EnginePort
from hybrid_scheduler.server.redis_link import RedisLink
from hybrid_scheduler.server.sharing import Sharing
from hybrid_scheduler.server.store_door import StoreDoor
from hybrid_scheduler.store.errors import SUMMARIES, UNREACHABLE, StoreError

_LOG = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
ANSWER_SECONDS = 2.0
"""The store has so long to answer."""
STALE_SECONDS = 5.0
"""An answer of the store that is older says nothing."""
MOMENT = 10.0
"""Seconds without an engine, or without an owner of the race, after which that is an outage; a lease is shorter."""
SILENT_SECONDS = 15.0
"""An engine tells how it is twice a second; one that has told nothing for so long hangs."""
DEATHS, DEATHS_SECONDS = 3, 60.0
"""An engine that has died as often in so many seconds is down, although it is being started again each time."""
UP, DOWN = "up", "down"


class HealthWatch:
    """Knows how store, cache and engine are.

    `ok`: all are well. `degraded`: something is away that the service does without: Redis, or the engine for a moment.
    `down`: what callers come for does not happen: nothing can be stored, or nobody races.
    """

    def __init__(
        self, settings: ServiceSettings, engine: EnginePort, door: StoreDoor, link: RedisLink | None, sharing: Sharing
    ) -> None:
        self._engine, self._door, self._link, self._sharing = engine, door, link, sharing
        self._store_kind = "postgresql" if settings.database.startswith("postgresql") else "sqlite"
        self._store_problem, self._looked = "", -math.inf
        self._engine_was_up, self._deaths = False, deque[float](maxlen=DEATHS)
        self._engine_seen = self._owner_seen = self._told = 0.0
        self._engine_status: dict[str, Any] = {}
        self._last_status = "ok"
        self._watcher: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Look once, and go on looking."""
        self._engine_seen = self._owner_seen = self._told = time.monotonic()
        await self._look()
        self._watcher = asyncio.create_task(self._watch(), name="health-watch")
        self._watcher.add_done_callback(log_failure)

    async def close(self) -> None:
        """Stop looking."""
        if self._watcher is not None:
            await end_tasks([self._watcher])

    def document(self) -> dict[str, Any]:
        """The `Health`, at once, from memory."""
        engine, is_outage = self._engine_health()
        dependencies = {"store": self._store_health(), "cache": self._cache_health(), "engine": engine}
        if is_outage or dependencies["store"]["status"] == DOWN:
            status = DOWN
        else:
            status = "ok" if all(each["status"] == UP for each in dependencies.values()) else "degraded"
        return {"status": status, "dependencies": dependencies}

    def answering(self) -> dict[str, bool]:
        """Which dependencies are well."""
        return {name: each["status"] == UP for name, each in self.document()["dependencies"].items()}

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
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
        self._tell()

    async def _problem_of_store(self) -> str:
        """Why the store cannot be used; empty when it can."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._door.store.ping()
        except TimeoutError:
            return SUMMARIES[UNREACHABLE]
        except StoreError as error:
            if error.summary != self._store_problem:
                _LOG.warning("%s", error)  # where it is, is said in the log only
            return error.summary
        return ""

    def _is_owned(self) -> bool:
        """Whether somebody races: this process, or one that it has heard of, if it could."""
        status = self._engine.status()
        if status["state"] != "following":
            return bool(status["owner"])
        return self._link is None or not self._link.up or self._sharing.owner_is_known

    def _store_health(self) -> dict[str, str]:
        """As the engine knows it and as this process does: each uses it in its own way."""
        status = self._engine.status()
        if time.monotonic() - self._looked > STALE_SECONDS:
            problem = f"the store has not answered for {STALE_SECONDS:g} s"
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
        elif now - self._engine_seen > MOMENT and problem:
            is_outage = True
        elif now - self._told > SILENT_SECONDS:
            problem, is_outage = f"it has said nothing for {SILENT_SECONDS:g} s", True
        elif now - self._owner_seen > MOMENT and not problem and not self._is_owned():
            problem, is_outage = "nobody owns the race", True
        return {"status": DOWN if problem else UP, "kind": told["kind"], "message": problem}, is_outage

    def _tell(self) -> None:
        """One line for every change."""
        document = self.document()
        if document["status"] != self._last_status:
            parts = document["dependencies"].items()
            reasons = [f"({name}: {each['message']})" for name, each in parts if each["status"] == DOWN]
            level = logging.WARNING if document["status"] == DOWN else logging.INFO
            _LOG.log(level, "%s", " ".join((f"the service is {document['status']}", *reasons)))
        self._last_status = document["status"]
