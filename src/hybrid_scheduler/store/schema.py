"""The schema's revision: is it the one this code needs, and the migrations that bring it there."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from hybrid_scheduler.store.connect import Database
from hybrid_scheduler.store.errors import StoreError
from hybrid_scheduler.store.reading import touch_every_table

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK_NUMBER = 7_461_352_090_118
"""Names the advisory lock under which PostgreSQL migrates; any number that others do not use."""


def needed_revision() -> str:
    """The revision this code reads and writes."""
    head = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    assert head is not None, f"there are no migrations in {MIGRATIONS}"
    return head


async def found_revision(database: Database) -> str | None:
    """The revision of the database; None when it holds no store."""
    async with database.reading() as connection:
        return await connection.run_sync(_revision)


async def check_schema(database: Database) -> None:
    """Refuse a database that this code would misread.

    Raises:
        StoreError: There is no store in it, or one of another revision; the message says what to do.
        StoreUnavailableError: A table is missing.
    """
    revision, needed, shown = await found_revision(database), needed_revision(), database.address.shown
    if revision == needed:
        async with database.reading() as connection:
            await touch_every_table(connection)
        return
    if revision is None:
        raise StoreError(f"there is no store in {shown}; 'hms db create' makes one")
    if revision in _known():
        raise StoreError(
            f"the store {shown} has schema {revision}, but this version needs {needed}; run 'hms db upgrade'"
        )
    raise StoreError(
        f"the store {shown} has schema {revision}, which this version does not know (it needs {needed}): "
        "a newer version wrote it; install that version"
    )


async def migrate(database: Database) -> None:
    """Bring the schema to the needed revision, whole or not at all; two processes at once take turns.

    Raises:
        StoreError: A newer version wrote it.
    """
    revision = await found_revision(database)
    if revision == needed_revision():
        return
    if revision is not None and revision not in _known():
        await check_schema(database)
    async with database.updating() as connection:
        if database.address.file is None:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK_NUMBER})"))
        await connection.run_sync(_upgrade)


def _known() -> set[str]:
    return {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    config = Config()
    # Alembic reads its options like an INI file, where a per cent sign begins a substitution.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
