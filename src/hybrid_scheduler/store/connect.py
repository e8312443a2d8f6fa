"""Connections to the database, and the two ways to use one: reading and writing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection, event, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from hybrid_scheduler.store.address import Address
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.store.errors import StoreUnavailableError
from hybrid_scheduler.store.failures import named_failures
from hybrid_scheduler.store.tables import id_counter

CONNECT_SECONDS = 5
COMMAND_SECONDS = 60
LOCK_SECONDS = 10.0
WRITES = "hybrid_scheduler_writes"
SQLITE_PRAGMAS = (
    "journal_mode = WAL",  # readers and the writer do not stop each other
    # An answer "stored" must survive a power cut too. NORMAL would survive only the death of the process: in WAL mode
    # it leaves commits to the system's cache. FULL costs one flush per batch, and batches are few.
    "synchronous = FULL",
    "foreign_keys = ON",
)


class Database:
    """The engine behind a store.

    Writers take turns, on SQLite because it has one write lock, on PostgreSQL by a row lock: what they do is short,
    and no two of them can then disagree about ids or wait for each other in a circle. Readers never wait for them.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.engine = _postgresql(address) if address.file is None else _sqlite(address)
        # Inside one process waiting in order is fairer and quicker than SQLite's polling of its file lock.
        self._turn = nullcontext() if address.file is None else asyncio.Lock()
        self._file = _identity(address.file)

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads."""
        self._check_file()
        with named_failures(self.address.shown):
            async with self.engine.connect() as connection:
                yield connection

    @asynccontextmanager
    async def updating(self) -> AsyncIterator[AsyncConnection]:
        """A transaction of a single statement that changes something; on PostgreSQL it does not wait for writers."""
        self._check_file()
        with named_failures(self.address.shown):
            async with self._turn, self.engine.connect() as connection:
                await connection.execution_options(**{WRITES: True})
                async with connection.begin():
                    yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that changes something, one at a time over all processes."""
        async with self.updating() as connection:
            if self.address.file is None:
                await connection.execute(select(id_counter.c.next_task_id).with_for_update())
            yield connection

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
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _postgresql(address: Address) -> AsyncEngine:
    settings = {
        "application_name": "hybrid-ml-scheduler",
        "lock_timeout": f"{round(LOCK_SECONDS * 1000)}ms",
        "timezone": "UTC",
    }
    return create_async_engine(
        address.url,
        pool_pre_ping=True,  # a connection that died in the pool is replaced before anybody notices
        pool_timeout=LOCK_SECONDS,
        connect_args={"timeout": CONNECT_SECONDS, "command_timeout": COMMAND_SECONDS, "server_settings": settings},
        json_serializer=to_json,
        json_deserializer=orjson.loads,
    )


def _sqlite(address: Address) -> AsyncEngine:
    engine = create_async_engine(
        address.url, pool_timeout=LOCK_SECONDS, json_serializer=to_json, json_deserializer=orjson.loads
    )
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    # The driver's own transactions begin late and without a write lock; ours begin in `_begin_sqlite`.
    connection.isolation_level = None
    cursor = connection.cursor()
    try:
        for pragma in (f"busy_timeout = {round(LOCK_SECONDS * 1000)}", *SQLITE_PRAGMAS):
            cursor.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:
        connection.close()  # the pool does not know it yet, and its thread would outlive it
        raise
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options: Any = connection.get_execution_options()
    # A transaction that begins by reading and then writes fails when somebody else wrote in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(WRITES) else "BEGIN")
