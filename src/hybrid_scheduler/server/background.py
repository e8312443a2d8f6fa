"""Ending background tasks for certain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

_LOG = logging.getLogger(__name__)

PATIENCE = 0.5


async def end_tasks(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended.

    A cancellation that meets a time-out inside a library can get lost there, so it is repeated until it is heard.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=PATIENCE)


def log_failure(task: asyncio.Task[None]) -> None:
    """Log the error of a task that failed."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("the background task %s has failed", task.get_name(), exc_info=error)
