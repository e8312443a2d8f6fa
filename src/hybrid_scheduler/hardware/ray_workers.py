"""Workers on a Ray cluster: every call is a Ray task on a processor of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from hybrid_scheduler.hardware.ray_cluster import RayCluster, RayError, connect, own_sources, refuse_other_sources
from hybrid_scheduler.hardware.workers import Call, Workers
from hybrid_scheduler.model.errors import InvalidInputError

RETRIES = 3
"""How often a call is made again whose worker or machine was lost; it gives the same again."""


class RayWorkers(Workers):
    """Tasks of a Ray cluster, which is connected to when there is something to do. See `find_workers`."""

    share_files = False

    def __init__(self, node: str, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise InvalidInputError(f"jobs is {jobs}, but it must be at least 1")
        self._node, self._jobs = node, jobs
        self._cluster: RayCluster | None = None
        self._running: list[Any] = []

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """See `Workers.run`.

        Raises:
            RayError: A call lost its worker again and again.
        """
        ray = self._connected().ray
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_call)
        here = own_sources()
        numbers: dict[Any, int] = {}
        waiting = iter(enumerate(calls))

        def send(count: int | None) -> None:
            for number, (function, arguments) in islice(waiting, count):
                numbers[remote.remote(here, function, *arguments)] = number

        send(self._jobs)
        while numbers:
            self._running = list(numbers)
            (ended,), _ = ray.wait(self._running, num_returns=1)
            number = numbers.pop(ended)
            yield number, self._result(ended)
            send(1)
        self._running = []

    def share(self, value: Any) -> Any:
        """See `Workers.share`: it is sent to every machine once."""
        return self._connected().ray.put(value)

    def processors(self) -> int:
        """How many calls can run at a time."""
        return self._connected().processors()

    def close(self, *, at_once: bool = False) -> None:
        """See `Workers.close`."""
        if self._cluster is None:
            return
        for task in self._running:
            self._cluster.ray.cancel(task, force=True)
        self._running = []
        self._cluster.close()
        self._cluster = None

    def _connected(self) -> RayCluster:
        if self._cluster is None:
            self._cluster = connect(self._node)
        return self._cluster

    def _result(self, ended: Any) -> Any:
        ray = self._connected().ray
        try:
            return ray.get(ended)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, Exception):
                raise error.cause from error
            raise
        except ray.exceptions.RayError as error:
            raise RayError(f"a call was lost on the Ray cluster, {RETRIES} repetitions included: {error}") from error


def _call(sender: tuple[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """A call, on a machine that has the sources of the sender, without which results would not be the same."""
    refuse_other_sources(sender)
    return function(*arguments)
