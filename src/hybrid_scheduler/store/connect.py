"""Connections to the database, and the two ways to use one: reading and writing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, event, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from hybrid_scheduler.store.address import Address
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.store.errors import DAMAGED, FULL, StoreUnavailableError
from hybrid_scheduler.store.failures import named_failures
from hybrid_scheduler.store.limits import DEFAULT_LIMITS, StoreLimits
from hybrid_scheduler.store.reserve import MOST, Reserve
from hybrid_scheduler.store.tables import id_counter

CONNECT_SECONDS = 5
COMMAND_SECONDS = 60
WRITES = "hybrid_scheduler_writes"
LOG_PAGES = 256
SQLITE_PRAGMAS = (
    "journal_mode = WAL",  # readers and the writer do not stop each other
    # An answer "stored" must survive a power cut too. NORMAL would survive only the death of the process: in WAL mode
    # it leaves commits to the system's cache. FULL costs one flush per batch, and batches are few.
    "synchronous = FULL",
    "foreign_keys = ON",
    # Some builds overwrite what is deleted: clearing would have to write as much as it frees.
    "secure_delete = OFF",
    # The log stays small, so that it fits into the room that is kept for a full disk.
    f"wal_autocheckpoint = {LOG_PAGES}",
    "journal_size_limit = 4194304",
    "cache_size = -8192",  # a batch of the live engine fits
)


class Database:
    """The engine behind a store.

    Writers take turns, on SQLite because it has one write lock, on PostgreSQL by a row lock: what they do is short,
    and no two of them can then disagree about ids or wait for each other in a circle. Readers never wait for them.

    Attributes:
        address: Where it is.
        limits: How long to wait, how much to keep.
        reserve: Room kept for a full disk; None for PostgreSQL, which manages its own disk.
    """

    def __init__(self, address: Address, limits: StoreLimits = DEFAULT_LIMITS) -> None:
        self.address, self.limits = address, limits
        self.engine = (_postgresql if address.file is None else _sqlite)(address, limits)
        self.reserve = None if address.file is None else Reserve(address.file)
        # Inside one process waiting in order is fairer and quicker than SQLite's polling of its file lock.
        self._turn = nullcontext() if address.file is None else asyncio.Lock()
        self._file = _identity(address.file)
        self._damage = ""

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads."""
        with self._named():
            async with self.engine.connect() as connection:
                yield connection

    @asynccontextmanager
    async def updating(self) -> AsyncIterator[AsyncConnection]:
        """A transaction of a single statement that changes something; on PostgreSQL it does not wait for writers."""
        self.check_undamaged()
        with self._named():
            async with self._turn, self.engine.connect() as connection:
                await connection.execution_options(**{WRITES: True})
                async with connection.begin():
                    yield connection

    @asynccontextmanager
    async def writing(self, *, frees: bool = False) -> AsyncIterator[AsyncConnection]:
        """A transaction that changes something, one at a time over all processes.

        Args:
            frees: It makes room, so it goes ahead on a full disk.
        """
        async with self.updating() as connection:
            if self.reserve is None:
                await connection.execute(select(id_counter.c.next_task_id).with_for_update())
            elif not frees:
                self.reserve.hold()
            yield connection

    async def pragmas(self, *names: str) -> list[int]:
        """What SQLite says to questions of one number each, e.g. `freelist_count`."""
        async with self.reading() as connection:
            return [int((await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one()) for name in names]

    @asynccontextmanager
    async def driver(self) -> AsyncIterator[Any]:
        """SQLite's own connection, for what must not stand in a transaction; in turn with the writers."""
        with self._named():
            async with self._turn, self.engine.connect() as connection:
                yield (await connection.get_raw_connection()).driver_connection

    def give_up_reserve(self, error: StoreUnavailableError, most: int = MOST) -> bool:
        """Make room on a full disk; False: the error is another one, or there was nothing to give up."""
        return error.kind == FULL and self.reserve is not None and self.reserve.release(most)

    def check_undamaged(self) -> None:
        """Nothing is written into a file that is known to be damaged, until it is opened again.

        Raises:
            StoreUnavailableError: It is.
        """
        if self._damage:
            raise StoreUnavailableError(self._damage, DAMAGED)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Our errors for the drivers'; damage is remembered."""
        self._check_file()
        try:
            with named_failures(self.address.shown):
                yield
        except StoreUnavailableError as error:
            if error.kind == DAMAGED:
                self._damage = str(error)
            raise

    def _check_file(self) -> None:
        """SQLite goes on writing into a file that was deleted; what is written there is lost without a word."""
        if self._file != _identity(self.address.file):
            raise StoreUnavailableError(
                f"the store {self.address.shown} was deleted or replaced while in use; restart to use the new one"
            )


def _identity(file: Path | None) -> tuple[int, int] | None:
    if file is None:
        return None
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _postgresql(address: Address, limits: StoreLimits) -> AsyncEngine:
    settings = {
        "application_name": "hybrid-ml-scheduler",
        "lock_timeout": f"{round(limits.lock_seconds * 1000)}ms",
        "timezone": "UTC",
    }
    return create_async_engine(
        address.url,
        pool_pre_ping=True,  # a connection that died in the pool is replaced before it is used
        pool_timeout=limits.lock_seconds,
        connect_args={"timeout": CONNECT_SECONDS, "command_timeout": COMMAND_SECONDS, "server_settings": settings},
        json_serializer=to_json,
        json_deserializer=orjson.loads,
    )


def _sqlite(address: Address, limits: StoreLimits) -> AsyncEngine:
    engine = create_async_engine(
        address.url, pool_timeout=limits.lock_seconds, json_serializer=to_json, json_deserializer=orjson.loads
    )
    event.listen(engine.sync_engine, "connect", partial(_prepare_sqlite, limits))
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(limits: StoreLimits, connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    # The driver's own transactions begin late and without a write lock; ours begin in `_begin_sqlite`.
    connection.isolation_level = None
    cursor = connection.cursor()
    try:
        cursor.execute(f"PRAGMA busy_timeout = {round(limits.lock_seconds * 1000)}")
        cursor.execute("PRAGMA page_count")
        # Only a file that is just being made can be made to shrink; to ask for it again would need the write lock.
        empty = cursor.fetchone() == (0,)
        first = ("auto_vacuum = INCREMENTAL",) if empty else ()
        last = () if limits.file_pages is None else (f"max_page_count = {limits.file_pages}",)
        for pragma in (*first, *SQLITE_PRAGMAS, *last):
            cursor.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        connection.close()  # the pool does not know it yet, and its thread would outlive it
        raise
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options: Any = connection.get_execution_options()
    # A transaction that reads first and then writes fails when another has written in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(WRITES) else "BEGIN")
