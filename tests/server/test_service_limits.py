"""How often a client may call."""

from __future__ import annotations

import pytest
from redis_server import RedisServer
from running_service import NewService
from starlette.testclient import WebSocketDenialResponse

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.limits import Limit, Windows


@pytest.mark.parametrize("shared", [False, True])
def test_too_many_calls_are_429_with_retry_after(
    request: pytest.FixtureRequest, shared: bool, new_service: NewService
) -> None:
    redis = {"redis_url": request.getfixturevalue("redis_url")} if shared else {}
    service = new_service(rate_limit="3/minute", write_rate_limit="2/minute", **redis)
    codes = [service.client.get("/api/status").status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    refused = service.client.get("/api/runs")
    assert refused.json()["error"]["code"] == "too_many_requests"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused.headers["X-Frame-Options"] == "DENY"
    # Changing calls have a count of their own, refused ones count too, and the probe is never refused.
    assert [service.client.post("/api/pause").status_code for _ in range(3)] == [200, 200, 429]
    assert service.client.get("/api/health").status_code == 200
    with pytest.raises(WebSocketDenialResponse) as denied, service.client.websocket_connect("/ws"):
        pass
    assert denied.value.status_code == 429
    assert denied.value.headers["Retry-After"]


def test_the_limit_is_over_when_it_says(new_service: NewService) -> None:
    import time

    service = new_service(rate_limit="1/second")
    answers = [service.client.get("/api/status") for _ in range(3)]
    refused = next(answer for answer in answers if answer.status_code == 429)
    time.sleep(int(refused.headers["Retry-After"]))
    assert service.client.get("/api/status").status_code == 200


def test_guessing_tokens_is_limited(new_service: NewService) -> None:
    service = new_service(api_token="secret", write_rate_limit="3/minute")
    guesses = [service.client.post("/api/pause", headers={"Authorization": f"Bearer {i}"}) for i in range(5)]
    assert [each.status_code for each in guesses] == [401, 401, 401, 429, 429]


def test_two_services_on_one_redis_share_the_limit(redis_url: str, new_service: NewService) -> None:
    first, second = (new_service(redis_url=redis_url, rate_limit="4/minute") for _ in range(2))
    codes = [each.client.get("/api/status").status_code for each in (first, second, first, second, first, second)]
    assert codes == [200, 200, 200, 200, 429, 429]


def test_two_services_without_redis_do_not(new_service: NewService) -> None:
    first, second = (new_service(rate_limit="2/minute") for _ in range(2))
    codes = [each.client.get("/api/status").status_code for each in (first, second, first, second, first, second)]
    assert codes == [200, 200, 200, 200, 429, 429]


def test_when_redis_goes_the_process_counts_for_itself(own_redis: RedisServer, new_service: NewService) -> None:
    service = new_service(redis_url=own_redis.url, rate_limit="2/minute")
    assert service.client.get("/api/status").status_code == 200
    own_redis.stop()
    codes = [service.client.get("/api/status").status_code for _ in range(4)]
    assert codes == [200, 200, 429, 429]
    health = service.client.get("/api/health")
    assert (health.status_code, health.json()["status"]) == (200, "degraded")
    assert health.json()["dependencies"]["cache"]["status"] == "down"


@pytest.mark.parametrize("text", ["often", "-1/minute", "5/fortnight", ""])
def test_a_limit_that_is_none_is_refused_at_the_start(new_service: NewService, text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"RATE_LIMIT is .* like 300/minute"):
        new_service(rate_limit=text)


@pytest.mark.parametrize(
    ("text", "calls", "seconds"),
    [
        ("300/minute", 300, 60),
        ("5 per 2 hours", 5, 7200),
        ("1/second", 1, 1),
        ("7/day", 7, 86400),
        ("2/3MINUTES", 2, 180),
    ],
)
def test_limits_are_read(text: str, calls: int, seconds: float) -> None:
    assert Limit.read("RATE_LIMIT", text)[1:] == (calls, seconds)


def test_a_window_begins_with_the_first_call_and_ends_by_a_clock_that_cannot_jump(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    windows = Windows(Limit("RATE_LIMIT", 2, 60), clock=lambda: now)
    assert windows.hit("a") == (1, 60.0)
    now += 20
    monkeypatch.setattr("time.time", lambda: 1e10)
    assert windows.hit("b") == (1, 60.0)
    assert windows.hit("a") == (2, 40.0)
    now += 40
    assert windows.hit("a") == (1, 60.0)
    assert windows.hit("b") == (2, 20.0)
    now += 1000
    windows.hit("c")
    assert list(windows._ends) == ["c"], "what is over is forgotten"


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
@pytest.mark.parametrize("shared", [False, True])
def test_the_time_of_day_may_jump(
    request: pytest.FixtureRequest, shared: bool, jump: float, new_service: NewService, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    redis = {"redis_url": request.getfixturevalue("redis_url")} if shared else {}
    service = new_service(rate_limit="1/minute", **redis)
    assert service.client.get("/api/status").status_code == 200
    really = time.time
    monkeypatch.setattr("time.time", lambda: really() + jump)
    refused = service.client.get("/api/status")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
