"""The thread that drives a scheduler in front of a real node, and resolves futures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from time import perf_counter

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.executor.task_future import TaskFuture
from hybrid_scheduler.hardware.nodes.lanes import Lanes
from hybrid_scheduler.hardware.nodes.measured_times import MeasuredTimes, bounded
from hybrid_scheduler.hardware.nodes.real_node import RealNode, Settled
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.schedulers.base import Scheduler

INTENSITY = 0.5
"""How much a function is taken to gain from parallel hardware: nobody says."""


@dataclass(frozen=True, slots=True)
class ExecutorStats:
    """What an executor has done so far.

    Attributes:
        finished: Calls that returned.
        failed: Calls that raised, were lost or ran past their limit.
        cancelled: Calls that were taken back.
        unfinished: Calls that wait or run.
        by_device: How many of the finished calls ran on each device.
        decisions: How often the scheduler was asked.
        decision_seconds: Mean seconds it, and what it is shown, took each time; not a number before the first.
    """

    finished: int
    failed: int
    cancelled: int
    unfinished: int
    by_device: dict[str, int]
    decisions: int
    decision_seconds: float


@dataclass(slots=True)
class _Counts:
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    by_device: dict[str, int] = field(default_factory=dict)


class _TimedDriver(Driver[RealNode]):
    """Measures how long a decision takes."""

    asked = 0
    seconds = 0.0

    def ask(self) -> None:
        began = perf_counter()
        super().ask()
        self.seconds += perf_counter() - began
        self.asked += 1


class DriverThread:
    """One scheduler, one node and the lanes, which end with it; a thread of its own drives them until they are closed.

    Args:
        scheduler: Decides.
        lanes: Where calls run.
        times: What is known of times.
        limit: Seconds after which a call counts as hung.
        max_pending: So many calls may be unfinished before `submit` waits.
        ended: Called last by the thread, when every future is resolved and no lane is left.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        lanes: Lanes,
        times: MeasuredTimes,
        *,
        limit: float,
        max_pending: int,
        ended: Callable[[], None] | None,
    ) -> None:
        self._lanes, self._limit, self._max_pending, self._ended = lanes, limit, max_pending, ended
        # What is measured per kind goes before what a scheduler makes of sizes alone, which knows no kinds.
        self._node = RealNode(
            scheduler,
            lanes,
            times,
            measured_first=True,
            teaching=scheduler.expect is None,
            compiled=True,
            sending=self._send,
            settled=self._settle,
            keeping=False,
        )
        self._driver = _TimedDriver(scheduler, self._node, compiled=False)
        self._futures: dict[int, TaskFuture] = {}
        self._alike: dict[tuple[str, float, float], Task] = {}
        self._count = 0
        self._counts = _Counts()
        self._room = threading.Condition()
        self._unfinished = 0
        self._over = threading.Event()
        self._closed = False
        self._broken: BaseException | None = None
        self._began = lanes.clock()
        self._node.keep_open(True)
        self._thread = threading.Thread(target=self._run, name="hybrid-scheduler-executor", daemon=True)
        self._thread.start()

    # --- for any thread -----------------------------------------------------------------------------------------------

    def submit(self, future: TaskFuture) -> None:
        """Take a call in, waiting while too many are unfinished.

        The thread itself, in a callback of a future, never waits: nobody else could make room.

        Raises:
            RuntimeError: The executor was shut down.
            BaseException: What broke it.
        """
        with self._room:
            if self._unfinished >= self._max_pending and threading.current_thread() is not self._thread:
                self._room.wait_for(lambda: self._unfinished < self._max_pending or self._closed or self._broken)
            if self._broken is not None:
                raise self._broken
            if self._closed:
                raise RuntimeError("this executor was shut down; it takes no more calls")
            self._unfinished += 1
            self._node.post(lambda: self._add(future))

    def withdraw(self, future: TaskFuture) -> None:
        """Take a cancelled call back."""
        self._node.post(lambda: self._node.withdraw(future.task_id))

    def clock(self) -> float:
        """Seconds, by the clock of the lanes."""
        return self._lanes.clock()

    def close(self, *, cancel: bool = False) -> None:
        """Take no more calls; end when those that are there are over. `cancel`: take back those that wait."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        self._node.post(lambda: self._close(cancel))

    def abandon(self) -> None:
        """End at once, whatever runs."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        self._node.post(self._abandon)

    def join(self) -> None:
        """Wait for the end; in a callback of a future, which the thread itself runs, it does not."""
        if threading.current_thread() is not self._thread:
            # Not `Thread.join`: interrupted once, it takes the thread for ended from then on (before Python 3.13).
            self._over.wait()

    def stats(self) -> ExecutorStats:
        """What was done so far."""
        counts, node, driver = self._counts, self._node, self._driver
        asked, seconds = node.asked + driver.asked, node.asking_seconds + driver.seconds
        mean = seconds / asked if asked else float("nan")
        by_device = {name: counts.by_device.get(name, 0) for name in self._lanes.cluster.names}
        return ExecutorStats(counts.finished, counts.failed, counts.cancelled, self._unfinished, by_device, asked, mean)

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._node.begin()
            self._began = self._lanes.clock() - self._node.now
            self._driver.run()
        except BaseException as error:  # noqa: BLE001 (whatever it is, every future must hear why nothing will come)
            self._break(error)
        finally:
            try:
                self._lanes.close()
                if self._ended is not None:
                    self._ended()
            finally:
                self._over.set()

    def _break(self, error: BaseException) -> None:
        with self._room:
            self._broken = error
            self._room.notify_all()
        self._node.do_posted()
        self._node.abandon(error)

    def _add(self, future: TaskFuture) -> None:
        submission = future.submission
        assert submission is not None
        future.submission = None
        future.task_id = self._count
        self._count += 1
        self._futures[future.task_id] = future
        key = submission.kind, submission.size, submission.memory_mb
        like = self._alike.get(key)
        if like is None:
            # No estimate follows from a size in bytes, so none is shown.
            like = Task(0, submission.size, INTENSITY, submission.memory_mb, 0.0, 1.0, kind=submission.kind)
            like = bounded(self._alike)[key] = like.without_estimate()
        task = like.again(future.task_id, max(submission.moment - self._began, 0.0))
        self._node.add(task, submission.call, self._limit)
        if future.cancelled():
            self._node.withdraw(future.task_id)

    def _close(self, cancel: bool) -> None:
        self._node.keep_open(False)
        if cancel:
            for future in list(self._futures.values()):
                if future.cancel():
                    self._node.withdraw(future.task_id)

    def _abandon(self) -> None:
        self._node.keep_open(False)
        self._node.abandon(CancelledError("the executor was ended while this ran"))

    def _send(self, task: Task) -> bool:
        return self._futures[task.task_id].begin()

    def _settle(self, settled: Settled) -> None:
        future, counts = self._futures.pop(settled.task.task_id), self._counts
        future.end(settled.value, settled.error)
        if future.cancelled():
            counts.cancelled += 1
        elif settled.error is not None:
            counts.failed += 1
        else:
            counts.finished += 1
            device = settled.outcome.parts[-1].device
            counts.by_device[device] = counts.by_device.get(device, 0) + 1
        with self._room:
            self._unfinished -= 1
            self._room.notify()
