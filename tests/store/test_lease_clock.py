"""The lease and a clock that jumps."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from hybrid_scheduler.store import open_store

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_lease_from_the_future_has_expired(database_url: str) -> None:
    now = START + timedelta(hours=1)

    async def use() -> None:
        nonlocal now
        async with await open_store(database_url, clock=lambda: now) as store:
            assert await store.acquire_lease("dead", 5.0)
            now = START  # set back by an hour; whoever held the lease is no more
            assert await store.acquire_lease("next", 5.0), "an hour of nobody"
            assert not await store.renew_lease("dead", 5.0)
            now = START + timedelta(seconds=4)
            assert not await store.acquire_lease("third", 5.0), "it is held"
            now = START + timedelta(seconds=5)
            assert await store.acquire_lease("third", 5.0), "it has expired"

    asyncio.run(use())


def test_a_clock_that_is_set_right_a_little_takes_it_from_nobody(database_url: str) -> None:
    now = START

    async def use() -> None:
        nonlocal now
        async with await open_store(database_url, clock=lambda: now) as store:
            assert await store.acquire_lease("alive", 5.0)
            now = START - timedelta(milliseconds=500)
            assert not await store.acquire_lease("other", 5.0)
            assert not await store.acquire_lease("other", 3600.0), "its own length counts, not that of who asks"
            assert await store.renew_lease("alive", 5.0)

    asyncio.run(use())


def test_a_long_lease_is_not_taken_by_who_would_have_a_short_one(database_url: str) -> None:
    async def use() -> None:
        async with await open_store(database_url, clock=lambda: START) as store:
            assert await store.acquire_lease("long", 3600.0)
            assert not await store.acquire_lease("short", 1.0)

    asyncio.run(use())
