"""Log lines and notifications of the engine: for the log, and for the clients of the live feed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from hybrid_scheduler.live.decision_log import DecisionLine
from hybrid_scheduler.live.link import FRAME, LOG, EngineLink

Log = Callable[[str, str], None]
"""Called with a level and a line."""


class Notifier:
    """Sends lines to the log and to the clients; safe from several threads."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link
        # Ids go on growing when this process is started anew: it sends far fewer than a thousand lines a second.
        self._ids = itertools.count(int(time.time() * 1000))

    def log(self, level: str, message: str) -> None:
        """A line for the log and for clients; anything but `info` is a notification too."""
        self._link.send(LOG, {"level": level, "message": message})
        self._send({"level": level, "message": message, "kind": "event", "scheduler": None, "skipped": 0})
        if level != "info":
            self.notify(level, message)

    def decision(self, line: DecisionLine) -> None:
        """A scheduler's decision, for clients only."""
        self._send({"level": "info", "kind": "decision", **line._asdict()})

    def notify(self, level: str, message: str) -> None:
        """A notification for clients."""
        self._link.send(FRAME, {"type": "notification", "level": level, "message": message})

    def _send(self, line: dict[str, Any]) -> None:
        self._link.send(FRAME, {"type": "log", "id": next(self._ids), "time": time.time(), **line})
