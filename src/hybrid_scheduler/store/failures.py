"""One kind of error for whatever the drivers raise."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
from sqlalchemy import exc

from hybrid_scheduler.store.errors import StoreError, StoreUnavailableError

PASSING = ("08", "28", "3D", "40", "53", "55", "57", "58")
"""Classes of PostgreSQL's states that are about the server and not about what it was asked: connection, login, missing
database, deadlock, resources, locks, shutdown, disk."""


@contextmanager
def named_failures(shown: str) -> Iterator[None]:
    """Turn errors of the drivers into ours, with the store's address; no statements, no values, no passwords."""
    try:
        yield
    except exc.DBAPIError as error:
        raise _named(shown, error.orig or error, error.connection_invalidated) from error
    except exc.TimeoutError as error:
        raise StoreUnavailableError(f"the store {shown} is busy: no connection became free in time") from error
    except (sqlite3.Error, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise _named(shown, error) from error


def _named(shown: str, error: BaseException, disconnected: bool = False) -> StoreError:
    cause = error.__cause__ if isinstance(error.__cause__, asyncpg.PostgresError) else error
    reason = " ".join(str(cause).split()) or type(cause).__name__
    state = getattr(cause, "sqlstate", None)
    if disconnected or _is_passing(error) or (state is not None and state[:2] in PASSING):
        return StoreUnavailableError(
            f"the store {shown} does not answer: {reason}; check that it runs and is reachable"
        )
    return StoreError(f"the store {shown} refused: {reason}")


def _is_passing(error: BaseException) -> bool:
    """Lost and refused connections, time-outs; SQLite's locked, full and broken files."""
    return isinstance(error, OSError | asyncpg.InterfaceError | sqlite3.OperationalError)
