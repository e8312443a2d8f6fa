"""The lease of the live engine: one process at a time holds it, and whoever dies loses it when it expires.

Each function is one statement, so two processes that ask at once cannot both get it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, or_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store.tables import engine_lease as lease


async def acquire(connection: AsyncConnection, owner: str, seconds: float) -> bool:
    """Take the lease when it is free, expired or already ours."""
    now = _now(connection)
    free = or_(lease.c.owner.is_(None), lease.c.owner == owner, lease.c.expires <= now)
    return await _extend(connection, free, owner, now, seconds)


async def renew(connection: AsyncConnection, owner: str, seconds: float) -> bool:
    """Extend the lease when it is still ours, expired or not: nobody has taken it."""
    return await _extend(connection, lease.c.owner == owner, owner, _now(connection), seconds)


async def release(connection: AsyncConnection, owner: str) -> bool:
    """Give the lease up when it is ours."""
    done = await connection.execute(update(lease).where(lease.c.owner == owner).values(owner=None, expires=None))
    return done.rowcount == 1


async def _extend(connection: AsyncConnection, held: Any, owner: str, now: Any, seconds: float) -> bool:
    length = timedelta(seconds=seconds)
    done = await connection.execute(update(lease).where(held).values(owner=owner, expires=now + length))
    return done.rowcount == 1


def _now(connection: AsyncConnection) -> Any:
    """The database's clock where several machines share it; an SQLite file is used by one machine."""
    return func.clock_timestamp() if connection.dialect.name == "postgresql" else datetime.now(UTC)
