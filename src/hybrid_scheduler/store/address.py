"""Where the store is: an SQLAlchemy URL, checked, and how to name it without its password."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from hybrid_scheduler.model.errors import InvalidInputError

DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
}
FORMS = "sqlite+aiosqlite:///FILE or postgresql+asyncpg://USER:PASSWORD@HOST:PORT/DATABASE"


class Address(NamedTuple):
    """Where the store is.

    Attributes:
        url: For the engine; holds the password.
        file: SQLite's file; None for PostgreSQL.
        shown: For messages, without the password.
    """

    url: URL
    file: Path | None
    shown: str

    @property
    def backend(self) -> str:
        """The kind of database."""
        return "PostgreSQL" if self.file is None else "SQLite"


def read_address(text: str) -> Address:
    """Check a URL.

    Raises:
        InvalidInputError: It is not one of a database we can use. The message never shows the password.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        # The text is not repeated: it cannot be told where its password ends.
        raise InvalidInputError(f"the address of the store is not a URL; it must be {FORMS}") from error
    shown = url.render_as_string(hide_password=True)
    if url.drivername not in DRIVERS:
        raise InvalidInputError(f"the store {shown} is of an unknown kind; it must be {FORMS}")
    url = url.set(drivername=DRIVERS[url.drivername])
    return _sqlite(url, shown) if url.get_backend_name() == "sqlite" else _postgresql(url)


def _sqlite(url: URL, shown: str) -> Address:
    if not url.database or url.database == ":memory:" or url.query or url.host:
        raise InvalidInputError(
            f"the store {shown} must be a file and nothing else, like sqlite+aiosqlite:///data/x.db"
        )
    file = Path(url.database)
    # By default SQLite makes a file that is missing. A store whose file is gone must say so and not start empty.
    database = f"file:{quote(str(file.absolute()))}"
    return Address(URL.create(url.drivername, database=database, query={"mode": "rw", "uri": "true"}), file, str(file))


def _postgresql(url: URL) -> Address:
    if not url.database:
        shown = url.render_as_string(hide_password=True)
        raise InvalidInputError(f"the store {shown} names no database; it must be {FORMS}")
    host = url.host or url.query.get("host") or "localhost"
    return Address(url, None, f"{host}:{url.port or 5432}/{url.database}")
