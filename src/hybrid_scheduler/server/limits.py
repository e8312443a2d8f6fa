"""How often a client may call: in process, or in Redis for all server processes together."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import HTTPConnection

from hybrid_scheduler.config.service import ServiceSettings
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.server.connections import network_of
from hybrid_scheduler.server.errors import ApiError
from hybrid_scheduler.server.redis_link import REDIS_ERRORS, RedisLink

PREFIX = "hms:limits:"
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_LIMIT = re.compile(rf"\s*(\d{{1,9}})\s*(?:/|per)\s*(\d{{1,6}})?\s*({'|'.join(UNITS)})s?\s*", re.IGNORECASE)
_HIT = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}
"""
"""Count one call and say how many there were, and for how many milliseconds they count; in one step."""


class Limit(NamedTuple):
    """So many calls in a window of so many seconds, which begins with the first of them."""

    name: str
    calls: int
    seconds: float

    @classmethod
    def read(cls, name: str, text: str) -> Limit:
        """From a setting.

        Raises:
            InvalidInputError: It is no limit.
        """
        match = _LIMIT.fullmatch(text)
        if match is None or not int(match[1]):
            raise InvalidInputError(
                f"environment variable {name} is {text!r}, but it must be a number per unit of time, like 300/minute"
            )
        return cls(name, int(match[1]), int(match[2] or 1) * UNITS[match[3].lower()])


class Windows:
    """The windows of one limit in this process. By a clock that only goes forward: the time of day may jump."""

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._ends: OrderedDict[str, tuple[float, int]] = OrderedDict()  # all as long, so the first ends first

    def hit(self, client: str) -> tuple[int, float]:
        """Count one call; how many there were in this window, and the seconds until it ends."""
        now = self._clock()
        while self._ends and next(iter(self._ends.values()))[0] <= now:
            self._ends.popitem(last=False)
        end, count = self._ends.get(client, (now + self._limit.seconds, 0))
        self._ends[client] = end, count + 1
        return count + 1, end - now


class RateLimits:
    """Counts calls per client in fixed windows: one cheap step per call, and an exact `Retry-After`.

    When Redis is away each process counts for itself.
    """

    def __init__(self, settings: ServiceSettings, link: RedisLink | None) -> None:
        self._reading = Limit.read("RATE_LIMIT", settings.rate_limit)
        self._changing = Limit.read("WRITE_RATE_LIMIT", settings.write_rate_limit)
        self._own = {limit: Windows(limit) for limit in (self._reading, self._changing)}
        self._link = link

    async def check(self, connection: HTTPConnection, *, changes: bool) -> None:
        """Count one call.

        Raises:
            ApiError: 429, with `Retry-After`.
        """
        limit = self._changing if changes else self._reading
        count, left = await self._hit(limit, client_key(connection))
        if count > limit.calls:
            # Redis goes by the time of day of its machine, which may jump, too.
            seconds = max(1, math.ceil(min(left, limit.seconds)))
            raise ApiError(
                429,
                f"more than {limit.calls} calls in {limit.seconds:g} s; try again in {seconds} s",
                headers={"Retry-After": str(seconds)},
            )

    async def _hit(self, limit: Limit, client: str) -> tuple[int, float]:
        if self._link is not None and self._link.up:
            try:
                key, milliseconds = f"{PREFIX}{limit.name}:{client}", str(round(1000 * limit.seconds))
                count, left = await self._link.client.eval(_HIT, 1, key, milliseconds)
            except REDIS_ERRORS as error:
                self._link.lost(error)
            else:
                return count, left / 1000
        return self._own[limit].hit(client)


def client_key(connection: HTTPConnection) -> str:
    """The key under which a client's calls are counted."""
    return network_of(connection.client.host if connection.client else "unknown")
