"""Token, origins, headers."""

from __future__ import annotations

import socket

import pytest
from running_service import TOKEN, NewService, Service
from starlette.testclient import WebSocketDenialResponse

from hybrid_scheduler.server.security import READING, SECURITY_HEADERS

BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def guarded(new_service: NewService) -> Service:
    return new_service(api_token=TOKEN)


def _changing(service: Service) -> list[tuple[str, str]]:
    """Every operation of the API that is not plainly reading."""
    paths = service.app.openapi()["paths"]
    named = {path.replace("{name}", "greedy"): each for path, each in paths.items()}
    return [(m.upper(), path) for path, each in named.items() for m in each if m.upper() not in READING]


def test_every_call_that_changes_something_needs_the_token(guarded: Service) -> None:
    changing = _changing(guarded)
    assert len(changing) == 12
    for method, path in changing:
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": TOKEN},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": f"Bearer {TOKEN}x"},
            {"Authorization": "Bearer ü".encode("latin-1")},
        ):
            answer = guarded.client.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), (method, path)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            assert TOKEN not in answer.text
    assert guarded.engine.commands == []
    for method, path in changing:
        answer = guarded.client.request(method, path, headers=BEARER, json={})
        assert answer.status_code in (200, 422), (method, path)
    assert len(guarded.engine.commands) == 9  # an empty body is no task


def test_the_token_is_asked_for_before_the_body_is_read(guarded: Service) -> None:
    assert guarded.client.post("/api/tasks", content=b"{").status_code == 401


def test_a_token_in_the_address_is_for_the_websocket_only(guarded: Service) -> None:
    assert guarded.client.post(f"/api/pause?token={TOKEN}").status_code == 401


def test_reading_needs_no_token(guarded: Service) -> None:
    for path in ("/api/status", "/api/health", "/api/runs", "/api/metrics", "/"):
        assert guarded.client.get(path).status_code == 200
    assert guarded.client.get("/api/status").json()["token_required"]


def test_the_description_declares_the_token_only_when_there_is_one(guarded: Service, service: Service) -> None:
    document = guarded.app.openapi()
    assert document["paths"]["/api/tasks"]["post"]["security"]
    assert "security" not in document["paths"]["/api/status"]["get"]
    assert "security" not in service.app.openapi()["paths"]["/api/tasks"]["post"]


@pytest.mark.parametrize(
    ("address", "headers", "welcome"),
    [
        ("/ws", {}, False),
        ("/ws?token=wrong", {}, False),
        ("/ws", {"Authorization": "Bearer wrong"}, False),
        (f"/ws?token={TOKEN}", {}, True),
        ("/ws", BEARER, True),
    ],
)
def test_the_websocket_needs_the_token_too(
    guarded: Service, address: str, headers: dict[str, str], welcome: bool
) -> None:
    if welcome:
        with guarded.client.websocket_connect(address, headers=headers) as socket:
            guarded.emit({"type": "log", "message": "hello"})
            assert socket.receive_json()["message"] == "hello"
        return
    with pytest.raises(WebSocketDenialResponse) as refused, guarded.client.websocket_connect(address, headers=headers):
        pass
    assert refused.value.status_code == 401
    assert refused.value.json()["error"]["code"] == "unauthorized"
    assert refused.value.headers["X-Content-Type-Options"] == "nosniff"


ORIGINS = [
    ("http://127.0.0.1:8000", True),
    ("HTTP://127.0.0.1:8000", True),
    ("https://friend.example", True),
    ("https://friend.example:8443", False),
    ("http://127.0.0.1:9000", False),
    ("http://evil.example", False),
    ("http://127.0.0.1:8000.evil.example", False),
    ("null", False),
    ("http://[", False),
    ("", False),
]


@pytest.mark.parametrize(("origin", "welcome"), ORIGINS)
def test_pages_of_other_sites_change_nothing(new_service: NewService, origin: str, welcome: bool) -> None:
    service = new_service(allowed_origins="https://friend.example, https://other.example")
    answer = service.client.post("/api/pause", headers={"Origin": origin})
    assert answer.status_code == (200 if welcome else 403)
    assert bool(service.engine.commands) == welcome
    assert service.client.get("/api/status", headers={"Origin": origin}).status_code == 200


@pytest.mark.parametrize(("origin", "welcome"), ORIGINS)
def test_pages_of_other_sites_do_not_get_the_live_feed(new_service: NewService, origin: str, welcome: bool) -> None:
    service = new_service(allowed_origins="https://friend.example")
    if welcome:
        with service.client.websocket_connect("ws://127.0.0.1:8000/ws", headers={"Origin": origin}):
            return
    with (
        pytest.raises(WebSocketDenialResponse) as refused,
        service.client.websocket_connect("ws://127.0.0.1:8000/ws", headers={"Origin": origin}),
    ):
        pass
    assert (refused.value.status_code, refused.value.json()["error"]["code"]) == (403, "origin_not_allowed")


HOSTS = [
    ("127.0.0.1:8000", True),
    ("192.168.1.7", True),
    ("[::1]:8000", True),
    ("[2001:db8::1]", True),
    ("localhost:8000", True),
    ("LocalHost.", True),
    ("race.localhost", True),
    (socket.gethostname(), True),
    ("lab.example:8443", True),
    ("deep.inside.wide.example", True),
    ("friend.example", True),
    ("evil.example:8000", False),
    ("wide.example", False),
    ("evilwide.example", False),
    ("lab.example.evil.example", False),
    ("127.0.0.1.evil.example", False),
    ("2130706433", False),
    ("", False),
]


@pytest.mark.parametrize(("host", "welcome"), HOSTS)
def test_a_foreign_name_for_this_machine_reads_nothing_and_changes_nothing(
    new_service: NewService, host: str, welcome: bool
) -> None:
    """DNS rebinding: the page and the service have the same host name, and it resolves to this machine."""
    service = new_service(allowed_hosts="lab.example, *.wide.example", allowed_origins="https://friend.example")
    headers = {"Host": host, "Origin": f"http://{host}"}
    found = [service.client.get(path, headers=headers) for path in ("/", "/api/status", "/api/health", "/api/runs")]
    found.append(service.client.post("/api/pause", headers=headers))
    if welcome:
        assert {each.status_code for each in found} == {200}
        with service.client.websocket_connect("ws://127.0.0.1:8000/ws", headers=headers):
            return
    for answer in found:
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_allowed")
        assert "ALLOWED_HOSTS" in answer.json()["error"]["message"]
    with (
        pytest.raises(WebSocketDenialResponse) as refused,
        service.client.websocket_connect("ws://127.0.0.1:8000/ws", headers=headers),
    ):
        pass
    assert refused.value.status_code == 421
    assert service.engine.commands == []


def test_any_name_will_do_when_that_is_asked_for(new_service: NewService) -> None:
    service = new_service(allowed_hosts="*")
    assert service.client.get("/api/status", headers={"Host": "whatever.example"}).status_code == 200


def test_two_hosts_are_both_looked_at(service: Service) -> None:
    headers = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert service.client.get("/api/status", headers=headers).status_code == 421


def test_security_headers_are_on_every_answer(service: Service) -> None:
    for method, path in (("GET", "/"), ("GET", "/api/status"), ("POST", "/api/pause"), ("GET", "/api/metrics")):
        answer = service.client.request(method, path)
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name] == value, path
    assert service.client.get("/api/status").headers["Cache-Control"] == "no-store"
    assert "server" not in service.client.get("/").headers


def test_the_policy_fits_a_built_dashboard_and_nothing_else() -> None:
    policy = dict(each.split(" ", 1) for each in SECURITY_HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self' 'unsafe-inline'"
    assert policy["connect-src"] == "'self' ws: wss:"
    assert policy["img-src"] == "'self' data: blob:"
    assert policy["frame-ancestors"] == "'none'"


def test_cors_is_for_the_origins_that_were_allowed(new_service: NewService) -> None:
    service = new_service(allowed_origins="https://friend.example")
    ask = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization,content-type"}
    friend = service.client.options("/api/simulation/settings", headers={"Origin": "https://friend.example", **ask})
    assert friend.status_code == 200
    assert friend.headers["Access-Control-Allow-Origin"] == "https://friend.example"
    assert friend.headers["X-Frame-Options"] == "DENY"
    stranger = service.client.options("/api/simulation/settings", headers={"Origin": "https://evil.example", **ask})
    assert "Access-Control-Allow-Origin" not in stranger.headers
    answer = service.client.get("/api/status", headers={"Origin": "https://friend.example"})
    assert answer.headers["Access-Control-Allow-Origin"] == "https://friend.example"


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-1.2_3", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ("é", False)]
)
def test_request_ids_are_kept_when_they_are_harmless(service: Service, given: str, kept: bool) -> None:
    answer = service.client.get("/api/status", headers={"X-Request-ID": given.encode("latin-1")})
    assert (answer.headers["X-Request-ID"] == given) == kept
    assert answer.headers["X-Request-ID"].isascii()
