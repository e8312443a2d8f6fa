"""How often a client may call: in process, or in Redis for all server processes together."""

from __future__ import annotations

import ipaddress
import math
import time
from typing import Any

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import FixedWindowRateLimiter
from starlette.requests import HTTPConnection

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.errors import ApiError
from hybrid_scheduler.server.redis_link import REDIS_ERRORS, RedisLink

PREFIX = "hms:limits"


class RateLimits:
    """Counts calls per client in fixed windows: one cheap step per call, and an exact `Retry-After`.

    When Redis is away each process counts for itself.
    """

    def __init__(self, settings: ServiceSettings, link: RedisLink | None) -> None:
        self._reading = _limit("RATE_LIMIT", settings.rate_limit)
        self._changing = _limit("WRITE_RATE_LIMIT", settings.write_rate_limit)
        self._link = link
        self._own = FixedWindowRateLimiter(MemoryStorage())
        self._shared = None if link is None else FixedWindowRateLimiter(_redis_storage(link))

    async def check(self, connection: HTTPConnection, *, changes: bool) -> None:
        """Count one call.

        Raises:
            ApiError: 429, with `Retry-After`.
        """
        item = self._changing if changes else self._reading
        who = (client_key(connection), "change" if changes else "read")
        if self._shared is not None and self._link is not None and self._link.up:
            try:
                await self._count(self._shared, item, who)
                return
            except REDIS_ERRORS as error:
                self._link.lost(error)
        await self._count(self._own, item, who)

    async def _count(self, limiter: FixedWindowRateLimiter, item: RateLimitItem, who: tuple[str, str]) -> None:
        if await limiter.hit(item, *who):
            return
        window = await limiter.get_window_stats(item, *who)
        seconds = max(1, math.ceil(window.reset_time - time.time()))
        raise ApiError(429, f"more than {item}; try again in {seconds} s", headers={"Retry-After": str(seconds)})


def client_key(connection: HTTPConnection) -> str:
    """Who calls: the address, or the /64 network of an IPv6 address, which is what one customer has."""
    host = connection.client.host if connection.client else "unknown"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 6 and not address.is_loopback:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _limit(name: str, text: str) -> RateLimitItem:
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidInputError(
            f"environment variable {name} is {text!r}, but it must be a number per unit of time, like 300/minute"
        ) from error


def _redis_storage(link: RedisLink) -> RedisStorage:
    # On the link's own connections: what they are and when they end is decided there.
    pool: Any = link.client.connection_pool
    return RedisStorage("async+redis://", implementation="redispy", key_prefix=PREFIX, connection_pool=pool)
