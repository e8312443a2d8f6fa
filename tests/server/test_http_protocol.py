"""What raw connections may cost: bytes, time, places. Over a real port, because that is where it happens."""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPResponse, parse_headers
from pathlib import Path
from typing import Any

import pytest
from real_server import RealServer

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server.http_protocol import BODY_SECONDS, HEADER_SECONDS, IDLE_SECONDS, MOST_HEADER_BYTES, Phase
from hybrid_scheduler.server.security import SECURITY_HEADERS
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts

HOST = b"Host: 127.0.0.1\r\n"
HEALTH = b"GET /api/health HTTP/1.1\r\n" + HOST + b"\r\n"
STATUS = b"GET /api/status HTTP/1.1\r\n" + HOST + b"\r\n"
HALF_A_BODY = b"POST /api/tasks HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
UPGRADE = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
KEY = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"


@pytest.fixture
def server(service_settings: dict[str, Any]) -> Iterator[RealServer]:
    with RealServer(ServiceSettings(**service_settings)) as running:
        yield running


def _connect(server: RealServer, data: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", server.port), 10)
    made.sendall(data)
    return made


def _answer(connection: socket.socket) -> tuple[int, Any, HTTPResponse]:
    answer = HTTPResponse(connection)
    answer.begin()
    text = answer.read()
    return answer.status, json.loads(text) if text else None, answer


def _refused(connection: socket.socket, status: int, code: str) -> None:
    """An error in the documented shape, with the headers all answers have, after which the connection ends."""
    found, body, answer = _answer(connection)
    assert (found, body["error"]["code"]) == (status, code), body
    assert set(body["error"]) == {"code", "message", "details"}
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Connection"] == "close"
    assert {key: answer.headers[key] for key in SECURITY_HEADERS} == dict(SECURITY_HEADERS)
    assert _is_over(connection)


def _is_over(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- bytes


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * MOST_HEADER_BYTES,
        b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * MOST_HEADER_BYTES + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 1000) for i in range(70)) + b"\r\n",
        b"GET /" + b"a" * MOST_HEADER_BYTES,
    ],
    ids=["one header", "complete", "many headers", "address"],
)
def test_more_headers_than_allowed_are_431(server: RealServer, head: bytes) -> None:
    with _connect(server, head) as connection:
        _refused(connection, 431, "headers_too_large")
    _until(lambda: len(server.connections) == 0)


@pytest.mark.parametrize("piece", [b"0\r\nX: ", b"1;"], ids=["trailer", "chunk extension"])
def test_neither_is_there_more_behind_them(server: RealServer, piece: bytes) -> None:
    head = HALF_A_BODY.replace(b"Content-Length: 90\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n")
    with _connect(server, head) as connection:
        _until(lambda: len(server.tasks) == 1)
        connection.sendall(piece + b"a" * 70_000)
        _refused(connection, 431, "headers_too_large")


def test_headers_just_below_the_limit_are_fine(server: RealServer) -> None:
    with _connect(server, STATUS[:-2] + b"X: " + b"a" * (MOST_HEADER_BYTES - 200) + b"\r\n\r\n") as connection:
        assert _answer(connection)[0] == 200


def _resident_megabytes() -> float:
    return int(Path(f"/proc/{os.getpid()}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


def test_endless_headers_take_no_room(server: RealServer) -> None:
    chunk, before = b"a" * 100_000, _resident_megabytes()
    for _ in range(5):
        with _connect(server, b"GET / HTTP/1.1\r\nX: ") as connection, suppress(ConnectionError):
            for _ in range(200):
                connection.sendall(chunk)
    assert _resident_megabytes() - before < 40, "of a hundred"


def test_trailers_are_no_headers(server: RealServer) -> None:
    """They come when the call is being answered; as headers they could pass for a token, or for a host."""
    body = json.dumps({"size": 900, "compute_intensity": 0.5, "memory_required": 1}).encode()
    head = HALF_A_BODY.replace(b"Content-Length: 90\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n")
    with _connect(server, head + b"%x\r\n%s\r\n0\r\nHost: evil.example\r\n\r\n" % (len(body), body)) as connection:
        assert _answer(connection)[0] == 201


def test_pipelining_is_answered_in_order_and_bounded(server: RealServer) -> None:
    with _connect(server, STATUS * 5) as connection, connection.makefile("rb") as answers:
        for _ in range(5):  # from one buffer: several answers may come in one piece
            assert answers.readline().startswith(b"HTTP/1.1 200")
            answers.read(int(parse_headers(answers)["Content-Length"]))
    with _connect(server, STATUS * 5000) as connection, suppress(ConnectionResetError):
        while connection.recv(1 << 16):
            pass
    _until(lambda: len(server.connections) == 0)
    assert "pipelining" in server.metrics()


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01", b"HELLO\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nX\r\n\r\n"],
    ids=["TLS", "word", "version", "header"],
)
def test_what_is_no_http_is_told_so_in_the_one_shape(server: RealServer, garbage: bytes) -> None:
    with _connect(server, garbage) as connection:
        _refused(connection, 400, "malformed_http")
    assert 'hms_connections_refused_total{reason="malformed"} 1.0' in server.metrics()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + b"\r\n", 400),
        (b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + KEY.replace(b"A", b"?") + b"\r\n", 400),
        (b"POST /ws HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"\r\n", 405),
        (b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"X: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"X: a\r\n" * 200 + b"\r\n", 431),
        (b"GET /ws?" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"\r\n", 414),
    ],
    ids=["no key", "bad key", "method", "long header", "many headers", "long address"],
)
def test_a_broken_handshake_is_refused_in_the_one_shape(server: RealServer, head: bytes, status: int) -> None:
    with _connect(server, head) as connection:
        found, body, answer = _answer(connection)
        assert (found, set(body)) == (status, {"error"})
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert _is_over(connection)
    _until(lambda: len(server.connections) == 0)


# --- time


def test_headers_that_do_not_come_are_not_waited_for(server: RealServer) -> None:
    with _connect(server, STATUS[:-2]) as half, _connect(server) as silent:
        _until(lambda: len(server.connections) == 2)
        server.let_pass(HEADER_SECONDS - 1)
        assert len(server.connections) == 2
        server.let_pass(HEADER_SECONDS + 1)
        _refused(half, 408, "request_timeout")
        assert _is_over(silent)
    said = server.metrics()
    assert 'hms_connections_refused_total{reason="header_timeout"} 1.0' in said
    assert 'hms_connections_refused_total{reason="silent"} 1.0' in said


def test_a_body_that_does_not_come_is_not_waited_for(server: RealServer) -> None:
    with _connect(server, HALF_A_BODY) as half:
        _until(lambda: len(server.connections) == 1)
        server.let_pass(HEADER_SECONDS + 1)
        server.let_pass(BODY_SECONDS + 1)
        _refused(half, 408, "request_timeout")
    _until(lambda: len(server.tasks) == 0)
    assert server.service.engine.commands == []


def test_a_call_that_is_answered_while_its_body_comes_ends_too(server: RealServer) -> None:
    with _connect(server, HALF_A_BODY.replace(b"/api/tasks", b"/api/pause")) as half:
        assert _answer(half)[0] == 200
        half.sendall(b" ")
        server.let_pass(BODY_SECONDS + 1)
        assert _is_over(half)


def test_between_two_calls_there_is_a_minute(server: RealServer) -> None:
    with _connect(server, STATUS) as connection:
        assert _answer(connection)[0] == 200
        server.let_pass(IDLE_SECONDS - 1)
        connection.sendall(STATUS)
        assert _answer(connection)[0] == 200
        connection.sendall(b"\r\n")  # a new line is no call, and no reason to wait any longer than for one
        _until(lambda: server.open_connections[0]._phase is Phase.HEADERS)
        server.let_pass(HEADER_SECONDS + 1)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 408")


def test_an_answer_that_nobody_reads_is_not_kept(server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.service.app.state.metrics, "text", lambda: b"x" * 20_000_000)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(b"GET /api/metrics HTTP/1.1\r\n" + HOST + b"\r\n")
        _until(lambda: any(each.flow.write_paused for each in server.open_connections))
        server.let_pass(31)
        _until(lambda: len(server.connections) == 0)


def test_the_end_does_not_wait_for_bodies(service_settings: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack, RealServer(ServiceSettings(**service_settings)) as server:
        halves = [stack.enter_context(closing(_connect(server, HALF_A_BODY))) for _ in range(20)]
        _until(lambda: len(server.tasks) == 20)
        began = time.monotonic()
        server.end()
        assert time.monotonic() - began < DEFAULT_TIMEOUTS.shutdown
        for half in halves:
            _refused(half, 503, "ending")
    assert [each.getMessage() for each in caplog.records if each.exc_info or each.levelname == "ERROR"] == []


def test_calls_that_are_not_done_at_the_end_are_one_line(
    service_settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with RealServer(ServiceSettings(**service_settings), Timeouts(shutdown=0.3)) as server:
        server.service.engine.delay = 60.0
        with _connect(server, b"POST /api/pause HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n") as slow:
            _until(lambda: bool(server.service.engine.commands))
            server.end()
            _refused_at_the_end = _answer(slow)
    assert (_refused_at_the_end[0], _refused_at_the_end[1]["error"]["code"]) == (503, "ending")
    assert [each.getMessage() for each in caplog.records if each.exc_info] == []


# --- places


@pytest.fixture
def small(service_settings: dict[str, Any]) -> Iterator[RealServer]:
    with RealServer(ServiceSettings(**service_settings, max_connections=5)) as running:
        yield running


@pytest.mark.parametrize("data", [b"", STATUS[:-2], HALF_A_BODY], ids=["nothing", "half a header", "half a body"])
def test_connections_that_do_not_come_to_the_point_keep_nobody_out(small: RealServer, data: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(_connect(small, data)))
        for request in (HEALTH, STATUS):
            with _connect(small, request) as connection:
                assert _answer(connection)[0] == 200
        _until(lambda: len(small.connections) <= 5 + 16)
    assert 'hms_connections_refused_total{reason="no_room"} 0.0' not in small.metrics()


def test_when_all_places_are_taken_health_still_answers(small: RealServer) -> None:
    handshake = b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"\r\n"
    with ExitStack() as stack:
        for _ in range(5):
            watcher = stack.enter_context(closing(_connect(small, handshake)))
            assert watcher.recv(1000).startswith(b"HTTP/1.1 101")
        for _ in range(60):
            stack.enter_context(closing(_connect(small)))
        with _connect(small, STATUS) as connection:
            _refused(connection, 503, "too_many_connections")
        with _connect(small, handshake) as connection:
            _refused(connection, 503, "too_many_connections")
        for _ in range(20):
            with _connect(small, HEALTH) as connection:
                assert _answer(connection)[0] == 200


def test_who_leaves_at_once_leaves_nothing_behind(server: RealServer, caplog: pytest.LogCaptureFixture) -> None:
    for data in (b"", HEALTH, STATUS, HALF_A_BODY, b"GET /ws HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"\r\n") * 40:
        connection = _connect(server, data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    with _connect(server, STATUS) as connection:
        assert _answer(connection)[0] == 200
    _until(lambda: len(server.connections) == 0 and not server.tasks and not server.open_connections)
    assert server.service.app.state.services.feed.clients == 0
    assert [each.getMessage() for each in caplog.records if each.exc_info or each.levelname == "ERROR"] == []


def test_one_address_has_a_limit_of_its_own_when_that_is_set(service_settings: dict[str, Any]) -> None:
    with (
        RealServer(ServiceSettings(**service_settings, max_connections_per_address=2)) as server,
        _connect(server),
        _connect(server),
    ):
        _until(lambda: len(server.connections) == 2)
        with _connect(server, STATUS) as third:
            _refused(third, 429, "too_many_connections")
        _until(lambda: len(server.connections) == 2)


def test_a_trusted_proxy_has_no_such_limit(service_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "127.0.0.1")
    with RealServer(ServiceSettings(**service_settings, max_connections_per_address=1)) as server, ExitStack() as stack:
        for _ in range(4):
            connection = stack.enter_context(closing(_connect(server, STATUS)))
            assert _answer(connection)[0] == 200


def test_hosts_and_addresses_of_a_proxy_count_only_when_it_is_trusted(
    service_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ServiceSettings(**(service_settings | {"allowed_hosts": "lab.example", "rate_limit": "1/minute"}))
    evil = STATUS[:-2] + b"X-Forwarded-Host: lab.example, evil.example\r\n\r\n"
    good = STATUS.replace(b"127.0.0.1", b"upstream.internal")[:-2] + b"X-Forwarded-Host: evil, lab.example\r\n"
    clients = [good + b"X-Forwarded-For: 10.0.0.%d\r\n\r\n" % number for number in (1, 1, 2)]
    for trusted, expected in (("127.0.0.1", [421, 200, 429, 200]), ("10.0.0.0/8", [200, 421, 421, 421])):
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
        with RealServer(settings) as server:
            found = []
            for request in (evil, *clients):
                with _connect(server, request) as connection:
                    found.append(_answer(connection)[0])
            assert found == expected, trusted
