"""The executor: submit Python functions, and let a scheduler place them on the devices of a real node."""

from __future__ import annotations

import atexit
import logging
import math
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor as FuturesExecutor
from functools import partial
from types import TracebackType
from typing import Any

from hybrid_scheduler.executor.call import WARM_UP, Call
from hybrid_scheduler.executor.driver_thread import DriverThread, ExecutorStats
from hybrid_scheduler.executor.functions import FunctionLanes, Functions, WarmTimes
from hybrid_scheduler.executor.sizes import argument_bytes
from hybrid_scheduler.executor.task_future import Submission, TaskFuture
from hybrid_scheduler.hardware.nodes.find import open_lanes
from hybrid_scheduler.hardware.nodes.lanes import Lanes
from hybrid_scheduler.hardware.nodes.measured_times import Measured, MeasuredTimes
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.model.ranges import MEGABYTES, SIZES
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.schedulers.batch import BatchScheduler
from hybrid_scheduler.schedulers.registry import create_scheduler

MAX_PENDING = 10_000
BYTES_PER_MB = 1e6
LONGEST_KIND = 200

_LOG = logging.getLogger(__name__)
_OPEN: weakref.WeakSet[DriverThread] = weakref.WeakSet()


class Executor(FuturesExecutor):
    """An executor in the manner of `concurrent.futures` whose scheduler decides what runs where, and in which order.

        with hs.Executor() as executor:
            future = executor.submit(resize, batch, gpu=resize_cuda)

    Each device's calls run in a process of its own, one at a time. How long calls take is measured per kind, size and
    hardware, without each process's first call of a function, which loads and compiles; a kind that has not been
    measured on some hardware is tried there first. Functions of `__main__` or a notebook, lambdas and closures work,
    and no `__main__` guard is needed. A function is pickled when it is first submitted: what it refers to outside its
    arguments travels as it is then. Arguments and results are pickled too, so a result is best in main memory, not on a
    GPU.

    Callbacks of futures run in the thread that places calls: they should be short, and must not wait for other futures.

    Args:
        scheduler: A registered scheduler's name, or one of your own. It may not need to know the truth.
        node: `machine`, `ray` (a cluster that is started here), `ray://HOST:PORT`, or lanes, which end with this.
        lanes: How many lanes share the cores of each machine; by default as many as its lanes decide.
        limit: Seconds after which a call is ended and its future gets a `HungError`.
        max_pending: `submit` waits while so many calls are unfinished.
        remember: Whether measured times are taken from the configured store (`DATABASE_URL`, `POSTGRES_*`, else
            `data/hybrid_scheduler.db`, which is made) and kept there at the end. A store that cannot be used is warned
            of, and nothing else.
        seed: Of schedulers that have one.

    Raises:
        InvalidInputError: There is no such scheduler or node, the scheduler cannot work here, or a value is not legal.
    """

    def __init__(
        self,
        scheduler: str | Scheduler = "hybrid_queue",
        node: str | Lanes = "machine",
        *,
        lanes: int | None = None,
        limit: float = math.inf,
        max_pending: int = MAX_PENDING,
        remember: bool = True,
        seed: int = 0,
    ) -> None:
        if not limit > 0.0:
            raise InvalidInputError(f"limit is {limit!r}, but it must be a number of seconds above 0")
        if not (isinstance(max_pending, int) and max_pending >= 1):
            raise InvalidInputError(f"max_pending is {max_pending!r}, but it must be a whole number from 1")
        chosen = _checked(create_scheduler(scheduler, seed) if isinstance(scheduler, str) else scheduler)
        if not isinstance(node, str) and lanes is not None:
            raise InvalidInputError(f"lanes is {lanes}, but the node is given as lanes already; leave one out")
        pool = FunctionLanes(open_lanes(node, lanes, warm_up=WARM_UP) if isinstance(node, str) else node)
        try:
            times = WarmTimes(pool, _known_times(pool.hardware) if remember else ())
            ended = partial(_keep_times, times) if remember else None
            self._driver = DriverThread(chosen, pool, times, limit=limit, max_pending=max_pending, ended=ended)
        except BaseException:
            pool.close()
            raise
        self._functions = Functions()
        _OPEN.add(self._driver)
        weakref.finalize(self, self._driver.close).atexit = False  # for one that nobody shuts down

    def submit(  # type: ignore[override]
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        gpu: Callable[..., Any] | None = None,
        kind: str | None = None,
        size: float | None = None,
        **kwargs: Any,
    ) -> TaskFuture:
        """Have ``fn(*args, **kwargs)`` run on a CPU, or ``gpu(*args, **kwargs)`` on an accelerator.

        Args:
            fn: The function.
            args: Its arguments.
            gpu: Its form for accelerators; without one it runs on CPUs only.
            kind: What is measured together; by default the function's qualified name.
            size: How much there is to do, in any unit that is the same for a kind; by default the bytes of the
                arguments, at least 1.
            kwargs: More arguments.

        Returns:
            A future. It gets what the function raises, with the traceback of its process as the cause.

        Raises:
            InvalidInputError: `kind` or `size` is not legal.
            RuntimeError: The executor was shut down.
            Exception: The function cannot be pickled, or what broke the executor, such as a scheduler that failed.
        """
        memory = argument_bytes(args, kwargs)
        if kind is None:
            kind = _name_of(fn)
        elif not (isinstance(kind, str) and 0 < len(kind) <= LONGEST_KIND and kind.isprintable()):
            raise InvalidInputError(f"kind is {kind!r}, but it must be 1 to {LONGEST_KIND} printable characters")
        if size is None:
            size = float(max(memory, 1))
        elif not SIZES.holds(size):
            raise InvalidInputError(f"size is {size!r}, but it must be {SIZES}")
        megabytes = min(memory / BYTES_PER_MB, MEGABYTES.high)
        code = self._functions.code
        call = Call(code(fn), None if gpu is None else code(gpu), args, kwargs or None)
        driver = self._driver
        future = TaskFuture(Submission(call, kind, float(size), megabytes, driver.clock()), driver.withdraw)
        driver.submit(future)
        return future

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        gpu: Callable[..., Any] | None = None,
        kind: str | None = None,
        size: float | Callable[..., float] | None = None,
    ) -> Iterator[Any]:
        """The results of calls with the items of the iterables, in their order.

        Args:
            fn: As for `submit`.
            iterables: The first arguments, the second ones, and so on.
            timeout: Seconds from now within which each result must be there when it is asked for.
            chunksize: Accepted and of no use: every item is a call of its own, so that it can be placed.
            gpu: As for `submit`.
            kind: As for `submit`.
            size: As for `submit`, the same for all items; or a function of an item's arguments.

        Raises:
            TimeoutError: From the iterator: a result was not there in time. Those that wait are taken back.
        """
        until = math.inf if timeout is None else time.monotonic() + timeout
        futures = [
            self.submit(fn, *args, gpu=gpu, kind=kind, size=size(*args) if callable(size) else size)
            for args in zip(*iterables, strict=False)
        ]
        return _results(futures, until)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; when those that are there are over, end every process and keep what was measured.

        Args:
            wait: Whether to return after that.
            cancel_futures: Whether calls that have not been sent to a device are taken back.
        """
        self._driver.close(cancel=cancel_futures)
        if wait:
            self._driver.join()

    def stats(self) -> ExecutorStats:
        """What was done so far."""
        return self._driver.stats()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wait for every call; after Ctrl-C, before or meanwhile, end at once."""
        try:
            if kind is None or issubclass(kind, Exception):
                self.shutdown()
                return
        except BaseException:
            self._end()
            raise
        self._end()

    def _end(self) -> None:
        self._driver.abandon()
        self._driver.join()


def _checked(scheduler: Scheduler) -> Scheduler:
    """A scheduler that can work here.

    Raises:
        InvalidInputError: It needs what nobody knows here.
    """
    name = type(scheduler).__name__
    if scheduler.knows_truth:
        raise InvalidInputError(
            f"{name} needs to know how long calls will take, which nobody knows; choose another, such as hybrid_queue"
        )
    if scheduler.plans and scheduler.uses_estimates and not isinstance(scheduler, BatchScheduler):
        raise InvalidInputError(
            f"{name} plans tasks that are all known beforehand, but calls come one by one; choose another, such as "
            "hybrid_queue"
        )
    return scheduler


def _results(futures: list[TaskFuture], until: float) -> Iterator[Any]:
    try:
        futures.reverse()
        while futures:
            result = futures[-1].result(None if until == math.inf else until - time.monotonic())
            futures.pop()
            yield result
    finally:
        for future in futures:
            future.cancel()


def _name_of(function: Any) -> str:
    """Module and qualified name; of an object with arguments in it those of its function, of others of their class."""
    while not hasattr(function, "__qualname__") and hasattr(function, "func"):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"[-LONGEST_KIND:]


def _known_times(hardware: tuple[str, ...]) -> list[Measured]:
    """What the store knows; nothing, and a warning, where it cannot be used."""
    from hybrid_scheduler.config.store import known_times

    try:
        return known_times(hardware)
    except HybridSchedulerError as error:
        _LOG.warning("measured times are not remembered: %s", error)
        return []


def _keep_times(times: MeasuredTimes) -> None:
    from hybrid_scheduler.config.store import keep_times

    try:
        keep_times(times.rows())
    except HybridSchedulerError as error:
        _LOG.warning("measured times are not kept: %s", error)


@atexit.register
def _join_all() -> None:
    """At the interpreter's end calls are waited for, as in `concurrent.futures`; not when it ends by Ctrl-C.

    An interrupt can come just before `__exit__` is ready for it, and nobody should have to press twice.
    """
    interrupted = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)
    for driver in list(_OPEN):
        if interrupted:
            driver.abandon()
        else:
            driver.close()
        driver.join()
