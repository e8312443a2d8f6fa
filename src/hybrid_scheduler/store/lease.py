"""The lease of the live engine: one process at a time holds it, and a process that dies loses it when it expires.

Each function is one statement, so two processes that ask at once cannot both get it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, or_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store.tables import engine_lease as lease

SLACK = timedelta(seconds=1)
"""Clocks are set back a little all the time."""


async def acquire(connection: AsyncConnection, owner: str, seconds: float, now: datetime | None) -> bool:
    """Take the lease when it is free, expired or already ours.

    One that was given later than now ends further ahead than it is long: the clock was set back, and it counts as
    expired.
    """
    moment = _now(connection, now)
    free = or_(
        lease.c.owner.is_(None),
        lease.c.owner == owner,
        lease.c.expires <= moment,
        lease.c.given > moment + SLACK,
    )
    return await _extend(connection, free, owner, moment, seconds)


async def renew(connection: AsyncConnection, owner: str, seconds: float, now: datetime | None) -> bool:
    """Extend the lease when it is still ours, expired or not."""
    return await _extend(connection, lease.c.owner == owner, owner, _now(connection, now), seconds)


async def release(connection: AsyncConnection, owner: str) -> bool:
    """Give the lease up when it is ours."""
    free = {"owner": None, "given": None, "expires": None}
    done = await connection.execute(update(lease).where(lease.c.owner == owner).values(**free))
    return done.rowcount == 1


async def _extend(connection: AsyncConnection, held: Any, owner: str, now: Any, seconds: float) -> bool:
    given = {"owner": owner, "given": now, "expires": now + timedelta(seconds=seconds)}
    done = await connection.execute(update(lease).where(held).values(**given))
    return done.rowcount == 1


def _now(connection: AsyncConnection, now: datetime | None) -> Any:
    """The database's clock where several machines share it; an SQLite file is used by one machine."""
    if now is not None:
        return now
    return func.clock_timestamp() if connection.dialect.name == "postgresql" else datetime.now(UTC)
