"""The engine's door to the store: a thread with an event loop, so that the race never waits for a database.

What is finished is queued and written in batches, each whole or absent. When the store does not answer, the thread
tries again until it does; the queue is bounded, so the engine then waits (`full`) and nothing is lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from hybrid_scheduler.store import Batch, Store, StoreError, StoreUnavailableError, open_store

MOST_WAITING = 5000
"""Finished tasks that may wait for the store."""
AT_ONCE = 1000
"""Tasks written in one transaction."""
LEASE_SECONDS, RENEW_SECONDS = 5.0, 1.5
LONGEST_PAUSE = 2.0

T = TypeVar("T")
Say = Callable[[str, str], None]
"""Told a level and a line for the log."""


class LostLeaseError(StoreError):
    """Another process has taken the engine over."""


class Writer:
    """Owns the engine's connection to the store.

    Attributes:
        available: Whether the store answered last.
        owned: Whether this process holds the lease.
        failed: Why it cannot go on; empty while it can.
        stored: Tasks written since `begin`.
    """

    def __init__(self, url: str, owner: str, say: Say) -> None:
        self._url, self._owner, self._say = url, owner, say
        self._waiting: deque[Batch] = deque()
        self._count = 0
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="store", daemon=True)
        self._store: Store | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.available, self.owned, self.failed, self.stored = True, False, "", 0
        self.backend = "postgresql" if url.startswith("postgresql") else "sqlite"

    def open(self) -> None:
        """Begin to connect, to ask for the lease and to write."""
        self._thread.start()
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._tasks = [self._loop.create_task(work) for work in (self._write_forever(), self._hold_lease())]

    @property
    def waiting(self) -> int:
        """Finished tasks that are not stored yet."""
        return self._count

    @property
    def full(self) -> bool:
        """Whether the engine must wait."""
        return self._count >= MOST_WAITING

    def put(self, batch: Batch) -> None:
        """Queue finished tasks."""
        with self._lock:
            self._waiting.append(batch)
            self._count += len(batch.tasks)

    def ask(self, question: Callable[[Store], Awaitable[T]]) -> Future[T]:
        """Have the store do something; tried again until it answers."""
        return asyncio.run_coroutine_threadsafe(self._until_it_answers(question), self._loop)

    def flush(self, timeout: float) -> bool:
        """Wait until everything queued is stored; False when the time is over."""
        return self._wait(lambda: self._count == 0 or bool(self.failed), timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Give the lease up and end the thread."""

        async def end() -> None:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._store is not None:
                if self.owned:
                    try:
                        await self._store.release_lease(self._owner)
                    except StoreError as error:
                        self._say("warning", f"the lease could not be given up: {error}")
                await self._store.close()

        try:
            asyncio.run_coroutine_threadsafe(end(), self._loop).result(timeout)
        except TimeoutError:
            self._say("warning", "the store did not answer at the end; its lease runs out by itself")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout)

    def _wait(self, done: Callable[[], bool], timeout: float) -> bool:
        pause = threading.Event()
        for _ in range(int(timeout / 0.01) + 1):
            if done():
                return True
            pause.wait(0.01)
        return done()

    async def _until_it_answers(self, question: Callable[[Store], Awaitable[T]]) -> T:
        pause = 0.05
        while True:
            try:
                if self._store is None:
                    self._store = await open_store(self._url)
                answer = await question(self._store)
            except StoreUnavailableError as error:
                if self.available:
                    self.available = False
                    self._say("warning", f"the store does not answer, the engine waits: {error}")
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                if not self.available:
                    self.available = True
                    self._say("info", "the store answers again")
                return answer

    async def _write_forever(self) -> None:
        while True:
            batch = self._next_batch()
            if batch is None:
                await asyncio.sleep(0.02)
                continue
            try:
                await self._until_it_answers(lambda store, batch=batch: self._write(store, batch))  # type: ignore[misc]
            except StoreError as error:
                self.failed = str(error)
                self._say("error", f"results cannot be stored: {error}")
                return
            with self._lock:
                self._count -= len(batch.tasks)
            self.stored += len(batch.tasks)

    async def _write(self, store: Store, batch: Batch) -> None:
        # After an outage another process may be the engine: its run has other ids, and ours is over.
        if not await store.renew_lease(self._owner, LEASE_SECONDS):
            raise LostLeaseError("another process has taken the engine over")
        await store.write(batch)

    def _next_batch(self) -> Batch | None:
        with self._lock:
            if not self._waiting:
                return None
            tasks: list[Any] = []
            results: list[Any] = []
            training: list[Any] = []
            while self._waiting and len(tasks) < AT_ONCE:
                part = self._waiting.popleft()
                tasks += part.tasks
                results += part.results
                training += part.training
            return Batch(tasks, results, training)

    async def _hold_lease(self) -> None:
        """Ask for the lease until it is ours, then keep it."""
        while not self.failed:
            try:
                if self.owned:
                    kept = await self._until_it_answers(lambda store: store.renew_lease(self._owner, LEASE_SECONDS))
                    if not kept:
                        self.failed = "another process has taken the engine over"
                        self._say("error", self.failed)
                    await asyncio.sleep(RENEW_SECONDS)
                else:
                    self.owned = await self._until_it_answers(
                        lambda store: store.acquire_lease(self._owner, LEASE_SECONDS)
                    )
                    if not self.owned:
                        await asyncio.sleep(0.5)
            except StoreError as error:
                self.failed = str(error)
                self._say("error", f"the store cannot be used: {error}")
