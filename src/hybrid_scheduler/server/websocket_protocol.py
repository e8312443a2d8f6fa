"""Uvicorn's WebSocket, less its patience with clients that have stopped reading."""

from __future__ import annotations

import asyncio

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from hybrid_scheduler.server.feed import ABORT

GOODBYE_SECONDS = 1.0
"""How long a connection that is being closed may take to read what was sent before."""
MOST_UNSENT = 256 * 1024
"""Bytes that wait in this process for one client before sending to it waits."""


class FeedProtocol(WebSocketsSansIOProtocol):
    """Closing a connection waits for everything unsent to be read, which a stuck client never does; here it ends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bound what is kept for a client."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=MOST_UNSENT)

    def handle_connect(self, event: Request) -> None:
        """Offer the application a way to cut the connection."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            self.scope["extensions"][ABORT] = {"call": self.transport.abort}

    async def send(self, message: ASGISendEvent) -> None:
        """A handshake that was refused with an answer is complete, too; Uvicorn would log it as a mistake."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        """No answer to a ping: the client is not there."""
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        """The server ends."""
        super().shutdown()
        self.loop.call_later(GOODBYE_SECONDS, self.transport.abort)
