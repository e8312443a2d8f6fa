"""The web half on real stores and a real Redis, with an engine that does as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from running_service import NewService, Service

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts


@pytest.fixture
def service_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a service on SQLite in a folder of its own that limits nobody."""
    monkeypatch.chdir(tmp_path)
    return {
        "_env_file": None,
        "database_url": f"sqlite+aiosqlite:///{tmp_path}/service.db",
        "rate_limit": "100000/minute",
        "write_rate_limit": "100000/minute",
        "allowed_hosts": "testserver",  # the test client's name for the service when it opens a WebSocket
        "log_file": "",
    }


@pytest.fixture
def timeouts() -> Timeouts:
    """How long the services of a test wait; a file may have its own."""
    return DEFAULT_TIMEOUTS


@pytest.fixture
def new_service(service_settings: dict[str, Any], timeouts: Timeouts) -> Iterator[NewService]:
    """Makes running services; settings as keyword arguments."""
    with ExitStack() as running:

        def make(opener: Any = None, timeouts: Timeouts = timeouts, **settings: Any) -> Service:
            service = Service(ServiceSettings(**(service_settings | settings)), opener, timeouts)
            running.enter_context(service.client)
            return service

        yield make


@pytest.fixture
def service(new_service: NewService) -> Service:
    """A running service on SQLite."""
    return new_service()


@pytest.fixture(params=["sqlite", "postgresql", "sqlite+redis", "postgresql+redis"])
def deployed(request: pytest.FixtureRequest) -> Service:
    """A running service on each store, without and with Redis."""
    kind, _, shared = request.param.partition("+")
    settings = {}
    if kind == "postgresql":
        settings["database_url"] = request.getfixturevalue("postgres_url")
    if shared:
        settings["redis_url"] = request.getfixturevalue("redis_url")
    # Asked for last, so that it ends before what it stands on.
    made: Service = request.getfixturevalue("new_service")(**settings)
    return made
