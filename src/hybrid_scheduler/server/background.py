"""Background tasks: held, which the event loop does not do, and ended for certain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

_LOG = logging.getLogger(__name__)

PATIENCE = 0.5


class BackgroundTasks:
    """What runs beside its owner; when it fails, that is logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None], name: str | None = None) -> None:
        """Begin one more."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_failure)

    async def end(self) -> None:
        """Cancel them all and wait until they have ended.

        A cancellation that meets a time-out inside a library can get lost there, so it is repeated until it is heard.
        """
        pending = set(self._tasks)
        while pending:
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=PATIENCE)


def log_failure(task: asyncio.Task[None]) -> None:
    """Log the error of a task that failed."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("the background task %s has failed", task.get_name(), exc_info=error)
