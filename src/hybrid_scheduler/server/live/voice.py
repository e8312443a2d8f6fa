"""What the engine says while it runs: to the log, and to everybody who watches."""

from __future__ import annotations

import time
from collections.abc import Callable

from hybrid_scheduler.server.live.link import FRAME, LOG, EngineLink

Say = Callable[[str, str], None]
"""Told a level and a line."""


class Voice:
    """Sends lines to the log and to the clients; safe from several threads."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link

    def say(self, level: str, message: str) -> None:
        """A line for the log and for everybody who watches; anything but `info` is a notification too."""
        self._link.send(LOG, {"level": level, "message": message})
        self.tell(level, message)
        if level != "info":
            self.notify(level, message)

    def tell(self, level: str, message: str) -> None:
        """A line for those who watch."""
        self._link.send(FRAME, {"type": "log", "time": time.time(), "level": level, "message": message})

    def notify(self, level: str, message: str) -> None:
        """A notification for those who watch."""
        self._link.send(FRAME, {"type": "notification", "level": level, "message": message})
