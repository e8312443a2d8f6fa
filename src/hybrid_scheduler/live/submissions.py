"""Storing submitted tasks in groups: while one transaction is under way, the tasks of the next one gather."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from hybrid_scheduler.live.writer import Writer
from hybrid_scheduler.store import SubmittedTask

Waiting = list[tuple[SubmittedTask, Future[bool]]]


class Submissions:
    """Group commit of submitted tasks; safe from several threads.

    Args:
        writer: The way to the store.
        wake: Called when tasks have been stored, from another thread.
    """

    def __init__(self, writer: Writer, wake: Callable[[], None]) -> None:
        self._writer, self._wake = writer, wake
        self._waiting: Waiting = []
        self._busy = False
        self._lock = threading.Lock()

    def add(self, task: SubmittedTask) -> Future[bool]:
        """Have a task stored; the future is true when it is."""
        stored: Future[bool] = Future()
        with self._lock:
            self._waiting.append((task, stored))
            if self._busy:
                return stored
            self._busy = True
        self._send()
        return stored

    def _send(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting, []
            self._busy = bool(group)
        if group:
            tasks = [task for task, _ in group]
            done = self._writer.at_once(lambda store: store.submit(tasks))
            done.add_done_callback(lambda future: self._sent(group, future))

    def _sent(self, group: Waiting, done: Future[None]) -> None:
        error = done.exception()
        for _, stored in group:
            if error is None:
                stored.set_result(True)
            else:
                stored.set_exception(error)
        self._wake()
        self._send()
