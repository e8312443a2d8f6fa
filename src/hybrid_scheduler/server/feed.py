"""The live feed: every message is encoded once and sent to all clients, and nobody waits for the slowest."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque

import anyio
import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

_LOG = logging.getLogger(__name__)

SEND_TIMEOUT = 10.0
"""Seconds a client may leave a message unread before it is disconnected."""
MOST_WAITING = 64
"""Logs and notifications that wait for a slow client; the oldest go first."""
ABORT = "hybrid_scheduler.abort"
"""ASGI extension of our server: cuts the connection without waiting for what is unsent."""


class _Client:
    """One connection: the latest update and a few messages wait for it."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.wake = asyncio.Event()
        self._update: str | None = None
        self._messages: deque[str] = deque()
        self._skipped = 0
        self._told = False

    def offer_update(self, text: str) -> int:
        """Put the newest state in the place of the last; returns how many were dropped for it."""
        dropped = int(self._update is not None)
        self._skipped += dropped
        self._update = text
        self.wake.set()
        return dropped

    def offer_message(self, text: str) -> int:
        """Put a log line or notification behind the others; returns how many were dropped for it."""
        dropped = int(len(self._messages) >= MOST_WAITING)
        if dropped:
            self._messages.popleft()
        self._messages.append(text)
        self.wake.set()
        return dropped

    async def send_all(self) -> None:
        """Send what comes, for as long as the client reads.

        Raises:
            TimeoutError: It does not read.
            WebSocketDisconnect: It has left.
        """
        while True:
            await self.wake.wait()
            self.wake.clear()
            while (text := self._next()) is not None:
                async with asyncio.timeout(SEND_TIMEOUT):
                    await self.socket.send_text(text)

    def _next(self) -> str | None:
        if self._skipped and not self._told:
            self._told = True
            message = f"client too slow: {self._skipped} updates skipped"
            return orjson.dumps({"type": "notification", "level": "warning", "message": message}).decode()
        if self._messages:
            return self._messages.popleft()
        text, self._update = self._update, None
        return text


class Feed:
    """Sends live messages to the clients of this process.

    Attributes:
        frames: Messages handed to `publish` so far.
        dropped: Messages left out for clients that were too slow, summed over clients.
    """

    def __init__(self, most_clients: int) -> None:
        self.frames = 0
        self.dropped = 0
        self._most = most_clients
        self._clients: set[_Client] = set()
        self._last_update: str | None = None

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._clients)

    @property
    def full(self) -> bool:
        """Whether nobody else can connect."""
        return len(self._clients) >= self._most

    def publish(self, frame: bytes) -> None:
        """Hand one encoded live message to everybody. Never waits; runs on the event loop."""
        self.frames += 1
        text = frame.decode()
        if orjson.loads(frame).get("type") == "simulation_update":
            self._last_update = text
            self.dropped += sum(client.offer_update(text) for client in self._clients)
        else:
            self.dropped += sum(client.offer_message(text) for client in self._clients)

    async def serve(self, socket: WebSocket) -> None:
        """Look after one accepted connection until it ends. What clients send is read and ignored."""
        client = _Client(socket)
        self._clients.add(client)
        if self._last_update is not None:
            client.offer_update(self._last_update)
        stuck = False
        try:
            async with anyio.create_task_group() as both:
                both.start_soon(_ignore_messages, socket, both.cancel_scope)
                try:
                    await client.send_all()
                except TimeoutError:
                    stuck = True
                except WebSocketDisconnect:
                    pass
                both.cancel_scope.cancel()
        finally:
            self._clients.discard(client)
        if stuck:
            _LOG.info("a client of the live feed has read nothing for %g s and is disconnected", SEND_TIMEOUT)
            await _cut_off(socket)


async def _ignore_messages(socket: WebSocket, scope: anyio.CancelScope) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    scope.cancel()


async def _cut_off(socket: WebSocket) -> None:
    abort = socket.scope.get("extensions", {}).get(ABORT)
    if abort is not None:
        abort["call"]()
        return
    # Another server than ours: an orderly goodbye, for which the client may not be there either.
    with contextlib.suppress(TimeoutError, WebSocketDisconnect):
        async with asyncio.timeout(1.0):
            await socket.close(1013, "client too slow")
