"""The live feed: every message is encoded once and sent to all clients, and a slow client delays no other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

import anyio
import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.frames import Frame, Opcode

MOST_WAITING = 64
"""Logs and notifications that wait for a slow client; the oldest go first."""
KEPT_LINES = 200
"""Log lines that a new client gets first, so that a reload does not empty its console."""
FRAMES = "hybrid_scheduler.frames"
"""ASGI extension of our server: sends frames that were encoded once for all clients, at once or not at all."""
AT_ONCE = 50
"""Clients that are sent to in one turn of the event loop."""


class _Message:
    """One live message in the forms it is needed in."""

    def __init__(self, message: bytes) -> None:
        self.text, self.frame = message.decode(), Frame(Opcode.TEXT, message).serialize(mask=False)
        kind = orjson.loads(message).get("type")
        self.is_update, self.is_log = kind == "simulation_update", kind == "log"


class _Client:
    """One connection: what it cannot take at once waits for it, the latest update and a few messages."""

    def __init__(self, socket: WebSocket, lines: Iterable[str] = ()) -> None:
        self._socket = socket
        self._first = deque(lines)
        self._send_frames = socket.scope.get("extensions", {}).get(FRAMES, {}).get("send")
        self._busy = asyncio.Event()
        self._update: str | None = None
        self._messages: deque[str] = deque()
        self._skipped = 0
        self._told = False
        if self._first:
            self._busy.set()

    def send_now(self, frames: bytes) -> bool:
        """Send messages without waiting; False when others wait before them or the client is not ready."""
        return not self._busy.is_set() and self._send_frames is not None and self._send_frames(frames)

    def offer(self, message: _Message) -> int:
        """Let a message wait; returns how many were dropped for it."""
        return self.offer_update(message.text) if message.is_update else self.offer_message(message.text)

    def offer_update(self, text: str) -> int:
        """Put the newest state in the place of the last; returns how many were dropped for it."""
        dropped = int(self._update is not None)
        self._skipped += dropped
        self._update = text
        self._busy.set()
        return dropped

    def offer_message(self, text: str) -> int:
        """Put a log line or notification behind the others; returns how many were dropped for it."""
        dropped = int(len(self._messages) >= MOST_WAITING)
        if dropped:
            self._messages.popleft()
        self._messages.append(text)
        self._busy.set()
        return dropped

    async def send_waiting(self) -> None:
        """Send what waits, as fast as the client reads. The server cuts clients that have stopped reading.

        Raises:
            WebSocketDisconnect: It has left.
        """
        while True:
            await self._busy.wait()
            while (text := self._next()) is not None:
                await self._socket.send_text(text)
            self._busy.clear()

    def _next(self) -> str | None:
        if self._skipped and not self._told:
            self._told = True
            message = f"client too slow: {self._skipped} updates skipped"
            return orjson.dumps({"type": "notification", "level": "warning", "message": message}).decode()
        if self._first:
            return self._first.popleft()
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
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._unsent: list[_Message] = []
        self._sending = False

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._clients)

    @property
    def full(self) -> bool:
        """Whether no other client can connect."""
        return len(self._clients) >= self._most

    def publish(self, message: bytes) -> None:
        """Send one encoded live message to all clients soon. Never waits; runs on the event loop."""
        self.frames += 1
        news = _Message(message)
        if news.is_update:
            self._last_update = news.text
        elif news.is_log:
            self._lines.append(news.text)
        self._unsent.append(news)
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        """All that came together goes out together."""
        messages, self._unsent = self._unsent, []
        self._send_to(list(self._clients), messages, b"".join(message.frame for message in messages))

    def _send_to(self, clients: list[_Client], messages: list[_Message], frames: bytes) -> None:
        """To some of the clients now, to the others in later turns of the event loop, which has other work as well."""
        for client in clients[:AT_ONCE]:
            if not client.send_now(frames):
                self.dropped += sum(client.offer(message) for message in messages)
        loop, others = asyncio.get_running_loop(), clients[AT_ONCE:]
        if others:
            loop.call_soon(self._send_to, others, messages, frames)
        elif self._unsent:
            loop.call_soon(self._send)
        else:
            self._sending = False

    async def serve(self, socket: WebSocket) -> None:
        """Look after one accepted connection until it ends. What clients send is read and ignored."""
        client = _Client(socket, self._lines)
        self._clients.add(client)
        if self._last_update is not None:
            client.offer_update(self._last_update)
        try:
            async with anyio.create_task_group() as both:
                both.start_soon(_ignore_messages, socket, both.cancel_scope)
                try:
                    await client.send_waiting()
                except WebSocketDisconnect:
                    both.cancel_scope.cancel()
        finally:
            self._clients.discard(client)


async def _ignore_messages(socket: WebSocket, scope: anyio.CancelScope) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    scope.cancel()
