"""All connections: how many there may be, how long each may take, and which are dropped when there are too many."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final, Literal, Protocol, get_args

from uvicorn.config import Config

from hybrid_scheduler.server.turns import Turns

_LOG = logging.getLogger(__name__)

HEALTH_PLACES = 16
"""Places beyond the limit, in which only `/api/health` is answered."""
Reason = Literal[
    "address_limit",
    "body_timeout",
    "header_timeout",
    "headers_too_large",
    "malformed",
    "no_files",
    "no_room",
    "pipelining",
    "silent",
    "unread",
]
"""Why a connection is refused or cut."""
REASONS: tuple[Reason, ...] = get_args(Reason)
HARMLESS: Final = "silent"
"""Reason of connections that never sent a byte: browsers open some in advance."""


class Timed(Protocol):
    """A connection that is served over HTTP.

    Attributes:
        transport: What it is made over.
        address: Of the client; empty when it has none.
        deadline: When its time is over, by the clock of the event loop.
    """

    transport: asyncio.Transport
    address: str
    deadline: float

    def late(self) -> None:
        """The deadline is over."""


class Refusals:
    """Counts what was refused by reason, and logs it, one line for as many as there were."""

    def __init__(self, count: Callable[[str], None]) -> None:
        self._count = count
        self._untold: Counter[str] = Counter()

    def add(self, reason: Reason) -> None:
        """One more."""
        self._count(reason)
        self._untold[reason] += 1

    def tell(self) -> None:
        """Log what was not logged yet; called once a second."""
        if self._untold:
            level = logging.INFO if set(self._untold) == {HARMLESS} else logging.WARNING
            reasons = ", ".join(f"{number} {reason}" for reason, number in self._untold.most_common())
            _LOG.log(level, "connections refused or cut: %s", reasons)
            self._untold.clear()


class Connections:
    """A bounded number of connections; WebSockets count as well.

    When there are too many, those that have been idle longest are dropped, waiting for a request or the rest of one:
    a request goes before silence. When all are busy, new connections are refused, and `/api/health` is still
    answered.

    Args:
        most: How many there may be; `HEALTH_PLACES` more for `/api/health`.
        spare: How many more until `make_room`: what newcomers have to say was not read yet.
        most_per_address: How many from one address; 0 for no limit.
        is_proxy: Whether an address is one that this limit is not for.
        refusals: Counts the connections that were dropped.
    """

    def __init__(
        self, most: int, spare: int, most_per_address: int, is_proxy: Callable[[str], bool], refusals: Refusals
    ) -> None:
        self.refusals = refusals
        self._most, self._spare = most, spare
        self._most_per_address, self._is_proxy = most_per_address, is_proxy
        self._open: dict[asyncio.Transport, str] = {}
        self._of_address: Counter[str] = Counter()
        self._timed: set[Timed] = set()
        self._waiting: dict[Timed, None] = {}  # the one that waits longest first

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, newcomer: Timed) -> bool:
        """Take a connection in; False when there are too many from its address."""
        limited = self._most_per_address and not self._is_proxy(newcomer.address)
        network = network_of(newcomer.address) if limited else ""
        self._open[newcomer.transport] = network
        self._of_address[network] += 1
        self._timed.add(newcomer)
        self.wait(newcomer)
        self.make_room(self._spare)
        return not network or self._of_address[network] <= self._most_per_address

    def wait(self, connection: Timed) -> None:
        """It is idle from now on: its next bytes are awaited."""
        self._waiting.pop(connection, None)
        if connection.transport in self._open:
            self._waiting[connection] = None

    def ask(self, connection: Timed) -> bool:
        """It asks for something; False when so many do that there is no room for more than `/api/health`."""
        self._waiting.pop(connection, None)
        return len(self._open) - len(self._waiting) <= self._most

    def upgrade(self, connection: Timed) -> None:
        """It becomes a WebSocket, which has a patience of its own, and keeps its place until `leave`."""
        self._timed.discard(connection)
        self._waiting.pop(connection, None)

    def leave(self, transport: asyncio.Transport) -> None:
        """A place is free again; twice is fine."""
        network = self._open.pop(transport, None)
        if network is not None:
            self._of_address[network] -= 1
            if not self._of_address[network]:
                del self._of_address[network]

    def forget(self, connection: Timed) -> None:
        """Remove a closed connection."""
        self.upgrade(connection)
        self.leave(connection.transport)

    def make_room(self, spare: int = 0) -> None:
        """Drop the connections idle longest while there are too many; called ten times a second."""
        while len(self._open) > self._most + HEALTH_PLACES + spare and self._waiting:
            connection = next(iter(self._waiting))
            self.refusals.add("no_room")
            self.forget(connection)
            connection.transport.abort()

    def sweep(self, now: float) -> None:
        """Call `late` of all connections past their deadline; called once a second."""
        for connection in [timed for timed in self._timed if timed.deadline <= now]:
            connection.late()
        self.refusals.tell()


class ServerConfig(Config):
    """Uvicorn's configuration, and what all connections share."""

    connections: Connections
    turns: Turns
    grace: float


def network_of(address: str) -> str:
    """What counts as one client: the address, or the /64 network of an IPv6 address, which one customer has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 6 and not parsed.is_loopback:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
