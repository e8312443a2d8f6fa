"""How much history is kept, and forgetting what is beyond it, a little at a time."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from hybrid_scheduler.store import learning
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.disk import give_back, on_full_disk, size_in_use
from hybrid_scheduler.store.removing import counted_tasks, oldest_tasks, remove_tasks, stored_before
from hybrid_scheduler.store.whole import whole

HEADROOM = 12e6


class Retention(NamedTuple):
    """Limits of the history; the first that is reached counts, 0 is none.

    Attributes:
        days: Tasks stored longer ago are forgotten.
        tasks: Most tasks.
        megabytes: Most room: of SQLite all its files, of PostgreSQL what the rows take.
    """

    days: float = 0.0
    tasks: int = 0
    megabytes: float = 0.0


async def prune(database: Database, limits: Retention, most: int, now: datetime) -> int:
    """Forget at most `most` of the oldest tasks beyond the limits and some of what learners did, else give room back.

    Returns:
        How much was done; 0: there is nothing to do.
    """
    due = await _due(database, limits, most, now)
    async with database.reading() as connection:
        beyond = await learning.beyond(connection, limits.days, limits.megabytes, now)

    @whole
    async def remove() -> int:
        async with database.writing(frees=True) as connection:
            return (await remove_tasks(connection, due)).tasks + await learning.forget(connection, beyond)

    return await on_full_disk(database, remove if due or any(beyond.values()) else lambda: give_back(database))


async def _due(database: Database, limits: Retention, most: int, now: datetime) -> list[int]:
    """The oldest tasks beyond the limits."""
    if not any(limits):
        return []
    used = await size_in_use(database) if limits.megabytes else 0.0
    async with database.reading() as connection:
        there = await counted_tasks(connection)
        if there == 0:
            return []
        beyond = there - limits.tasks if limits.tasks else 0
        excess = used - _target(limits.megabytes * 1e6)
        if limits.megabytes and excess > 0:
            beyond = max(beyond, math.ceil(excess / (used / there)))
        if beyond < 1 and not limits.days:
            return []
        oldest = await oldest_tasks(connection, most)
        if beyond >= len(oldest) or not limits.days:
            return oldest[: max(beyond, 0)]
        aged = await stored_before(connection, oldest, now - timedelta(days=limits.days))
        return list({*oldest[: max(beyond, 0)], *aged})


def _target(most: float) -> float:
    """Bytes to prune to: the next batches, and what stays free inside the file, must fit below the limit as well."""
    return most - min(HEADROOM, most / 7)
