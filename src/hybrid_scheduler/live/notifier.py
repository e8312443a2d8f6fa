"""Log lines and notifications of the engine: for the log, and for the clients of the live feed."""

from __future__ import annotations

import time
from collections.abc import Callable

from hybrid_scheduler.live.link import FRAME, LOG, EngineLink

Log = Callable[[str, str], None]
"""Called with a level and a line."""


class Notifier:
    """Sends lines to the log and to the clients; safe from several threads."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link

    def log(self, level: str, message: str) -> None:
        """A line for the log and for clients; anything but `info` is a notification too."""
        self._link.send(LOG, {"level": level, "message": message})
        self.stream(level, message)
        if level != "info":
            self.notify(level, message)

    def stream(self, level: str, message: str) -> None:
        """A log line for clients only."""
        self._link.send(FRAME, {"type": "log", "time": time.time(), "level": level, "message": message})

    def notify(self, level: str, message: str) -> None:
        """A notification for clients."""
        self._link.send(FRAME, {"type": "notification", "level": level, "message": message})
