"""Several server processes, one live race: here two applications on one Redis."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from redis_server import RedisServer
from running_service import NewService, Service

from hybrid_scheduler.server.link_messages import CHANNEL
from hybrid_scheduler.server.timeouts import Timeouts


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _pair(new_service: NewService, url: str | None) -> tuple[Service, Service]:
    """The process that owns the engine, and one that follows."""
    owner, follower = new_service(redis_url=url), new_service(redis_url=url)
    follower.engine.state, follower.engine.owner = "following", False
    return owner, follower


def _tasks(service: Service) -> int:
    found: int = service.client.get("/api/status").json()["tasks_processed"]
    return found


@pytest.fixture
def pair(redis_url: str, new_service: NewService) -> tuple[Service, Service]:
    return _pair(new_service, redis_url)


def _connected(owner: Service, follower: Service) -> None:
    """Wait until the follower hears the owner: it then has its status."""
    _until(lambda: follower.client.get("/api/status").json()["state"] == owner.engine.state)


def test_clients_of_every_process_get_the_live_feed(pair: tuple[Service, Service]) -> None:
    owner, follower = pair
    _connected(owner, follower)
    with owner.client.websocket_connect("/ws") as first, follower.client.websocket_connect("/ws") as second:
        owner.emit({"type": "simulation_update", "seq": 1})
        owner.emit({"type": "log", "message": "hello"})
        for socket in (first, second):
            assert {socket.receive_json()["type"] for _ in range(2)} == {"simulation_update", "log"}
    # Once each: the owner does not hear its own voice.
    assert owner.client.get("/api/status").json()["feed"]["frames"] == 2
    assert follower.client.get("/api/status").json()["feed"]["frames"] == 2


def test_a_follower_says_what_the_owner_says(pair: tuple[Service, Service]) -> None:
    owner, follower = pair
    owner.engine.settings["speed"] = 123.0
    _until(lambda: (follower.client.get("/api/status").json()["settings"] or {}).get("speed") == 123.0)
    status = follower.client.get("/api/status").json()
    assert status["state"] == "running"
    assert not status["owner"]
    assert owner.client.get("/api/status").json()["owner"]
    racing = {each["name"] for each in follower.client.get("/api/schedulers").json() if each["in_race"]}
    assert racing == {"greedy", "oracle"}


def test_a_follower_passes_commands_on(pair: tuple[Service, Service]) -> None:
    owner, follower = pair
    _connected(owner, follower)
    assert follower.client.post("/api/pause").json()["state"] == "paused"
    assert owner.engine.state == "paused"
    body = {"size": 1.0, "compute_intensity": 0.5, "memory_required": 2.0}
    answer = follower.client.post("/api/tasks", json=body)
    assert answer.status_code == 201
    assert owner.engine.commands[-1] == ("submit", {**body, "kind": None, "dependencies": []})
    assert follower.engine.commands == []


def test_a_follower_passes_errors_back(pair: tuple[Service, Service]) -> None:
    owner, follower = pair
    _connected(owner, follower)
    answer = follower.client.patch("/api/simulation/settings", json={"preset": "mixd"})
    assert answer.status_code == 422
    assert "did you mean 'mixed'" in answer.json()["error"]["message"]
    owner.engine.state = "starting"
    answer = follower.client.post("/api/pause")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_unavailable")


def test_an_owner_that_is_silent_is_503(pair: tuple[Service, Service]) -> None:
    owner, follower = pair
    leader = follower.app.state.services.leader
    leader.timeouts = Timeouts(command=0.3)
    _connected(owner, follower)
    owner.engine.delay = 1.0
    answer = follower.client.post("/api/pause")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "owner_silent")
    owner.engine.delay = 0.0
    leader.timeouts = Timeouts()
    assert follower.client.post("/api/resume").status_code == 200


def test_without_redis_a_follower_cannot_command(new_service: NewService) -> None:
    _, follower = _pair(new_service, None)
    answer = follower.client.post("/api/simulation/stop")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_owner")
    assert "REDIS_URL" in answer.json()["error"]["message"]
    assert follower.client.get("/api/status").json()["state"] == "following"


def test_redis_may_go_and_come_back(own_redis: RedisServer, new_service: NewService) -> None:
    owner, follower = _pair(new_service, own_redis.url)
    _connected(owner, follower)

    def health(service: Service) -> Any:
        return service.client.get("/api/health").json()["status"]

    own_redis.stop()
    _until(lambda: health(owner) == health(follower) == "degraded")
    with owner.client.websocket_connect("/ws") as socket:
        owner.emit({"type": "log", "message": "still here"})
        assert socket.receive_json()["message"] == "still here"
    assert owner.client.post("/api/pause").status_code == 200
    assert follower.client.post("/api/resume").json()["error"]["code"] == "not_owner"
    assert 'hms_dependency_up{name="cache"} 0.0' in owner.client.get("/api/metrics").text

    own_redis.start()
    _until(lambda: health(owner) == health(follower) == "ok")
    _connected(owner, follower)
    with follower.client.websocket_connect("/ws") as socket:

        def heard() -> bool:
            owner.emit({"type": "log", "message": "back"})
            return int(follower.client.get("/api/status").json()["feed"]["frames"]) > 0

        _until(heard)
        assert socket.receive_json()["message"] == "back"
    assert follower.client.post("/api/resume").json()["state"] == "running"


def test_a_service_starts_without_the_redis_it_was_given(new_service: NewService, tmp_path: Any) -> None:
    service = new_service(redis_url=f"unix://{tmp_path}/nowhere.sock")
    assert service.client.get("/api/health").json()["status"] == "degraded"
    assert service.client.post("/api/pause").status_code == 200


NOISE = (
    b"",
    b"{",
    b"[]",
    b'{"kind": "frame", "sender": "x", "text": "not json"}',
    b'{"kind": "frame", "sender": "x", "text": "[]"}',
    b'{"kind": "frame", "sender": "x", "text": 5}',
    b'{"kind": "status", "sender": "x", "status": {}}',
    b'{"kind": "command", "sender": "x", "number": "1", "name": "explode", "arguments": {}}',
    b'{"kind": "answer", "sender": "x", "number": "unknown", "result": {}}',
    b'{"kind": "answer"}',
    b'{"kind": "gossip"}',
)


def test_strangers_on_the_channel_do_no_harm(redis_url: str, pair: tuple[Service, Service]) -> None:
    import redis

    owner, follower = pair
    _connected(owner, follower)
    with redis.Redis.from_url(redis_url) as client:
        for noise in NOISE:
            client.publish(CHANNEL, noise)
    time.sleep(0.2)
    _connected(owner, follower)
    assert follower.client.post("/api/pause").json()["state"] == "paused"
