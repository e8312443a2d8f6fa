"""The room a store takes, and giving it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.errors import FULL, StoreError, StoreUnavailableError

INCREMENTAL = 2
PAGES_AT_ONCE = 256
"""More would spill over into the log."""
FEWEST_FREE, MOST_FREE = 128, 2048
"""Free pages left in the file, a sixteenth of it: the next batches need them."""
SHORT_WAIT = 100
"""Milliseconds that a checkpoint waits for readers; writers wait for it meanwhile."""
LARGEST_LOG = 16 << 20
"""No pruning while the write-ahead log is larger than this, because a long reader keeps it from being checkpointed."""

T = TypeVar("T")

_LIVE = text("""
    WITH ends AS (
        SELECT ARRAY(SELECT task_id FROM tasks ORDER BY task_id LIMIT 50)
            || ARRAY(SELECT task_id FROM tasks ORDER BY task_id DESC LIMIT 50) AS ids
    ), taken AS (
        SELECT (SELECT count(*) FROM tasks WHERE task_id = ANY (ids)) AS tasks,
            (SELECT sum(pg_column_size(t.*) + 28) FROM tasks t WHERE task_id = ANY (ids))
            + (SELECT sum(pg_column_size(r.*) + 72) FROM scheduler_results r WHERE task_id = ANY (ids))
            + (SELECT coalesce(sum(pg_column_size(l.*) + 28), 0) FROM training_data l WHERE task_id = ANY (ids))
            AS bytes
        FROM ends
    )
    SELECT ((SELECT sum(tasks) FROM runs) * bytes / nullif(tasks, 0))::float8,
        (SELECT sum(pg_total_relation_size(name::regclass))
         FROM unnest(ARRAY['tasks', 'scheduler_results', 'training_data']) name)::float8
    FROM taken
""")
"""What the rows take with their share of the indexes, by a sample, and what their tables do. The tables keep the room
of deleted rows for new ones, so going by them would prune everything in vain."""


async def size_on_disk(database: Database) -> int:
    """Bytes in all files of the store, or those of PostgreSQL's database."""
    if database.address.file is not None:
        return sum(map(_size, _files(database.address.file)))
    async with database.reading() as connection:
        size = await connection.execute(text("SELECT pg_database_size(current_database())"))
        return int(size.scalar_one())


async def size_in_use(database: Database) -> float:
    """Bytes that would be left if all that is free inside the files were given back; what a limit is about."""
    file = database.address.file
    if file is None:
        async with database.reading() as connection:
            return await _live_size(connection)
    pages, free, size = await database.pragmas("page_count", "freelist_count", "page_size")
    _, log, *rest = map(_size, _files(file))
    return (pages - free) * size + min(log, LARGEST_LOG) + sum(rest)


async def give_back(database: Database, *, everything: bool = False) -> int:
    """Give a little of the room that is free inside SQLite's file back to the disk; gives the number of pages."""
    if database.address.file is None:
        return 0
    pages, before, size = await database.pragmas("page_count", "freelist_count", "page_size")
    kept = 0 if everything else min(max(pages // 16, FEWEST_FREE), MOST_FREE)
    if before > kept:
        async with database.driver() as driver:
            await driver.executescript(f"PRAGMA incremental_vacuum({min(PAGES_AT_ONCE, before - kept)})")
        (after,) = await database.pragmas("freelist_count")
        if after < before:
            return before - after
    main, log, *_ = map(_size, _files(database.address.file))
    if log > LARGEST_LOG or main > pages * size:
        await checkpoint(database)  # only this makes the files themselves smaller
    return 0


async def checkpoint(database: Database) -> None:
    """Fold SQLite's log into its file and empty it; left for another time while there are readers."""
    async with database.driver() as driver:
        await driver.execute_fetchall(f"PRAGMA busy_timeout = {SHORT_WAIT}")
        try:
            await driver.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            await driver.execute_fetchall(f"PRAGMA busy_timeout = {round(database.limits.lock_seconds * 1000)}")


async def make_shrinkable(database: Database) -> bool:
    """Rewrite an SQLite file that was made before files could shrink; False: there is nothing to do.

    Raises:
        StoreError: There is no room for the copy, or another process is using the file.
    """
    if database.address.file is None or await database.pragmas("auto_vacuum") == [INCREMENTAL]:
        return False
    try:
        async with database.driver() as driver:
            await driver.executescript("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
    except StoreUnavailableError as error:
        if error.kind != FULL:
            raise
        needed = 2 * _size(database.address.file) / 1e6
        raise StoreError(
            f"the store {database.address.shown} can be used, but not shrink: rewriting it takes some {needed:.0f} MB "
            "for a while; make room and run 'hms db upgrade' again",
            FULL,
        ) from error
    await checkpoint(database)
    return True


async def on_full_disk(database: Database, step: Callable[[], Awaitable[T]]) -> T:
    """Do what makes room; when the disk is too full even for that, with the room kept in reserve.

    Raises:
        StoreUnavailableError: Also of the kind `full`, where the log alone would take that room as it is folded in.
    """
    try:
        return await step()
    except StoreUnavailableError as error:
        if await _log_outgrows_reserve(database) or not database.give_up_reserve(error):
            raise
    await checkpoint(database)
    return await step()


async def _log_outgrows_reserve(database: Database) -> bool:
    file, reserve = database.address.file, database.reserve
    if file is None or reserve is None:
        return False
    pages, size = await database.pragmas("page_count", "page_size")
    return pages * size - _size(file) > reserve.size() // 2


async def _live_size(connection: AsyncConnection) -> float:
    rows, tables = (await connection.execute(_LIVE)).one()
    return float(min(rows or 0.0, tables))


def _files(file: Path) -> list[Path]:
    """The store itself, its log, and the rest."""
    return [file, *(file.with_name(f"{file.name}-{part}") for part in ("wal", "shm", "reserve"))]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
