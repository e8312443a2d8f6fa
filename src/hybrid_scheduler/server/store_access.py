"""The store as the web half holds it: opened at the start, or as soon as the database answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hybrid_scheduler.server.background import BackgroundTasks
from hybrid_scheduler.store.errors import StoreUnavailableError

if TYPE_CHECKING:
    from hybrid_scheduler.store.store import Store

_LOG = logging.getLogger(__name__)


class StoreAccess:
    """Gives the open store.

    A database that does not answer when the service starts is asked again in the background; a schema that does not
    fit is an error at once.

    Args:
        open_store: Opens it.
        retry_seconds: Between two attempts.
    """

    def __init__(self, open_store: Callable[[], Awaitable[Store]], retry_seconds: float = 1.0) -> None:
        self._retry_seconds = retry_seconds
        self._open_store = open_store
        self._store: Store | None = None
        self._background = BackgroundTasks()
        self._problem = "the store is not open yet"

    @property
    def store(self) -> Store:
        """The open store.

        Raises:
            StoreUnavailableError: It could not be opened yet.
        """
        if self._store is None:
            raise StoreUnavailableError(self._problem)
        return self._store

    async def open(self) -> None:
        """Open the store; when the database does not answer, go on trying in the background.

        Raises:
            StoreError: The schema does not fit.
        """
        if self._store is None and not self._background and not await self._try():
            self._background.start(self._keep_trying(), "open-store")

    async def close(self) -> None:
        """Close it."""
        await self._background.end()
        if self._store is not None:
            await self._store.close()
            self._store = None

    async def _try(self) -> bool:
        try:
            self._store = await self._open_store()
        except StoreUnavailableError as error:
            if str(error) != self._problem:
                _LOG.warning("%s; trying again every %g s", error, self._retry_seconds)
            self._problem = str(error)
            return False
        return True

    async def _keep_trying(self) -> None:
        while not await self._try():
            await asyncio.sleep(self._retry_seconds)
        _LOG.info("the store is open")
