"""The thread that drives a scheduler in front of a real node, and resolves futures."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.executor.call import Bundle, read_answer
from hybrid_scheduler.executor.task_future import Submission, TaskFuture
from hybrid_scheduler.hardware.nodes.lanes import Lanes
from hybrid_scheduler.hardware.nodes.measured_times import MeasuredTimes, bounded
from hybrid_scheduler.hardware.nodes.real_node import RealNode, Settled
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.schedulers.base import Scheduler

BUNDLE_SECONDS = 1e-3
"""Calls that are shorter travel together, up to this: on their way alone they would take longer than to run."""
MOST_BUNDLED = 32
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


HEARING_SECONDS = 1.0
"""How long somebody who waits for the end may be deaf to an interrupt."""


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
        self._times = times
        self._cpus = [lane for lane, device in enumerate(lanes.cluster.devices) if device.kind == "cpu"]
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
        self._incoming: list[TaskFuture] = []
        self._futures: dict[int, list[TaskFuture]] = {}
        self._alike: dict[tuple[str, float, float], Task] = {}
        self._count = 0
        self._counts = _Counts()
        self._room = threading.Condition()
        self._unfinished = 0
        self._over = threading.Event()
        self._closed = self._ends = False
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
            if not self._incoming:
                self._node.post(self._take_in)
            self._incoming.append(future)

    def withdraw(self, future: TaskFuture) -> None:
        """Take a cancelled call back."""
        self._node.post(lambda: self._withdraw(future.task_id))

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
            # And not one long wait: a signal that comes just before it begins would be heard of only at its end.
            while not self._over.wait(HEARING_SECONDS):
                pass

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
            while self._futures:  # bundles that failed when nothing else was left: their calls are tried one by one
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
        self._ends = True
        self._node.do_posted()
        self._node.abandon(error)

    def _take_in(self) -> None:
        """Hand what was submitted to the node, short calls of a kind in bundles."""
        with self._room:
            incoming, self._incoming = self._incoming, []
        alike: dict[tuple[object, ...], list[TaskFuture]] = {}
        for future in incoming:
            submission = future.submission
            assert submission is not None
            digest = submission.call.bundled_by if self._limit == math.inf else b""
            key = (digest, submission.kind, submission.size, submission.memory_mb) if digest else (future,)
            alike.setdefault(key, []).append(future)
        for futures in alike.values():
            most = self._bundle_size(futures) if len(futures) > 1 else 1
            for first in range(0, len(futures), most):
                self._add(futures[first : first + most])

    def _bundle_size(self, futures: list[TaskFuture]) -> int:
        """How many of these calls, which are alike, travel together: up to a millisecond, but some for each lane."""
        submission = futures[0].submission
        assert submission is not None
        seconds = float(self._times.of(self._task(submission))[SHARED, self._cpus].max())
        if math.isnan(seconds):
            return 1
        share = -(-len(futures) // (2 * len(self._cpus)))
        return max(1, min(int(BUNDLE_SECONDS / seconds), MOST_BUNDLED, share))

    def _add(self, futures: list[TaskFuture]) -> None:
        submission = futures[0].submission
        assert submission is not None
        call, task_id = submission.call, self._count
        if len(futures) > 1:
            calls = [each.submission.call.arguments_and_keywords for each in futures if each.submission is not None]
            call = Bundle(call.code("cpu"), calls)
        self._count += 1
        self._futures[task_id] = futures
        for future in futures:
            future.task_id = task_id
        task = self._task(submission).again(task_id, max(submission.moment - self._began, 0.0))
        self._node.add(task, call, self._limit)
        self._withdraw(task_id)

    def _task(self, submission: Submission) -> Task:
        key = submission.kind, submission.size, submission.memory_mb
        task = self._alike.get(key)
        if task is None:
            # No estimate follows from a size in bytes, so none is shown.
            task = Task(0, submission.size, INTENSITY, submission.memory_mb, 0.0, 1.0, kind=submission.kind)
            task = bounded(self._alike)[key] = task.without_estimate()
        return task

    def _withdraw(self, task_id: int) -> None:
        """Take a task back of which every call was cancelled."""
        if all(future.cancelled() for future in self._futures.get(task_id, ())):
            self._node.withdraw(task_id)

    def _close(self, cancel: bool) -> None:
        self._node.keep_open(False)
        if cancel:
            for task_id, futures in list(self._futures.items()):
                for future in futures:
                    future.cancel()
                self._withdraw(task_id)

    def _abandon(self) -> None:
        self._node.keep_open(False)
        self._ends = True
        self._node.abandon(CancelledError("the executor was ended while this ran"))

    def _send(self, task: Task) -> bool:
        """Whether a task is still wanted; calls of a bundle that are not stay behind."""
        futures = self._futures[task.task_id]
        begun = [future.begin() for future in futures]
        if any(begun) and not all(begun):
            bundle = self._node.find(task.task_id).work
            assert isinstance(bundle, Bundle)
            bundle.calls = [call for call, wanted in zip(bundle.calls, begun, strict=True) if wanted]
            for future in [future for future, wanted in zip(futures, begun, strict=True) if not wanted]:
                futures.remove(future)
                self._end(future, None, None, "")
        return any(begun)

    def _settle(self, settled: Settled) -> None:
        futures = self._futures.pop(settled.task.task_id)
        device = settled.outcome.parts[-1].device if settled.outcome.parts else ""
        if isinstance(self._node.find(settled.task.task_id).work, Bundle):
            if settled.error is None:
                for future, answer in zip(futures, settled.value, strict=True):
                    self._end(future, *read_answer(answer), device)
                return
            if not self._ends:  # one of them may be to blame
                for future in futures:
                    self._add([future])
                return
        for future in futures:
            self._end(future, settled.value, settled.error, device)

    def _end(self, future: TaskFuture, value: Any, error: BaseException | None, device: str) -> None:
        future.submission = None
        future.end(value, error)
        counts = self._counts
        if future.cancelled():
            counts.cancelled += 1
        elif error is not None:
            counts.failed += 1
        else:
            counts.finished += 1
            counts.by_device[device] = counts.by_device.get(device, 0) + 1
        with self._room:
            self._unfinished -= 1
            self._room.notify()
