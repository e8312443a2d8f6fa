"""Accepting new connections.

Uvloop accepts one in each turn of its loop, so that the last to connect waits until all before have been served.
Here all that wait are accepted at once, requests for `/api/health` are served first, and the others take turns.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from hybrid_scheduler.server.background import log_failure
from hybrid_scheduler.server.connections import Refusals
from hybrid_scheduler.server.turns import Turns

PAUSE = 0.5
"""Seconds until the next try when the system has no room for another open file."""
URGENT = b"GET /api/health"


class Acceptor:
    """Hands every new connection of a listening socket to a protocol of its own.

    Args:
        listening: The socket.
        protocol: Makes a protocol.
        turns: When connections that are not urgent are handed over.
        most: How many may wait for that.
        refusals: Told when there are too many open files.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        turns: Turns,
        most: int,
        refusals: Refusals,
    ) -> None:
        self._listening, self._protocol, self._turns, self._most = listening, protocol, turns, most
        self._refusals = refusals
        self._waiting = 0
        self._opening: set[asyncio.Task[Any]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin, or go on."""
        asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def stop(self) -> None:
        """Accept no more; twice is fine."""
        if self._pause is not None:
            self._pause.cancel()
        asyncio.get_running_loop().remove_reader(self._listening)

    def _accept(self) -> None:
        while self._waiting < self._most:
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # too many open files
                self._refusals.add("no_files")
                self.stop()
                self._pause = asyncio.get_running_loop().call_later(PAUSE, self.start)
                return
            connection.setblocking(False)
            self._waiting += 1
            if _is_urgent(connection):
                self._open(connection)
            else:
                self._turns.take(partial(self._open, connection))

    def _open(self, connection: socket.socket) -> None:
        self._waiting -= 1
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(self._protocol, connection))
        self._opening.add(task)
        task.add_done_callback(self._opened)

    def _opened(self, task: asyncio.Task[Any]) -> None:
        self._opening.discard(task)
        if not task.cancelled() and not isinstance(task.exception(), OSError):  # that one has left again
            log_failure(task)


def _is_urgent(connection: socket.socket) -> bool:
    """By what has come so far, which stays where it is."""
    try:
        return connection.recv(len(URGENT), socket.MSG_PEEK) == URGENT
    except OSError:  # nothing yet, or it has left again
        return False
