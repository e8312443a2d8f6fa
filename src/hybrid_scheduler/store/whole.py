"""Finishing a change although its caller is cancelled."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def whole(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a change go on to its end although its caller is cancelled; the caller is cancelled after that end.

    Given up in the middle, a connection to SQLite keeps the write lock until its statement is over and it is collected;
    all others would wait for that.
    """

    @functools.wraps(work)
    async def finished(*args: P.args, **kwargs: P.kwargs) -> T:
        task = asyncio.ensure_future(work(*args, **kwargs))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it as unretrieved
            raise

    return finished
