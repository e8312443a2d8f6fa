"""How long a store waits and how much of the small tables it keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits of one open store.

    Attributes:
        lock_seconds: How long a call waits for a lock or a connection before the store counts as locked.
        runs: Runs that are kept; older ones go once they are over and have no tasks left.
        versions: Model versions kept per scheduler.
        export_rows: Rows read at a time while a table is exported.
        file_pages: Most pages an SQLite file may have; None leaves it to the disk.
    """

    lock_seconds: float = 10.0
    runs: int = 1000
    versions: int = 1000
    export_rows: int = 20_000
    file_pages: int | None = None


DEFAULT_LIMITS = StoreLimits()
