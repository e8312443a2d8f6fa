"""The store that the settings name, for whoever has no event loop: where it is, and what real nodes measured.

    known_times(hardware: Iterable[str], url: str | None = None) -> list[Measured]
    keep_times(rows: Iterable[Measured], url: str | None = None) -> None

`Measured` is that of `hardware.nodes.measured_times`; `hardware` holds what each lane is (`Lanes.hardware`). Both may
be called from any thread, also where an event loop runs, as in a notebook: each call opens the store, in a thread of
its own, and closes it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid_scheduler.config.service import load_service_settings
from hybrid_scheduler.model.errors import MissingExtraError

if TYPE_CHECKING:
    from hybrid_scheduler.hardware.nodes.measured_times import Measured
    from hybrid_scheduler.store import MeasuredRow, Store

T = TypeVar("T")


def store_url() -> str:
    """Where the store is, from the environment; may hold a password."""
    return load_service_settings().database


def store_room() -> Any:
    """The package of the store, which needs libraries that not everybody has.

    Raises:
        MissingExtraError: They are not there.
    """
    try:
        from hybrid_scheduler import store
    except ModuleNotFoundError as error:
        raise MissingExtraError("the store", str(error.name), "server") from error
    return store


def known_times(hardware: Iterable[str], url: str | None = None) -> list[Measured]:
    """What was measured before on these kinds of hardware, by kind, hardware and step.

    A store that is not there is made, so one that cannot be used is known before any work is done.

    Args:
        hardware: What each lane is; the same name several times is fine.
        url: Of the store; by default that of the settings.

    Raises:
        MissingExtraError: The store's libraries are not installed.
        StoreError: The store cannot be used; an older one is to be upgraded with `hms db upgrade`.
    """
    from hybrid_scheduler.hardware.nodes.measured_times import Measured

    async def read(store: Store) -> list[MeasuredRow]:
        return await store.measured_times(set(hardware))

    return [Measured(*row) for row in _in_store(read, url)]


def keep_times(rows: Iterable[Measured], url: str | None = None) -> None:
    """Keep what was measured; of the same kind, hardware and step the later stands, whoever it was kept by.

    Args:
        rows: E.g. `MeasuredTimes.rows()`.
        url: Of the store; by default that of the settings.

    Raises:
        MissingExtraError: The store's libraries are not installed.
        StoreError: The store cannot be used.
    """
    row = store_room().MeasuredRow
    kept = [row(*astuple(each)) for each in rows]

    async def write(store: Store) -> None:
        await store.keep_measured(kept)

    _in_store(write, url)


def _in_store(work: Callable[[Store], Coroutine[Any, Any, T]], url: str | None) -> T:
    """Do something with the open store, in a loop and a thread of its own."""
    room, address = store_room(), url or store_url()

    async def opened() -> T:
        async with await room.open_store(address) as store:
            return await work(store)

    with ThreadPoolExecutor(1, "store") as thread:
        return thread.submit(asyncio.run, opened()).result()
