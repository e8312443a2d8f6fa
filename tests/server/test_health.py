"""How the service says it is."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine
from running_service import NewService, Service

from hybrid_scheduler.server.timeouts import Timeouts
from hybrid_scheduler.store import Store, StoreError, StoreUnavailableError, open_store


@pytest.fixture
def timeouts() -> Timeouts:
    """It looks often, and the owner of the race tells of itself often."""
    return Timeouts(look=0.02, outage=0.3, status_interval=0.1, status_kept=0.5)


def _change(service: Service, **seconds: float) -> None:
    watch = service.app.state.services.watch
    watch.timeouts = replace(watch.timeouts, **seconds)


def _health(service: Service) -> tuple[int, Any]:
    answer = service.client.get("/api/health")
    return answer.status_code, answer.json()


def _says(service: Service, code: int, status: str, **messages: str) -> bool:
    found, health = _health(service)
    told = {name: each["message"] for name, each in health["dependencies"].items()}
    return (found, health["status"]) == (code, status) and all(messages[name] in told[name] for name in messages)


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_all_is_well(deployed: Service) -> None:
    code, health = _health(deployed)
    assert (code, health["status"]) == (200, "ok")
    assert {name: each["status"] for name, each in health["dependencies"].items()} == {
        "store": "up",
        "cache": "up",
        "engine": "up",
    }
    expected = "redis" if deployed.settings.redis else "in-process"
    assert health["dependencies"]["cache"]["kind"] == expected
    backend = "postgresql" if "postgresql" in deployed.settings.database else "sqlite"
    assert health["dependencies"]["store"]["kind"] == backend


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StoreUnavailableError("db.internal does not answer"), "the store does not answer"),
        (StoreUnavailableError("/internal is locked", "locked"), "locked"),
        (StoreUnavailableError("/internal is full", "full"), "full"),
        (StoreError("/internal is damaged", "damaged"), "damaged"),
        (StoreError("/internal: no idea"), "the store refused"),
        (TimeoutError(), "the store does not answer"),
    ],
)
def test_whatever_the_store_raises_is_down_and_back(
    service: Service, error: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        raise error

    service.store_access.store.ping = fail  # type: ignore[method-assign]
    with caplog.at_level(logging.INFO):
        _until(lambda: _says(service, 503, "down", store=says))
        for _ in range(10):
            assert "internal" not in json.dumps(_health(service)[1])
        del service.store_access.store.ping
        _until(lambda: _says(service, 200, "ok"))
    told = [each.getMessage() for each in caplog.records if each.getMessage().startswith("the service is")]
    assert len(told) == 2, "one line for each change"
    assert says in told[0]
    assert told[1] == "the service is ok"


@pytest.fixture
def spoilt(new_service: NewService, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service whose engine ends without its store."""

    async def close(self: FakeEngine) -> None:
        self.closed = True

    monkeypatch.setattr(FakeEngine, "close", close)
    return new_service()


def test_a_missing_table_is_named(spoilt: Service) -> None:
    service = spoilt
    with sqlite3.connect(service.settings.database.partition(":///")[2]) as database:
        database.execute("DROP TABLE training_data")
    _until(lambda: _says(service, 503, "down", store="training_data"))
    assert service.client.get("/api/full_history").status_code == 503


def test_a_damaged_file_is_no_traceback(spoilt: Service, caplog: pytest.LogCaptureFixture) -> None:
    service = spoilt
    path = Path(service.settings.database.partition(":///")[2])
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 7")  # a change: whoever looked in between remembers whole pages else
    _until(lambda: _says(service, 503, "down", store="damaged"))
    assert service.client.get("/api/runs").status_code == 503
    assert [each for each in caplog.records if each.exc_info] == []


def test_a_store_that_hangs_makes_nobody_wait(service: Service) -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    service.store_access.store.ping = hang  # type: ignore[method-assign]
    _change(service, stale=0.2)
    slowest = 0.0
    deadline = time.monotonic() + 60
    while not _says(service, 503, "down", store="has not answered"):
        began = time.monotonic()
        _health(service)
        slowest = max(slowest, time.monotonic() - began)
        assert time.monotonic() < deadline
    assert slowest < 1.9, "a look waits for 2 s"
    del service.store_access.store.ping


def test_an_engine_that_is_away_is_degraded_and_then_down(service: Service) -> None:
    _change(service, outage=1e9)
    service.engine.up = False
    assert _says(service, 200, "degraded", engine="it is being restarted")
    _change(service, outage=0.1)
    _until(lambda: _says(service, 503, "down", engine="it is being restarted"))
    service.engine.up = True
    _until(lambda: _says(service, 200, "ok"))


def test_an_engine_that_hangs_is_down(service: Service) -> None:
    told = service.engine.status()
    service.engine.status = lambda: told  # type: ignore[method-assign]
    assert _says(service, 200, "ok")
    _change(service, silent=0.2)
    _until(lambda: _says(service, 503, "down", engine="it has said nothing"))


def test_an_engine_that_dies_again_and_again_is_down(service: Service) -> None:
    watch = service.app.state.services.watch

    def die() -> None:
        for up in (False, True):
            service.engine.up = up
            service.run(watch._look)

    die()
    die()
    assert _says(service, 200, "ok")
    die()
    assert _says(service, 503, "down", engine="again and again")


@pytest.mark.parametrize("field", ["problem", "available", "state"])
def test_what_the_engine_knows_of_the_store_counts(service: Service, field: str) -> None:
    told = service.engine.status()
    change: dict[str, Any] = {
        "problem": {"store": told["store"] | {"problem": "the disk of the store is full"}},
        "available": {"store": told["store"] | {"available": False}},
        "state": {"state": "waiting_for_store"},
    }[field]
    service.engine.status = lambda: told | change  # type: ignore[method-assign]
    expected = "the disk of the store is full" if field == "problem" else "the engine waits for the store"
    assert _says(service, 503, "down", store=expected)


def test_a_race_that_failed_is_down_at_once(service: Service) -> None:
    service.engine.state = "failed"
    assert _says(service, 503, "down", engine="the race cannot go on")


def test_a_race_that_nobody_owns_is_down(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    _change(service, outage=1e9)
    service.engine.owner = False
    assert _says(service, 200, "ok"), "for a moment"
    _change(service, outage=0.1)
    _until(lambda: _says(service, 503, "down", engine="nobody owns the race"))
    time.sleep(0.1)
    assert len([each for each in caplog.records if "nobody owns the race" in each.getMessage()]) == 1
    service.engine.state = "following"  # somebody holds the lease, and without Redis nothing more is known
    _until(lambda: _says(service, 200, "ok"))


def test_a_follower_that_hears_no_owner_is_down(redis_url: str, new_service: NewService) -> None:
    owner, follower = new_service(redis_url=redis_url), new_service(redis_url=redis_url)
    follower.engine.state, follower.engine.owner = "following", False
    _until(lambda: follower.app.state.services.leader.owner_is_known)
    _until(lambda: _says(follower, 200, "ok"))
    owner.engine.owner = False
    _until(lambda: _says(follower, 503, "down", engine="nobody owns the race"))


def test_a_store_that_comes_late_is_opened_when_it_is_there(
    new_service: NewService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def wait(self: FakeEngine) -> None:  # this engine does not need the store to start or end
        self.state = "starting"

    monkeypatch.setattr(FakeEngine, "open", wait)
    monkeypatch.setattr(FakeEngine, "close", wait)
    there = False

    async def opener() -> Store:
        if not there:
            raise StoreUnavailableError("the store db.internal:5432 does not answer")
        return await open_store(f"sqlite+aiosqlite:///{tmp_path}/late.db")

    service = new_service(opener)
    assert _health(service)[0] == 503
    assert service.client.get("/api/runs").json()["error"]["code"] == "store_unavailable"
    assert service.client.get("/api/status").status_code == 200
    there = True
    _until(lambda: service.client.get("/api/runs").status_code == 200)
    _until(lambda: _says(service, 200, "ok"))
