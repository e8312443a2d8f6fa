"""Workers: processes that calls of pure functions go to, several at a time. Those of this machine are here."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import connection, get_context, parent_process
from threading import Thread
from types import TracebackType
from typing import Any, ClassVar, Self

from hybrid_scheduler.hardware.machine import usable_cores
from hybrid_scheduler.model.errors import InvalidInputError

RAY, RAY_ADDRESS = "ray", "ray://"

Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of a module and its arguments: both are pickled."""


class Workers(ABC):
    """Where calls run that depend on their arguments alone. To be used in a `with`; after it none is left.

    Attributes:
        share_files: Whether the workers see the files of this process.
    """

    share_files: ClassVar[bool]

    @abstractmethod
    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Number and result of every call, in the order in which they end.

        Raises:
            Exception: What a call raised; the others are in vain then.
        """

    def share(self, value: Any) -> Any:
        """What to give to calls in place of a large value that many of them get."""
        return value

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results of calls of one function, in the order of the calls."""
        results: list[Any] = [None] * len(arguments)
        for number, result in self.run([(function, each) for each in arguments]):
            results[number] = result
        return results

    def close(self, *, at_once: bool = False) -> None:  # noqa: B027  (nothing to end where calls run in this process)
        """End the workers; `at_once`: with whatever they are doing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # When one call has failed, the others are in vain; in compiled code they hear nothing for minutes.
        self.close(at_once=kind is not None)


class LocalWorkers(Workers):
    """Processes of this machine; for one job at a time, or one call, this process itself."""

    share_files = True

    def __init__(self, jobs: int) -> None:
        if jobs < 1:
            raise InvalidInputError(f"jobs is {jobs}, but it must be at least 1")
        # Fresh processes: a forked one would inherit the threads of PyTorch and numba in an unknown state. They are
        # started as they are needed.
        self._pool = (
            ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_leave_with_parent)
            if jobs > 1
            else None
        )

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """See `Workers.run`."""
        if self._pool is None or len(calls) == 1:
            for number, (function, arguments) in enumerate(calls):
                yield number, function(*arguments)
            return
        numbers = {self._pool.submit(function, *arguments): k for k, (function, arguments) in enumerate(calls)}
        for future in as_completed(numbers):
            yield numbers[future], future.result()

    def close(self, *, at_once: bool = False) -> None:
        """See `Workers.close`."""
        if self._pool is None:
            return
        if at_once:
            for worker in list((self._pool._processes or {}).values()):  # from Python 3.14 on, `kill_workers` does it
                worker.kill()
        self._pool.shutdown(cancel_futures=True)


def find_workers(node: str, jobs: int | None = None) -> Workers:
    """The workers of a node.

    Args:
        node: `machine`: processes of this machine. `ray`: a Ray cluster of this machine, which is started and ended
            with them; `ray://HOST:PORT`: that one (`hardware.ray_cluster`).
        jobs: How many calls at a time; None: one per processor of the node.

    Raises:
        InvalidInputError: There is no such node.
        MissingExtraError: Ray is not installed.
    """
    from hybrid_scheduler.hardware.nodes.find import check_node

    check_node(node)
    if is_ray(node):
        from hybrid_scheduler.hardware.ray_workers import RayWorkers

        return RayWorkers(node, jobs)
    return LocalWorkers(usable_cores() if jobs is None else jobs)


def is_ray(node: str) -> bool:
    """Whether a node is a Ray cluster."""
    return node == RAY or node.startswith(RAY_ADDRESS)


def _leave_with_parent() -> None:
    """A worker whose parent was killed would wait for work forever; it leaves instead."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_leave_after, args=(parent.sentinel,), daemon=True).start()


def _leave_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
