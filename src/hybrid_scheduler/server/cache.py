"""Answers that are dear to compute, kept for a moment: in Redis for all server processes, or in this process."""

from __future__ import annotations

import time
from collections import OrderedDict

from hybrid_scheduler.server.redis_link import REDIS_ERRORS, RedisLink

PREFIX = "hms:cache:"
MOST_ENTRIES = 512


class Cache:
    """Bytes by key, each for some seconds. Losing an entry costs time, never truth; no method raises."""

    def __init__(self, link: RedisLink | None) -> None:
        self._link = link
        self._own: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def get(self, key: str) -> bytes | None:
        """What was kept under a key, None when there is nothing (any more)."""
        if self._link is not None and self._link.up:
            try:
                value = await self._link.client.get(PREFIX + key)
            except REDIS_ERRORS as error:
                self._link.lost(error)
            else:
                return value.encode() if isinstance(value, str) else value
        expires, value = self._own.get(key, (0.0, b""))
        return value if expires > time.monotonic() else None

    async def set(self, key: str, value: bytes, seconds: float) -> None:
        """Keep something for so many seconds."""
        if self._link is not None and self._link.up:
            try:
                await self._link.client.set(PREFIX + key, value, px=max(1, round(seconds * 1000)))
            except REDIS_ERRORS as error:
                self._link.lost(error)
            else:
                return
        self._own[key] = time.monotonic() + seconds, value
        self._own.move_to_end(key)
        while len(self._own) > MOST_ENTRIES:
            self._own.popitem(last=False)

    async def clear(self) -> None:
        """Forget everything, e.g. because the history was cleared."""
        self._own.clear()
        if self._link is not None and self._link.up:
            try:
                async for key in self._link.client.scan_iter(match=f"{PREFIX}*", count=1000):
                    await self._link.client.delete(key)
            except REDIS_ERRORS as error:
                self._link.lost(error)
