"""Clearing the history in the background, however long it takes."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.model.errors import HybridSchedulerError
from hybrid_scheduler.store import Cleared, Store


class Clearing:
    """One command to clear the history, from its beginning to its end.

    Attributes:
        ended: Done when it is over.
        settled: Whether it is settled what goes; what is stored from then on stays.
        noticed: Whether the running figures have been reset for it.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._gone, self._total = Cleared(0, 0, 0, 0), 0
        self._begun = False
        self.ended: Future[Cleared] = Future()
        self.settled = self.noticed = False

    def begin(self) -> None:
        """Begin once everything that has finished so far is stored; on a full disk, where that is in vain, at once.

        Calling it again does no harm.
        """
        if self._writer.disk_full:
            self._writer.past_queue(self._start).add_done_callback(self._started)
        else:
            # Not patient: the history must not vanish minutes after the user asked for it.
            self._writer.in_turn(self._start, patient=False).add_done_callback(self._started)

    def document(self) -> dict[str, Any]:
        """As in `Cleared` of the API: what is gone so far."""
        return {**self._gone._asdict(), "done": self.ended.done()}

    def progress(self) -> dict[str, int]:
        """As in the status."""
        return {"done": self._gone.tasks, "total": max(self._total, self._gone.tasks)}

    def _started(self, start: Future[None]) -> None:
        error = start.exception()
        if error is not None and not self._begun and not self.ended.done():
            self.ended.set_exception(error)

    # --- in the writer's thread

    async def _start(self, store: Store) -> None:
        """Returns when it is settled what goes: the queue may move on then."""
        if self._begun:
            return
        self._begun = True
        settled = asyncio.Event()
        self._writer.keep(asyncio.create_task(self._run(store, settled)))
        await settled.wait()

    async def _run(self, store: Store, settled: asyncio.Event) -> None:
        def note(gone: Cleared, total: int) -> None:
            self._gone, self._total, self.settled = gone, total, True
            settled.set()

        try:
            self._gone = await store.clear(note)
        except HybridSchedulerError as error:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(self._gone)
        finally:
            settled.set()
