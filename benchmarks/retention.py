"""A year in the life of a store that prunes itself, on SQLite and on a PostgreSQL that is started for it.

    python benchmarks/retention.py [--days 365] [--thin 50] [--megabytes 1024] [--only sqlite|postgresql]

Rows are made directly and the clock is told: a year of hours at the default rate of the live race, of which one task in
50 is written, and one more day in full. After every batch the store is pruned as the live engine does it. Exits
non-zero when the store ever takes more than it may, an hour is missing from the trends, a task from their sums, or a
page of history takes 100 ms at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import asyncpg
from store import REPEATS, SCHEDULERS, batch_of, postgresql, show, sqlite

from hybrid_scheduler.store import Retention, RunRow, Store, open_store
from hybrid_scheduler.store.disk import size_in_use

RATE = 2.4
"""Tasks per second of the live race by default."""
AT_ONCE = 200
PAGE_SECONDS = 0.1
BLOAT = 2.0
"""PostgreSQL's tables may take so many times the limit: they keep the room of deleted rows for new ones."""
HASTE = ("autovacuum_naptime = '1s'", "autovacuum_vacuum_cost_delay = 0")
"""It looks for deleted rows once a minute; here a minute is a week."""


class Year:
    """Writes hour after hour into one store and prunes it."""

    def __init__(self, store: Store, run: RunRow, limits: Retention, megabytes: float) -> None:
        self._store, self._run, self._limits, self._most = store, run, limits, megabytes * 1e6
        self.written, self.hours = 0, 0
        self.writes: list[float] = []
        self.steps: list[float] = []
        self.largest = self.largest_on_disk = 0.0

    async def hour(self, tasks: int) -> None:
        """One hour with so many tasks."""
        left = tasks
        while left > 0:
            count = min(left, AT_ONCE)
            batch = batch_of(self._run, self.written, count)
            self.writes.append(await _timed(lambda batch=batch: self._store.write(batch)))
            self.written += count
            left -= count
            while await self._prune():
                pass
        self.hours += 1
        on_disk = float(await self._store.size())
        held = on_disk if self._store.backend == "SQLite" else await size_in_use(self._store._database)
        self.largest, self.largest_on_disk = max(self.largest, held), max(self.largest_on_disk, on_disk)
        assert held <= self._most, f"hour {self.hours}: {held / 1e6:.1f} MB are more than {self._most / 1e6:.0f} MB"

    async def _prune(self) -> int:
        began = time.perf_counter()
        done = await self._store.prune(self._limits, 2 * AT_ONCE)
        self.steps.append(time.perf_counter() - began)
        return done


async def hasten(url: str) -> None:
    """Have PostgreSQL clean up at the pace of this year."""
    if url.startswith("postgresql"):
        connection = await asyncpg.connect(url.replace("+asyncpg", ""))
        for setting in HASTE:
            await connection.execute(f"ALTER SYSTEM SET {setting}")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()


async def measure(url: str, days: int, thin: int, megabytes: int) -> None:
    now = began = datetime(2025, 1, 1, tzinfo=UTC)
    started = time.perf_counter()
    async with await open_store(url, clock=lambda: now) as store:
        run = await store.begin_run("live", seed=1, configuration={}, schedulers=SCHEDULERS, reserve=10**9)
        year = Year(store, run, Retention(megabytes=megabytes), megabytes)
        per_hour = round(RATE * 3600)
        for hour in range(24 * (days + 1)):
            now = began + timedelta(hours=hour)
            await year.hour(per_hour if hour >= 24 * days else max(per_hour // thin, 1))
        left = (await store.counts()).tasks
        print(f"\n{store.backend}: {year.written:,} tasks in {year.hours:,} hours, {left:,} left, "
              f"in {time.perf_counter() - started:.0f} s")  # fmt: skip
        print(f"  at most {year.largest / 1e6:,.1f} of {megabytes:,} MB; on disk {year.largest_on_disk / 1e6:,.1f} MB")
        show(f"write {AT_ONCE} tasks x {len(SCHEDULERS)} results", year.writes)
        show("one step of pruning", year.steps)
        print(f"  99 of 100 steps of pruning within {statistics.quantiles(year.steps, n=100)[98] * 1e3:.1f} ms")
        await check_trends(store, year)
        await check_pages(store, left)
        if store.backend == "PostgreSQL":
            assert year.largest_on_disk < BLOAT * megabytes * 1e6 + 50e6, "deleted rows take more and more room"


async def check_trends(store: Store, year: Year) -> None:
    began = time.perf_counter()
    rows = await store.hourly_means()
    seconds = time.perf_counter() - began
    for name in SCHEDULERS:
        its = [row for row in rows if row.scheduler_name == name]
        assert len(its) == year.hours, f"{name}: {len(its)} of {year.hours} hours"
        assert sum(row.tasks for row in its) == year.written, f"{name}: tasks are missing from the trends"
    print(f"  trends: {len(rows):,} rows, all of the year, read in {seconds * 1e3:.0f} ms")


async def check_pages(store: Store, left: int) -> None:
    newest = (await store.counts()).last_task_id or 0
    questions: dict[str, Callable[[], Awaitable[object]]] = {
        "a page of history, newest": lambda: store.comparative(100),
        "a page of history, oldest": lambda: store.comparative(100, before=newest - left + 101),
        "a page of one scheduler": lambda: store.comparative(100, scheduler="oracle"),
        "a page of labels": lambda: store.training(100),
    }
    for name, question in questions.items():
        seconds = [await _timed(question) for _ in range(REPEATS)]
        show(name, seconds)
        assert statistics.median(seconds) < PAGE_SECONDS, f"{name} takes {statistics.median(seconds):.3f} s"


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began


def main() -> int:
    """Write, prune, look, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--thin", type=int, default=50)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    failed = False
    for name, started in (("sqlite", sqlite), ("postgresql", postgresql)):
        if options.only in (None, name):
            with started() as url:
                try:
                    asyncio.run(hasten(url))
                    asyncio.run(measure(url, options.days, options.thin, options.megabytes))
                except AssertionError as error:
                    print(f"{name} FAILED: {error}")
                    failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
