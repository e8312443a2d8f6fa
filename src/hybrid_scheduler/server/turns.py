"""Spreads bursts of work over turns of the event loop, so that urgent work need not wait for all of it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

AT_ONCE = 4
"""Calls that begin in one turn of the event loop; a thousand clients that reconnect together would take a second."""


class Turns:
    """Begins calls in the order they came, so many in each turn of the event loop; at once when there are few."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = self._left = at_once
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_due = False

    def take(self, begin: Callable[[], None]) -> None:
        """Begin something now or in a later turn."""
        self._waiting.append(begin)
        self._begin_some()
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _begin_some(self) -> None:
        while self._waiting and self._left:
            self._left -= 1
            self._waiting.popleft()()

    def _next_turn(self) -> None:
        self._left = self._at_once
        self._begin_some()
        self._is_due = self._left < self._at_once
        if self._is_due:
            asyncio.get_running_loop().call_soon(self._next_turn)
