"""Uvicorn's WebSocket, with a time limit for clients that have stopped reading."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import StatusLike

from hybrid_scheduler.server.connections import ServerConfig
from hybrid_scheduler.server.feed import FRAMES
from hybrid_scheduler.server.raw_answers import refusal

GOODBYE_SECONDS = 1.0
"""How long a connection that is being closed may take to read what was sent before."""
MOST_UNSENT = 64 * 1024
"""Bytes that wait in this process for one client before it counts as slow, and as much again in the system's buffer:
with more, the ping would wait behind messages that a slow client cannot read in time."""


class FeedProtocol(WebSocketsSansIOProtocol):
    """Closing a connection waits for everything unsent to be read, which a stuck client never does; here it ends."""

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        super().__init__(config, server_state, app_state)
        assert isinstance(config, ServerConfig)
        self._connections, self._grace = config.connections, config.grace
        self._patient = True
        self.conn = _Handshake(max_size=config.ws_max_size)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bound what is kept for a client."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=MOST_UNSENT)
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNSENT)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place up."""
        super().connection_lost(exc)
        self._connections.leave(self.transport)

    def data_received(self, data: bytes) -> None:
        """The first data is the whole handshake; when it was refused where it was parsed, Uvicorn would say nothing."""
        super().data_received(data)
        if not self.handshake_initiated:
            self._connections.refusals.add("malformed")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_connect(self, event: Request) -> None:
        """Offer the application a short way for what many clients get."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            self.scope["extensions"][FRAMES] = {"send": self.send_frames}
        else:
            self._connections.refusals.add("malformed")

    def send_frames(self, frames: bytes) -> bool:
        """Send whole frames at once; False when the client is not ready for them."""
        if not self.writable.is_set() or self._gone:
            return False
        self.transport.write(frames)
        return True

    async def send(self, message: ASGISendEvent) -> None:
        """Two things that Uvicorn would log as mistakes: a client that has just been cut, and a refused handshake."""
        await self.writable.wait()
        if message["type"] == "websocket.send" and self._gone:
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def send_keepalive_ping(self) -> None:
        """Ask whether it reads."""
        self._patient = True
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """No answer to a ping: the client is not there, or reads nothing."""
        if self._patient:
            self._patient = False
            self.pong_timer = self.loop.call_later(self._grace, self.keepalive_timeout)
            return
        self._connections.refusals.add("unread")
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        """The server ends."""
        if not self.transport.is_closing():
            super().shutdown()
            self.loop.call_later(GOODBYE_SECONDS, self.transport.abort)

    @property
    def _gone(self) -> bool:
        return self.close_sent or self.transport.is_closing()


class _Handshake(ServerProtocol):
    """Refuses in the one shape of errors."""

    def reject(self, status: StatusLike, text: str) -> Response:
        plain = super().reject(status, text)
        answer = refusal(plain.status_code, " ".join(text.split()))
        headers = Headers((name.decode(), value.decode()) for name, value in answer.raw_headers)
        return Response(plain.status_code, plain.reason_phrase, headers, bytes(answer.body))
