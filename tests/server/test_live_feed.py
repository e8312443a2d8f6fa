"""The WebSocket fan-out, over real connections."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from real_server import RealServer
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.server import feed
from hybrid_scheduler.server.timeouts import DEFAULT_TIMEOUTS, Timeouts

PADDING = "x" * 50_000


@pytest.fixture
def server(service_settings: dict[str, Any]) -> Iterator[RealServer]:
    with RealServer(ServiceSettings(**service_settings, max_clients=5)) as running:
        yield running


def _update(number: int, padding: str = "") -> dict[str, Any]:
    return {"type": "simulation_update", "seq": number, "padding": padding}


def _receive(connection: ClientConnection, timeout: float = 5.0) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(connection.recv(timeout))
    return message


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_everybody_gets_every_kind_of_message_as_text(server: RealServer) -> None:
    with connect(server.websocket) as first, connect(server.websocket) as second:
        _until(lambda: server.service.app.state.services.feed.clients == 2)
        server.emit(_update(1))
        server.emit({"type": "log", "time": 1.0, "level": "info", "message": "Task 105 assigned to GPU 3 by rl_agent"})
        server.emit({"type": "notification", "level": "info", "message": "model retrained"})
        for each in (first, second):
            assert isinstance(each.recv(5), str)
            assert [_receive(each)["type"] for _ in range(2)] == ["log", "notification"]


def test_who_comes_gets_the_last_update_at_once(server: RealServer) -> None:
    server.emit(_update(1))
    server.emit(_update(2))
    with connect(server.websocket) as late:
        assert _receive(late)["seq"] == 2


def test_who_comes_gets_the_last_log_lines_as_they_were(server: RealServer) -> None:
    for number in range(feed.KEPT_LINES + 5):
        server.emit({"type": "log", "id": number})
    server.emit(_update(1))
    with connect(server.websocket) as late:
        lines = [_receive(late) for _ in range(feed.KEPT_LINES)]
        assert [line["id"] for line in lines] == list(range(5, feed.KEPT_LINES + 5))
        assert _receive(late)["seq"] == 1
        server.emit({"type": "log", "id": 1000})
        assert _receive(late)["id"] == 1000


def test_what_clients_send_is_ignored_and_a_flood_is_cut_off(server: RealServer) -> None:
    with connect(server.websocket) as rude, connect(server.websocket) as other:
        for garbage in ("{", "", b"\x00\xff", "[" * 1000, json.dumps({"type": "simulation_update"})):
            rude.send(garbage)
        _until(lambda: server.service.app.state.services.feed.clients == 2)
        server.emit(_update(3))
        assert _receive(rude)["seq"] == 3
        rude.send("x" * 20_000)
        with pytest.raises(ConnectionClosed) as closed:
            rude.recv(5)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        assert _receive(other)["seq"] == 3
    _until(lambda: server.service.app.state.services.feed.clients == 0)


def test_more_clients_than_allowed_are_refused(server: RealServer, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as connected:
        for _ in range(5):
            connected.enter_context(connect(server.websocket))
        with pytest.raises(InvalidStatus) as refused, connect(server.websocket):
            pass
        assert refused.value.response.status_code == 503
        assert b"too_many_clients" in (refused.value.response.body or b"")
        assert refused.value.response.headers["X-Content-Type-Options"] == "nosniff"
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == []
    _until(lambda: server.service.app.state.services.feed.clients == 0)
    with connect(server.websocket):
        pass


def _silent_client(server: RealServer) -> socket.socket:
    """A client that shakes hands and then reads nothing."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(("127.0.0.1", server.port))
    raw.sendall(
        b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    return raw


@pytest.fixture
def brisk(service_settings: dict[str, Any]) -> Iterator[RealServer]:
    """A server that asks twice a second whether its clients read, and waits for two seconds."""
    with RealServer(ServiceSettings(**service_settings), Timeouts(ping=0.5, pong=1.5, grace=0.5)) as running:
        yield running


def test_clients_that_never_read_are_cut_although_little_is_sent(
    brisk: RealServer, caplog: pytest.LogCaptureFixture
) -> None:
    """What the system buffers for them would do for minutes. They go together, and while there is something to send."""
    fan_out = brisk.service.app.state.services.feed
    with ExitStack() as connected, connect(brisk.websocket) as reader:
        for _ in range(30):
            connected.enter_context(_silent_client(brisk))
        _until(lambda: fan_out.clients == 31)
        deadline = time.monotonic() + 60
        number = 0
        while fan_out.clients > 1:
            assert time.monotonic() < deadline
            number += 1
            brisk.emit(_update(number, "x" * 10_000))
            assert _receive(reader)["seq"] == number
        _until(lambda: len(brisk.connections) == 1)
    assert 'hms_connections_refused_total{reason="unread"} 30.0' in brisk.metrics()
    assert [each.getMessage() for each in caplog.records if each.exc_info or each.levelname == "ERROR"] == []


def test_the_documented_patience() -> None:
    assert DEFAULT_TIMEOUTS.ping + DEFAULT_TIMEOUTS.pong + DEFAULT_TIMEOUTS.grace == 10.0


def test_a_client_that_reads_nothing_slows_nobody_and_is_cut_off(brisk: RealServer) -> None:
    server = brisk
    fan_out = server.service.app.state.services.feed
    with _silent_client(server), connect(server.websocket, max_size=None) as reader:
        _until(lambda: fan_out.clients == 2)
        slowest, before = 0.0, fan_out.dropped
        for number in range(150):
            sent = time.perf_counter()
            server.emit(_update(number, PADDING))
            assert _receive(reader)["seq"] == number
            slowest = max(slowest, time.perf_counter() - sent)
        assert fan_out.dropped > before
        assert slowest < 1.5, "waiting for the silent one would take longer"
        _until(lambda: fan_out.clients == 1)
        server.emit(_update(999))
        assert _receive(reader)["seq"] == 999
        # The connection is really gone, not only forgotten.
        _until(lambda: len(server._server.server_state.connections) == 1)


def test_a_client_that_was_slow_gets_the_newest_and_is_told_once(server: RealServer) -> None:
    fan_out = server.service.app.state.services.feed
    with connect(server.websocket, max_size=None, max_queue=1) as slow:
        _until(lambda: fan_out.clients == 1)
        for number in range(300):
            server.emit(_update(number, PADDING))
        _until(lambda: fan_out.dropped > 0)
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1].get("seq") != 299:
            seen.append(_receive(slow))
        told = [each["message"] for each in seen if each["type"] == "notification"]
        numbers = [each["seq"] for each in seen if each["type"] == "simulation_update"]
        assert numbers == sorted(numbers)
        assert len(numbers) + fan_out.dropped == 300
        assert len(told) == 1
        assert told[0].startswith("client too slow: ")
        server.emit(_update(300))
        assert _receive(slow)["seq"] == 300


def test_messages_wait_in_a_bounded_queue() -> None:
    client = feed._Client(WebSocket({"type": "websocket"}, None, None))  # type: ignore[arg-type]
    dropped = sum(client.offer_message(f'"{i}"') for i in range(200))
    assert dropped == 200 - feed.MOST_WAITING
    assert client._next() == f'"{dropped}"'


def test_the_server_ends_with_clients_connected_even_stuck_ones(service_settings: dict[str, Any]) -> None:
    running = RealServer(ServiceSettings(**service_settings))
    with running as server, _silent_client(server) as stuck, connect(server.websocket, max_size=None) as reader:
        _until(lambda: server.service.app.state.services.feed.clients == 2)
        for number in range(100):
            server.emit(_update(number, PADDING))
        began = time.monotonic()
        running.end()
        assert time.monotonic() - began < DEFAULT_TIMEOUTS.shutdown
        assert server.service.engine.closed
        assert stuck.fileno() >= 0
        with pytest.raises(ConnectionClosed):
            _read_on(reader)


def _read_on(connection: ClientConnection) -> None:
    while True:
        connection.recv(5)


def test_what_comes_together_is_sent_together_and_in_order(server: RealServer) -> None:
    with connect(server.websocket) as reader:
        _until(lambda: server.service.app.state.services.feed.clients == 1)
        emit = server.service.engine.emit
        server.call(lambda: list(map(emit, ({"type": "log", "number": each} for each in range(50)))))
        assert [_receive(reader)["number"] for _ in range(50)] == list(range(50))
