"""Messages between the web half and the engine's process: a socket, a kind, a length, bytes.

The engine never waits for the web half: a thread sends its messages, and while nothing is read,
kinds that may be lost are dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
import threading
import time
from collections import deque
from typing import Any, NamedTuple

import orjson

HEAD = struct.Struct("!cI")

BEGIN, FRAME, STATUS, REPLY, LOG, COMMAND = b"B", b"F", b"S", b"R", b"L", b"C"
"""How the engine begins; a live message for every client; its status; an answer to a command; a line for the log; a
command."""

MOST_UNSENT = {FRAME: 64, STATUS: 64, LOG: 1000}
"""A message of such a kind is left out while so many messages wait to be read. Answers never are."""


class Message(NamedTuple):
    """One message."""

    kind: bytes
    body: bytes


class EngineLink:
    """The engine's end; sending is safe from several threads and never waits.

    Attributes:
        closed: Whether the other end is gone.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setblocking(True)
        self._received = bytearray()
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)
        self._unsent: deque[bytes] = deque()
        self._changed = threading.Condition()
        self.closed = False
        threading.Thread(target=self._send_forever, name="link", daemon=True).start()

    def send(self, kind: bytes, document: Any) -> None:
        """Send a document; it is left out when the other end does not read and the kind allows it."""
        with self._changed:
            if self.closed or len(self._unsent) >= MOST_UNSENT.get(kind, 1 << 30):
                return
        message = packed(kind, document)
        with self._changed:
            self._unsent.append(message)
            self._changed.notify_all()

    def poll(self, timeout: float) -> list[Message]:
        """What has come, waiting at most so long for something to come; sets `closed` when the other end is gone."""
        came = select.select([self._socket, self._woken], [], [], max(timeout, 0.0))[0]
        if self._woken in came:
            self._woken.recv(1 << 12)
        if self._socket not in came:
            return []
        try:
            chunk = self._socket.recv(1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            self._end()
        self._received += chunk
        return _cut(self._received)

    def wake(self) -> None:
        """End the present or the next waiting of `poll`; safe from any thread."""
        # Full of earlier calls, so that `poll` will not wait; or closed, because all is over.
        with contextlib.suppress(OSError):
            self._waker.send(b"!")

    def close(self, timeout: float = 2.0) -> None:
        """Send what is unsent, for as long as that, and hang up."""
        until = time.monotonic() + timeout
        with self._changed:
            while self._unsent and not self.closed and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
        self._end()
        for end in (self._woken, self._waker):
            end.close()

    def _end(self) -> None:
        with self._changed:
            self.closed = True
            self._unsent.clear()
            self._changed.notify_all()

    def _send_forever(self) -> None:
        while True:
            with self._changed:
                while not self._unsent and not self.closed:
                    self._changed.wait()
                if self.closed:
                    return
                message = self._unsent[0]
            try:
                self._socket.sendall(message)
            except OSError:
                self._end()
                return
            with self._changed:
                if self._unsent:
                    self._unsent.popleft()
                self._changed.notify_all()


def _cut(received: bytearray) -> list[Message]:
    messages = []
    while len(received) >= HEAD.size:
        kind, length = HEAD.unpack_from(received)
        if len(received) < HEAD.size + length:
            break
        messages.append(Message(kind, bytes(received[HEAD.size : HEAD.size + length])))
        del received[: HEAD.size + length]
    return messages


async def read_message(reader: asyncio.StreamReader) -> Message:
    """The web half's end.

    Raises:
        asyncio.IncompleteReadError: The engine is gone.
    """
    kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
    return Message(kind, await reader.readexactly(length))


def packed(kind: bytes, document: Any) -> bytes:
    """A message as bytes: of a JSON document, or of bytes as they are."""
    body = document if isinstance(document, bytes) else orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    return HEAD.pack(kind, len(body)) + body
