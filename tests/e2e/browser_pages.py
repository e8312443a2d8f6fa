"""What the browser tests share besides fixtures."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable

from playwright.sync_api import CDPSession, ConsoleMessage, Page, WebSocket

SPEED = "20"
"""Simulated seconds per second: enough tasks for every panel within seconds."""
UNHURRIED = {"panel-graph", "panel-retraining", "panel-runs"}
"""Panels that need not have anything to show within seconds."""


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Complaints:
    """Errors and warnings of the browser's console; a test fails with any that it did not announce."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def expect(self, pattern: str) -> None:
        """What the test provokes, e.g. a refused call."""
        self._expected.append(re.compile(pattern))

    def hear(self, message: ConsoleMessage) -> None:
        """Take note of a console message."""
        if message.type in ("error", "warning"):
            self.seen.append(f"{message.type}: {message.text}")

    @property
    def unexpected(self) -> list[str]:
        """What nobody announced."""
        return [text for text in self.seen if not any(pattern.search(text) for pattern in self._expected)]


NewPage = Callable[..., Page]


def eventually(holds: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


class UpdateCount:
    """Live updates that reached a page; make it before the page is opened."""

    def __init__(self, page: Page) -> None:
        self.updates = 0
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._hear)

    def _hear(self, frame: str | bytes) -> None:
        self.updates += '"simulation_update"' in str(frame)


def heap_mebibytes(devtools: CDPSession) -> float:
    """The JavaScript heap of a page after garbage collection."""
    devtools.send("HeapProfiler.collectGarbage")
    return float(devtools.send("Runtime.getHeapUsage")["usedSize"]) / 2**20
