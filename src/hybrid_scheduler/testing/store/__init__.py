"""What every store must do, ours or yours: ``check_store(fresh)`` runs it all.

`fresh` makes a new, empty store and gives a function that opens it. Plain assertions, so any test runner will do; with
pytest, parametrise over `STORE_CHECKS` and run each with `asyncio.run`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hybrid_scheduler.testing.store import history, mishaps, running
from hybrid_scheduler.testing.store.samples import OpenStore, StoreCheck

__all__ = ["STORE_CHECKS", "OpenStore", "StoreCheck", "check_store"]

STORE_CHECKS: tuple[StoreCheck, ...] = (
    history.check_empty,
    history.check_round_trip,
    history.check_paging,
    history.check_submitted,
    history.check_clear,
    history.check_clear_meanwhile,
    history.check_prune,
    history.check_hourly_means,
    history.check_unknown_energy,
    history.check_measured,
    history.check_model_versions,
    history.check_export,
    running.check_ids_grow,
    running.check_concurrent_reserve,
    running.check_interrupted,
    running.check_lease,
    running.check_closed,
    mishaps.check_atomic,
    mishaps.check_cancelled,
    mishaps.check_retry,
    mishaps.check_concurrent_writes,
    mishaps.check_huge_ids,
    mishaps.check_bad_texts,
)
"""All checks of a store; each takes what opens a store that was empty, and raises AssertionError."""


def check_store(fresh: Callable[[], OpenStore]) -> None:
    """Run every check.

    Args:
        fresh: Makes a new, empty store and gives the function that opens it.

    Raises:
        AssertionError: The store breaks the contract; the message says how.
    """
    for check in STORE_CHECKS:
        asyncio.run(check(fresh()))
