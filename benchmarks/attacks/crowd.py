"""Many clients at once, in an interpreter of their own: `python crowd.py PORT READERS DEAF SILENT SECONDS`.

Readers take every live message and answer pings; the deaf shake hands and then read nothing; the silent connect and say
nothing. Prints one JSON document: how many of each were connected at the end, and what readers got.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys

HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
AT_ONCE = 50
"""Connections that are made at a time; the server's queue of new ones is finite."""


class Client(asyncio.Protocol):
    """One connection; `kind` is `reader`, `deaf` or `silent`."""

    def __init__(self, kind: str) -> None:
        self.kind, self.connected, self.welcome, self.messages = kind, False, False, 0
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.connected = transport, True
        if self.kind != "silent":
            transport.write(HANDSHAKE)

    def connection_lost(self, error: Exception | None) -> None:
        self.connected = False

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self.welcome:
            head, found, rest = bytes(self._received).partition(b"\r\n\r\n")
            self.welcome = found != b"" and head.startswith(b"HTTP/1.1 101")
            self._received = bytearray(rest) if found else self._received
            if self.welcome and self.kind == "deaf":
                self.transport.pause_reading()
        while self.welcome and (frame := self._next()) is not None:
            code, payload = frame
            if code == 9:  # a ping is answered with what it holds, masked with zeros
                self.transport.write(bytes((0x8A, 0x80 | len(payload), 0, 0, 0, 0)) + payload)
            else:
                self.messages += 1

    def _next(self) -> tuple[int, bytes] | None:
        """The next whole frame of a server: its code and what it holds."""
        got = self._received
        if len(got) < 2:
            return None
        size, start = got[1] & 127, 2
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(got) < start:
                return None
            size = int.from_bytes(got[2:start])
        if len(got) < start + size:
            return None
        frame = got[0] & 15, bytes(got[start : start + size])
        del got[: start + size]
        return frame


async def crowd(port: int, counts: dict[str, int], seconds: float) -> dict[str, int]:
    """Connect everybody, stay for so many seconds, say how it went."""
    loop, clients = asyncio.get_running_loop(), [Client(kind) for kind, count in counts.items() for _ in range(count)]
    for first in range(0, len(clients), AT_ONCE):
        some = clients[first : first + AT_ONCE]
        await asyncio.gather(*(loop.create_connection(lambda each=each: each, "127.0.0.1", port) for each in some))
    print("connected", flush=True)
    await asyncio.sleep(seconds)
    found = {kind: sum(each.connected for each in clients if each.kind == kind) for kind in counts}
    welcome = sum(each.welcome for each in clients)
    return {**found, "welcome": welcome, "messages": sum(each.messages for each in clients if each.kind == "reader")}


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    port, readers, deaf, silent = map(int, sys.argv[1:5])
    wanted = {"reader": readers, "deaf": deaf, "silent": silent}
    print(json.dumps(asyncio.run(crowd(port, wanted, float(sys.argv[5])))))
