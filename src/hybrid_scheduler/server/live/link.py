"""Messages between the web half and the engine's process: a socket, a kind, a length, bytes.

A blocked reader never blocks the engine for long: what it sends is dropped by kind (live messages, status) when the
other side does not read.
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import threading
from typing import Any, NamedTuple

import orjson

HEAD = struct.Struct("!cI")

FRAME, STATUS, REPLY, LOG, COMMAND = b"F", b"S", b"R", b"L", b"C"
"""A live message for every client; the engine's status; an answer to a command; a line for the log; a command."""

DROPPABLE = frozenset((FRAME, STATUS))
SEND_BUFFER = 4 * 1024 * 1024


class Message(NamedTuple):
    """One message."""

    kind: bytes
    body: bytes


class EngineLink:
    """The engine's end; sending is safe from several threads."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setblocking(True)
        self._received = bytearray()
        self._sending = threading.Lock()
        self.closed = False

    def send(self, kind: bytes, document: Any) -> None:
        """Send a document (or bytes that are one already); a live message is dropped when nobody reads."""
        body = document if isinstance(document, bytes) else orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
        with self._sending:
            if self.closed:
                return
            if kind in DROPPABLE and not select.select([], [self._socket], [], 0)[1]:
                return
            try:
                self._socket.sendall(HEAD.pack(kind, len(body)) + body)
            except OSError:
                self.closed = True

    def poll(self, timeout: float) -> list[Message]:
        """What has come, waiting at most so long for something to come; sets `closed` when the other end is gone."""
        if not select.select([self._socket], [], [], max(timeout, 0.0))[0]:
            return []
        try:
            chunk = self._socket.recv(1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            self.closed = True
        self._received += chunk
        return list(_cut(self._received))


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
    """A message as bytes."""
    body = orjson.dumps(document)
    return HEAD.pack(kind, len(body)) + body
