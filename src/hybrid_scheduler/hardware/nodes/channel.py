"""Messages over a socket between two processes: the length in eight bytes, then the bytes.

One call of the system per short message and direction. The side that must not wait (the pool) keeps what the socket
does not take, and collects what comes in pieces.
"""

from __future__ import annotations

import socket
from struct import Struct

LENGTH = Struct("<Q")
CHUNK = 1 << 16


class Channel:
    """One end.

    Args:
        sock: A connected stream socket; the channel owns it.
        waits: Whether `send` and `receive` wait until they are done.

    Attributes:
        ended: The other end is closed; nothing more will come.
    """

    def __init__(self, sock: socket.socket, *, waits: bool) -> None:
        sock.setblocking(waits)
        self._socket = sock
        self._unsent: list[memoryview] = []
        self._come = b""
        """Of a message that is not whole yet, what has come, when that is too little to know its length."""
        self._message = bytearray()
        """The message that is coming, at its whole length."""
        self._filled = 0
        """How much of it has come."""
        self.ended = False

    def fileno(self) -> int:
        """The socket's descriptor, to wait for."""
        return self._socket.fileno()

    @property
    def unsent(self) -> bool:
        """Whether something waits for the socket to take it (`flush`)."""
        return bool(self._unsent)

    def send(self, message: bytes) -> None:
        """Send one message.

        Raises:
            OSError: The other end is closed.
        """
        length = LENGTH.pack(len(message))
        if len(message) < CHUNK:
            self._unsent.append(memoryview(length + message))
        else:
            self._unsent += (memoryview(length), memoryview(message))
        self.flush()

    def flush(self) -> None:
        """Send on what waits; a channel that does not wait may keep a rest.

        Raises:
            OSError: The other end is closed.
        """
        while self._unsent:
            piece = self._unsent[0]
            try:
                sent = self._socket.send(piece)
            except BlockingIOError:
                return
            if sent < len(piece):
                self._unsent[0] = piece[sent:]
            else:
                del self._unsent[0]

    def receive(self) -> list[bytes | bytearray]:
        """Messages that are there; none when the channel does not wait and none is whole, or when it has `ended`."""
        while not self.ended:
            try:
                messages = self._fill() if self._message else self._read()
            except BlockingIOError:
                break
            except ConnectionError:
                self.ended = True
                break
            if messages:
                return messages
        return []

    def _read(self) -> list[bytes | bytearray]:
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            self.ended = True
            return []
        messages: list[bytes | bytearray] = []
        come = self._come + chunk
        at = 0
        while len(come) - at >= LENGTH.size:
            (length,) = LENGTH.unpack_from(come, at)
            at += LENGTH.size
            if length > len(come) - at:
                self._filled = len(come) - at
                self._message = bytearray(length)
                self._message[: self._filled] = come[at:]
                at = len(come)
                break
            messages.append(come[at : at + length])
            at += length
        self._come = come[at:]
        return messages

    def _fill(self) -> list[bytes | bytearray]:
        with memoryview(self._message) as view:
            count = self._socket.recv_into(view[self._filled :])
        if not count:
            self.ended = True
            return []
        self._filled += count
        if self._filled < len(self._message):
            return []
        message, self._message = self._message, bytearray()
        return [message]

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
