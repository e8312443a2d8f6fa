"""The engine's access to the store: a thread with an event loop, so that the race never waits for a database.

What is finished is queued and written in batches, each whole or absent; other calls (begin a run, end it, note a saved
model) take their turn in the same queue. When the store cannot be used, the thread tries again until it can; the queue
is bounded, so the engine then waits (`full`) and nothing is lost. Between batches old tasks are pruned.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.live.pruning import LOOK_SECONDS, LOOK_TASKS, Pruner
from hybrid_scheduler.model.errors import HybridSchedulerError
from hybrid_scheduler.store import Batch, Retention, Store, StoreError, StoreLimits, StoreUnavailableError, open_store
from hybrid_scheduler.store.errors import FULL

AT_ONCE = 1000
"""Tasks written in one transaction; fewer where little room is allowed."""
PER_MEGABYTE = 6
LEASE_SECONDS = 5.0
ASK_SECONDS = 0.5
"""Between two tries to get the lease that another process holds."""
LONGEST_PAUSE = 2.0
UNLIMITED = Retention()

T = TypeVar("T")
StoreCall = Callable[[Store], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class WriterLimits:
    """When the store keeps the engine waiting.

    Attributes:
        waiting_tasks: Finished tasks that may wait for the store; with more the engine waits.
        slow_seconds: An engine that has waited longer says so.
        silent_seconds: A store that has not answered for so long is a problem; it may be locked.
        renew_seconds: Between two renewals of the lease.
        look_tasks: After so many written tasks it looks whether something is beyond the limits of the history,
        look_seconds: and after so many seconds.
        store: Limits of the store itself.
    """

    waiting_tasks: int = 5000
    slow_seconds: float = 1.0
    silent_seconds: float = 3.0
    renew_seconds: float = 1.5
    look_tasks: int = LOOK_TASKS
    look_seconds: float = LOOK_SECONDS
    store: StoreLimits = StoreLimits()


DEFAULT_LIMITS = WriterLimits()


class LostLeaseError(StoreError):
    """Another process has taken the engine over."""


class _QueuedCall(NamedTuple):
    call: StoreCall[Any]
    answer: Future[Any]
    patient: bool


class Writer:
    """Owns the engine's connection to the store.

    Args:
        url: Of the store.
        owner: Name under which this process holds the lease.
        log: Called with a level and a line for the log.
        retention: Limits of the history.
        limits: When the store keeps the engine waiting.

    Attributes:
        asked: Whether the lease has been asked for and the store has answered.
        owned: Whether this process holds the lease.
        failed: Why it cannot go on; empty while it can.
        stored: Tasks of the present run that are written.
    """

    def __init__(
        self,
        url: str,
        owner: str,
        log: Log,
        retention: Retention = UNLIMITED,
        limits: WriterLimits = DEFAULT_LIMITS,
    ) -> None:
        self._url, self._owner, self._log, self._limits = url, owner, log, limits
        self._queue: deque[Batch | _QueuedCall] = deque()
        self._count = self._unfinished = 0
        self._put: deque[float] = deque()  # when each batch came that is not stored yet
        self._written = time.monotonic()
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="store", daemon=True)
        self._wake, self._opening = asyncio.Event(), asyncio.Lock()
        self._store: Store | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._under_way: dict[object, float] = {}
        self._refused: dict[object, StoreUnavailableError] = {}
        self._pruner = Pruner(
            retention, self._execute, lambda: self.owned, tasks=limits.look_tasks, seconds=limits.look_seconds
        )
        self._at_once = (
            min(AT_ONCE, max(int(PER_MEGABYTE * retention.megabytes), 50)) if retention.megabytes else AT_ONCE
        )
        self.asked, self.owned, self.failed, self.stored = False, False, "", 0
        self.backend = "postgresql" if url.startswith("postgresql") else "sqlite"

    def open(self) -> None:
        """Begin to connect, to ask for the lease and to write."""
        self._thread.start()
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        for work in (self._work_forever(), self._hold_lease(), self._pruner.run()):
            task = self._loop.create_task(work)
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    @property
    def available(self) -> bool:
        """Whether the store does what it is asked."""
        return not self._refused

    @property
    def problem(self) -> str:
        """Why the store cannot be used just now, in words without addresses; empty when it can."""
        for error in list(self._refused.values()):
            return error.summary
        silent = time.monotonic() - min(list(self._under_way.values()), default=math.inf)
        return f"the store has not answered for {silent:.0f} s" if silent > self._limits.silent_seconds else ""

    @property
    def disk_full(self) -> bool:
        """Whether the store cannot be used because its disk is full."""
        return any(error.kind == FULL for error in list(self._refused.values()))

    @property
    def waiting(self) -> int:
        """Finished tasks that are not stored yet."""
        return self._count

    @property
    def lag_seconds(self) -> float:
        """How long the oldest of them has been waiting."""
        with self._lock:
            return time.monotonic() - self._put[0] if self._put else 0.0

    @property
    def full(self) -> bool:
        """Whether the engine must wait."""
        return self._count >= self._limits.waiting_tasks

    @property
    def slow(self) -> bool:
        """Whether the engine has been waiting for a while."""
        return self.full and time.monotonic() - self._written > self._limits.slow_seconds

    def put(self, batch: Batch) -> None:
        """Queue finished tasks."""
        with self._lock:
            self._count += len(batch.tasks)
            self._put.append(time.monotonic())
        self._enqueue(batch)

    def in_turn(self, call: StoreCall[T], *, patient: bool = True) -> Future[T]:
        """Have the store do something once everything queued before is stored.

        Args:
            call: Repeated until the store answers.
            patient: False: the future gets `StoreUnavailableError` instead.
        """
        answer: Future[T] = Future()
        self._enqueue(_QueuedCall(call, answer, patient))
        return answer

    def at_once(self, call: StoreCall[T]) -> Future[T]:
        """Have the store do something now, whatever is queued; repeated until it answers."""
        return asyncio.run_coroutine_threadsafe(self._retry_until_answered(call), self._loop)

    def past_queue(self, call: StoreCall[T]) -> Future[T]:
        """Have the store do something now, whatever is queued; tried once, and it may take long."""
        return asyncio.run_coroutine_threadsafe(self._execute(call, long=True), self._loop)

    def keep(self, task: asyncio.Task[None]) -> None:
        """End a task together with the thread it runs in."""
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)

    def flush(self, timeout: float) -> bool:
        """Wait until everything queued is done; False when the time is over or it never will be."""
        until = time.monotonic() + timeout
        while self._unfinished and not self.failed and time.monotonic() < until:
            time.sleep(0.01)
        return not self._unfinished

    def close(self, timeout: float = 5.0) -> None:
        """Give the lease up and end the thread; twice is fine."""
        if not self._thread.is_alive():
            return
        try:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(timeout)
        except TimeoutError:
            self._log("warning", "the store did not answer at the end; its lease runs out by itself")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout)
        if not self._thread.is_alive():
            self._loop.close()

    async def _end(self) -> None:
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if self._store is None:
            return
        if self.owned:
            try:
                await self._store.release_lease(self._owner)
            except StoreError as error:
                self._log("warning", f"the lease could not be given up, it runs out by itself: {error}")
        await self._store.close()

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _enqueue(self, job: Batch | _QueuedCall) -> None:
        with self._lock:
            self._unfinished += 1
            self._queue.append(job)
        self._loop.call_soon_threadsafe(self._wake.set)

    async def _work_forever(self) -> None:
        while True:
            self._wake.clear()
            jobs = self._next_jobs()
            if not jobs:
                await self._wake.wait()
                continue
            if isinstance(jobs[0], _QueuedCall):
                await self._run(jobs[0])
            else:
                await self._store_all([job for job in jobs if isinstance(job, Batch)])
            with self._lock:
                self._unfinished -= len(jobs)

    def _next_jobs(self) -> list[Batch | _QueuedCall]:
        """One call, or the batches before the next call, as far as they fit into one transaction."""
        with self._lock:
            jobs: list[Batch | _QueuedCall] = []
            tasks = 0
            while self._queue and tasks < self._at_once and not (jobs and isinstance(self._queue[0], _QueuedCall)):
                job = self._queue.popleft()
                jobs.append(job)
                if isinstance(job, _QueuedCall):
                    break
                tasks += len(job.tasks)
            return jobs

    async def _store_all(self, batches: list[Batch]) -> None:
        whole = Batch(
            [task for batch in batches for task in batch.tasks],
            [result for batch in batches for result in batch.results],
            [label for batch in batches for label in batch.training],
        )
        await self._retry_until_answered(self._as_owner(lambda store: store.write(whole)))
        with self._lock:
            self._count -= len(whole.tasks)
            for _ in batches:
                self._put.popleft()
        self._written = time.monotonic()
        self.stored += len(whole.tasks)
        self._pruner.wrote(len(whole.tasks))

    async def _run(self, queued: _QueuedCall) -> None:
        call = self._as_owner(queued.call)
        try:
            answer = await (self._retry_until_answered(call) if queued.patient else self._execute(call))
        except LostLeaseError as error:
            queued.answer.set_exception(error)
            raise
        except HybridSchedulerError as error:
            queued.answer.set_exception(error)
        else:
            queued.answer.set_result(answer)

    def _as_owner(self, call: StoreCall[T]) -> StoreCall[T]:
        """After an outage another process may be the engine: its run has other ids, and ours is over."""

        async def ask(store: Store) -> T:
            if not await store.renew_lease(self._owner, LEASE_SECONDS):
                raise LostLeaseError("another process has taken the engine over")
            return await call(store)

        return ask

    async def _retry_until_answered(self, call: StoreCall[T]) -> T:
        pause, mine = 0.05, object()
        try:
            while True:
                try:
                    return await self._execute(call)
                except StoreUnavailableError as error:
                    self._note_refusal(mine, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            # Only a call that was refused before shows that all is well: on a full disk other calls still succeed.
            if self._refused.pop(mine, None) is not None and not self._refused and not self.failed:
                self._log("info", "the store answers again")

    def _note_refusal(self, key: object, error: StoreUnavailableError) -> None:
        if not self._refused:
            self._log("warning", f"{error.summary}, the engine waits: {error}")
        self._refused[key] = error
        if error.kind == FULL:
            self._pruner.look()  # perhaps there is something beyond the limits

    async def _execute(self, call: StoreCall[T], *, long: bool = False) -> T:
        mine = object()
        if not long:
            self._under_way[mine] = time.monotonic()
        try:
            async with self._opening:
                if self._store is None:
                    self._store = await open_store(self._url, limits=self._limits.store)
            return await call(self._store)
        finally:
            self._under_way.pop(mine, None)

    async def _hold_lease(self) -> None:
        """Ask for the lease until it is ours, then keep it."""
        while not self.owned:
            try:
                self.owned = await self._execute(lambda store: store.acquire_lease(self._owner, LEASE_SECONDS))
                self.asked = True
            except StoreUnavailableError:
                await self._retry_until_answered(lambda store: store.ping())
                # Its owner had no chance to renew it either, and has results that it could not store: it goes first.
                await asyncio.sleep(LEASE_SECONDS if self.asked else 0.0)
            if not self.owned:
                await asyncio.sleep(ASK_SECONDS)
        while True:
            await asyncio.sleep(self._limits.renew_seconds)
            if not await self._retry_until_answered(lambda store: store.renew_lease(self._owner, LEASE_SECONDS)):
                raise LostLeaseError("another process has taken the engine over")

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Neither task ends by itself unless something is wrong beyond trying again."""
        if task.cancelled() or self.failed:
            return
        error = task.exception()
        self.failed = str(error) if isinstance(error, HybridSchedulerError) else f"a mistake in the writer: {error!r}"
        self._log("error", f"the engine cannot go on with the store: {self.failed}")
