"""What can go wrong with the store."""

from __future__ import annotations

from hybrid_scheduler.model.errors import HybridSchedulerError

DAMAGED, MISSING_TABLE, LOCKED, FULL, UNREACHABLE = "damaged", "missing_table", "locked", "full", "unreachable"
SUMMARIES = {
    DAMAGED: "the store is damaged",
    MISSING_TABLE: "a table of the store is missing",
    LOCKED: "the store is locked by another program",
    FULL: "the disk of the store is full",
    UNREACHABLE: "the store does not answer",
}
"""By kind; without addresses, so that they may be shown to any caller."""


class StoreError(HybridSchedulerError):
    """The store cannot do what was asked: its schema does not fit, or the database refused.

    Attributes:
        kind: What is wrong, for programs: `damaged`, `missing_table`, `locked`, `full` or `unreachable`; empty where
            it is none of these.
        summary: The same without the address, for callers of the API.
    """

    def __init__(self, message: str, kind: str = "", summary: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.summary = summary or SUMMARIES.get(kind, "the store refused")


class StoreUnavailableError(StoreError):
    """The database cannot be used just now; the same call may succeed later."""

    def __init__(self, message: str, kind: str = UNREACHABLE, summary: str = "") -> None:
        super().__init__(message, kind, summary)
