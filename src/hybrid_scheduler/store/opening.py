"""Opening, making and upgrading a store."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from hybrid_scheduler.store.address import read_address
from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.disk import give_back, make_shrinkable
from hybrid_scheduler.store.errors import DAMAGED, MISSING_TABLE, StoreError, StoreUnavailableError
from hybrid_scheduler.store.limits import DEFAULT_LIMITS, StoreLimits
from hybrid_scheduler.store.schema import check_schema, found_revision, migrate, needed_revision
from hybrid_scheduler.store.store import Clock, Store

ROOM_TO_READ = 1 << 18


async def open_store(
    url: str, *, create: bool = True, clock: Clock | None = None, limits: StoreLimits = DEFAULT_LIMITS
) -> Store:
    """Open the store at an SQLAlchemy URL.

    Args:
        url: `sqlite+aiosqlite:///FILE` or `postgresql+asyncpg://USER:PASSWORD@HOST:PORT/DATABASE`.
        create: Make folder, file and tables where there are none. An older schema is never changed here.
        clock: Tells the time, as of `Store`.
        limits: How long to wait, how much of the small tables to keep.

    Raises:
        InvalidInputError: The URL is not one of a database we can use.
        StoreError: There is no store, or its schema is not the one this version needs, or it is damaged.
        StoreUnavailableError: The database does not answer.
    """
    async with _connected(url, create, limits) as database:
        if create and await found_revision(database) is None:
            await migrate(database)
        await check_schema(database)
    return Store(database, clock)


async def create_store(url: str) -> bool:
    """Make a store where there is none; False: there was one already, and it fits this version."""
    async with _connected(url, create=True) as database:
        missing = await found_revision(database) is None
        await database.close()
    await (await open_store(url)).close()
    return missing


async def upgrade_store(url: str) -> tuple[str, str]:
    """Bring the schema of a store to the one this version needs; gives the revisions before and after.

    An SQLite file may be rewritten, which needs room for a copy.
    """
    async with _connected(url, create=False) as database:
        revision = await found_revision(database)
        if revision is None:
            await check_schema(database)
        await migrate(database)
        await make_shrinkable(database)
        while await give_back(database, everything=True):  # of tables that were copied
            pass
        await database.close()
    return str(revision), needed_revision()


@asynccontextmanager
async def _connected(url: str, create: bool, limits: StoreLimits = DEFAULT_LIMITS) -> AsyncIterator[Database]:
    """The database at a URL; closed when something goes wrong, otherwise left to the caller."""
    address = read_address(url)
    if address.file is not None:
        _find_file(address.file, create)
    database = Database(address, limits)
    try:
        with _final():
            await _first_look(database)
            yield database
    except BaseException:
        await database.close()
        raise


async def _first_look(database: Database) -> None:
    """Even to read, SQLite needs a little room beside its file."""
    try:
        await found_revision(database)
    except StoreUnavailableError as error:
        if not database.give_up_reserve(error, ROOM_TO_READ):
            raise


@contextmanager
def _final() -> Iterator[None]:
    """A file that is damaged when it is opened will not be better later."""
    try:
        yield
    except StoreUnavailableError as error:
        if error.kind in (DAMAGED, MISSING_TABLE):
            raise StoreError(str(error), error.kind, error.summary) from error
        raise


def _find_file(file: Path, create: bool) -> None:
    """SQLite takes an empty file for an empty database; ours is made here and nowhere else."""
    if file.exists():
        # Asked, not tried: closing a database's file behind SQLite's back would drop the locks of this process.
        if not (file.is_file() and os.access(file, os.R_OK | os.W_OK)):
            raise StoreError(f"the store {file} is not a file that can be read and written; choose another or allow it")
        return
    if not create:
        raise StoreError(f"there is no store in {file}; 'hms db create' makes one")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)  # what SQLite puts beside it is made like it
    except OSError as error:
        raise StoreError(f"the store {file} cannot be made: {error.strerror or error}") from error
