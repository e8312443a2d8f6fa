"""The one connection to Redis: whether it is there, watched in the background so that no call ever waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.background import BackgroundTasks

_LOG = logging.getLogger(__name__)

TIMEOUT = 1.0
"""Seconds Redis has to answer."""
WATCH_INTERVAL = 1.0
REDIS_ERRORS = (RedisError, OSError, TimeoutError)
"""What a Redis that is not there raises."""


class RedisLink:
    """A Redis client and the knowledge of whether it answers.

    Users ask `up` before they use `client`, and report to `lost` what they run into. While Redis is away a
    background task goes on asking for it.

    Raises:
        InvalidInputError: The URL is not one of Redis.
    """

    def __init__(self, url: str) -> None:
        self.client = _client(url)
        self.up = False
        self.message = "not asked yet"
        self._background = BackgroundTasks()

    async def open(self) -> None:
        """Look whether Redis is there, and keep looking."""
        await self._look()
        self._background.start(self._watch(), "redis-watch")

    async def close(self) -> None:
        """Stop looking and let go of the connections."""
        await self._background.end()
        with contextlib.suppress(*REDIS_ERRORS):
            await self.client.aclose()

    def lost(self, error: BaseException) -> None:
        """Redis failed somewhere; do without it until it is back."""
        if self.up or self.message == "not asked yet":
            # The class of the error is enough: its text may hold the address with its password.
            _LOG.warning("Redis does not answer (%s); going on without it", type(error).__name__)
        self.up, self.message = False, "Redis does not answer; limits, cache and live feed are this process's own"

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_INTERVAL)
            await self._look()

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT):
                await self.client.ping()
        except REDIS_ERRORS as error:
            self.lost(error)
            return
        if not self.up:
            _LOG.info("Redis answers")
        self.up, self.message = True, ""


def _client(url: str) -> redis.asyncio.Redis:
    try:
        return redis.asyncio.Redis.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=Retry(NoBackoff(), 0)
        )
    except ValueError as error:
        # Neither the URL nor the library's message is repeated: they may hold a password.
        raise InvalidInputError(
            "environment variable REDIS_URL: it must be like redis://:PASSWORD@HOST:6379/0, rediss://… or unix://PATH"
        ) from error
