"""The future of a submitted call: a future of `concurrent.futures` that knows its task."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.executor.call import Call


@dataclass(frozen=True, slots=True)
class Submission:
    """What was submitted.

    Attributes:
        call: What to run.
        kind: What is measured together.
        size: How large it is.
        memory_mb: Megabytes of its arguments.
        moment: When, by the clock of the lanes.
    """

    call: Call
    kind: str
    size: float
    memory_mb: float
    moment: float


class TaskFuture(Future[Any]):
    """The result to come of a call. `cancel` takes it back as long as it has not been sent to a device.

    Args:
        submission: What was submitted; let go of when it is over.
        withdraw: Told when it was cancelled, by the thread that cancels.
    """

    def __init__(self, submission: Submission, withdraw: Callable[[TaskFuture], None]) -> None:
        super().__init__()
        self.submission: Submission | None = submission
        self.task_id = -1
        self._withdraw = withdraw
        self._begun = False
        self._told = False

    def cancel(self) -> bool:
        """See `concurrent.futures.Future.cancel`."""
        first = not self.cancelled()
        cancelled = super().cancel()
        if cancelled and first:
            self._withdraw(self)
        return cancelled

    def begin(self) -> bool:
        """It is about to be sent to a device, perhaps not for the first time; False when it was cancelled."""
        if not self._begun:
            self._begun = self._tell()
        return self._begun

    def end(self, value: Any, error: BaseException | None) -> None:
        """It is over."""
        if not self._begun and (isinstance(error, CancelledError) or self.cancelled()):
            super().cancel()
            self._tell()
        elif self.begin():
            if error is None:
                self.set_result(value)
            else:
                self.set_exception(error)

    def _tell(self) -> bool:
        """Say that it runs or, to those who wait, that it was cancelled; whether it runs."""
        if self._told:
            return False
        runs = self.set_running_or_notify_cancel()
        self._told = not runs
        return runs
