"""What can go wrong with the store."""

from __future__ import annotations

from hybrid_scheduler.model.errors import HybridSchedulerError


class StoreError(HybridSchedulerError):
    """The store cannot do what was asked: its schema does not fit, or the database refused."""


class StoreUnavailableError(StoreError):
    """The database does not answer; the same call may succeed later."""
