"""One kind of error for whatever the drivers raise, which says what is wrong."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy import exc

from hybrid_scheduler.store.errors import (
    DAMAGED,
    FULL,
    LOCKED,
    MISSING_TABLE,
    UNREACHABLE,
    StoreError,
    StoreUnavailableError,
)

PASSING = ("08", "28", "3D", "40", "53", "55", "57", "58")
"""Classes of PostgreSQL's states that are about the server and not about what it was asked: connection, login, missing
database, deadlock, resources, locks, shutdown, disk."""
STATES = {
    "42P01": MISSING_TABLE,
    "40P01": LOCKED,
    "55P03": LOCKED,
    "53100": FULL,
    "XX001": DAMAGED,
    "XX002": DAMAGED,
}
"""PostgreSQL's states that have a kind of their own."""
SQLITE_CODES = {
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_PROTOCOL: LOCKED,
    sqlite3.SQLITE_FULL: FULL,
}
CONFUSED = (asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Of the driver when a connection is closed, or is being closed by the server."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
ELSEWHERE = "restore a copy of it, or move it away and begin a new one with 'hms db create'"
MESSAGES = {
    DAMAGED: f"the store {{shown}} is damaged: {{reason}}; {ELSEWHERE}",
    LOCKED: "the store {shown} is locked: {reason}; end the program that holds it",
    FULL: "the disk of the store {shown} is full: {reason}; make room, or clear the history ('hms db clear')",
    UNREACHABLE: "the store {shown} does not answer: {reason}; check that it runs and is reachable",
}


@contextmanager
def named_failures(shown: str) -> Iterator[None]:
    """Turn errors of the drivers into ours, with the store's address; no statements, no values, no passwords."""
    try:
        yield
    except exc.DBAPIError as error:
        raise _named(shown, error.orig or error, error.connection_invalidated) from error
    except exc.TimeoutError as error:
        raise StoreUnavailableError(f"the store {shown} is busy: no connection became free in time", LOCKED) from error
    except (sqlite3.Error, asyncpg.PostgresError, *CONFUSED, OSError) as error:
        raise _named(shown, error) from error


def _named(shown: str, error: BaseException, disconnected: bool = False) -> StoreError:
    cause = error.__cause__ if isinstance(error.__cause__, asyncpg.PostgresError) else error
    reason = " ".join(str(cause).split()) or type(cause).__name__
    kind = UNREACHABLE if disconnected else _kind(error, cause, reason)
    if kind == MISSING_TABLE:
        match = re.search(r"no such table: (?:main\.)?(\w+)|relation \"(\w+)\"", reason)
        lacks = f"has no table {next(filter(None, match.groups()))!r}" if match else "lacks a table"
        return StoreUnavailableError(f"the store {shown} {lacks}; {ELSEWHERE}", kind, f"the store {lacks}")
    if kind:
        return StoreUnavailableError(MESSAGES[kind].format(shown=shown, reason=reason), kind)
    return StoreError(f"the store {shown} refused: {reason}")


def _kind(error: BaseException, cause: BaseException, reason: str) -> str:
    """What is wrong, by the driver's own codes; empty when the database is well and what it was asked was not."""
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        return STATES.get(state, UNREACHABLE if state[:2] in PASSING else "")
    if isinstance(error, OSError):
        return FULL if error.errno in NO_ROOM else UNREACHABLE
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_IOERR_SHMSIZE:
            return FULL  # no room for the index of the log, without which nothing can be read
        if reason.startswith("no such table"):
            return MISSING_TABLE
        return SQLITE_CODES.get(code & 0xFF, UNREACHABLE if isinstance(error, sqlite3.OperationalError) else "")
    return UNREACHABLE if isinstance(error, CONFUSED) else ""
