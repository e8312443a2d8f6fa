"""An application with what it was made of, and a client of it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fake_engine import FakeEngine
from fastapi import FastAPI

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.store_access import StoreAccess
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts
from hybrid_scheduler.store import Store, open_store

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have a successor of httpx
    from starlette.testclient import TestClient

TOKEN = "correct-horse-battery-staple"
Found = TypeVar("Found")


class Service:
    """A service with the fake engine; its client runs it while entered."""

    def __init__(
        self,
        settings: ServiceSettings,
        opener: Callable[[], Awaitable[Store]] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        self.settings = settings
        self.store_access = StoreAccess(opener or functools.partial(open_store, settings.database), retry_seconds=0.1)
        self.engine = FakeEngine(self.store_access)
        self.app: FastAPI = create_app(settings, self.engine, self.store_access, timeouts)
        self.client = TestClient(
            self.app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False, client=("127.0.0.1", 50000)
        )

    def emit(self, message: dict[str, Any]) -> None:
        """Have the engine send one live message."""
        assert self.client.portal is not None
        self.client.portal.call(self.engine.emit, message)

    def run(self, work: Callable[..., Awaitable[Found]], *arguments: Any) -> Found:
        """Run a coroutine function on the service's event loop."""
        assert self.client.portal is not None
        return self.client.portal.call(work, *arguments)


NewService = Callable[..., Service]
