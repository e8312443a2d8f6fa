"""Keeping the history within its limits while the race goes on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from hybrid_scheduler.store import Retention, Store, StoreUnavailableError

LOOK_SECONDS = 20.0
LOOK_TASKS = 200
"""After so many seconds or written tasks, whichever comes first, it looks whether something is beyond a limit."""
FEWEST, MOST = 100, 1000
"""Tasks forgotten in one step: twice as many as were written since, so that it keeps up."""


class Pruner:
    """Asks the store to prune, a step at a time; writers and readers get their turn in between.

    Args:
        limits: Of the history.
        ask: Has the store do something.
        allowed: Whether this process may; only the owner of the race prunes.
        tasks: It looks after so many written tasks,
        seconds: or so many seconds, whichever comes first.
    """

    def __init__(
        self,
        limits: Retention,
        ask: Callable[[Callable[[Store], Awaitable[int]]], Awaitable[int]],
        allowed: Callable[[], bool],
        *,
        tasks: int = LOOK_TASKS,
        seconds: float = LOOK_SECONDS,
    ) -> None:
        self._limits, self._call, self._allowed = limits, ask, allowed
        self._look_tasks, self._look_seconds = tasks, seconds
        self._due = asyncio.Event()
        self._written = 0

    def wrote(self, tasks: int) -> None:
        """So many tasks were written."""
        self._written += tasks
        if self._written >= self._look_tasks:
            self._due.set()

    def look(self) -> None:
        """Look soon."""
        self._due.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._look_seconds):
                    await self._due.wait()
            self._due.clear()
            # The writer tells when the store cannot be used; it is asked again the next time.
            with contextlib.suppress(StoreUnavailableError):
                while self._allowed() and await self._call(self._step()):
                    await asyncio.sleep(0)

    def _step(self) -> Callable[[Store], Awaitable[int]]:
        most = min(max(2 * self._written, FEWEST), MOST)
        self._written = 0
        return lambda store: store.prune(self._limits, most)
