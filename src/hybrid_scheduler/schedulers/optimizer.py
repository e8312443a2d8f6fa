"""The optimizer: our own best effort for a batch on unlike devices."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, makespan
from hybrid_scheduler.schedulers.local_search import improve, posed
from hybrid_scheduler.schedulers.lpt import lpt
from hybrid_scheduler.schedulers.min_min import min_min
from hybrid_scheduler.schedulers.sufferage import sufferage

QUADRATIC = 10_000
"""Tasks up to which constructions that take n² steps are tried."""


class Optimizer(BatchScheduler):
    """Plans a batch for the least makespan on estimates: the best of the classics, improved by local search.

    The start is the best of `min_min`, `lpt` and `sufferage`. Simulated annealing (`local_search`) then moves and
    exchanges tasks, guided by the prices of the fluid optimum. What it has is always a whole mapping, never worse than
    the start, and it stops where the fluid optimum or a longest task proves that nothing is better. On each device the
    shortest task goes first, which changes no makespan and makes the mean response least (Smith 1956).

    The same seed gives the same mapping, whatever the number of cores, unless `seconds` cut the search short. Over
    tasks that come one by one it plans those that wait (`BatchScheduler`), with a small search at every change.

    Args:
        steps: Steps of the search for each task of a batch that comes at once, in every restart.
        restarts: Independent searches; as many at a time as there are cores, and the best counts.
        seconds: No search goes on for longer than about this.
        room_steps: Steps for each waiting task at a change, in a single search.
        window: At most so many of the oldest waiting tasks are planned at a change.
        seed: Of the search.
    """

    rule = "The tasks that wait are planned for the least makespan"

    def __init__(
        self,
        steps: int = 20_000,
        restarts: int = 4,
        seconds: float = 10.0,
        room_steps: int = 200,
        window: int = 64,
        seed: int = 0,
    ) -> None:
        super().__init__(window)
        for name, value, least in (("steps", steps, 0), ("restarts", restarts, 1), ("room_steps", room_steps, 0)):
            within(name, value, least, 10**9)
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise InvalidInputError(f"seconds is {seconds}, but it must be a number above 0")
        self.steps = steps
        self.restarts = restarts
        self.seconds = seconds
        self.room_steps = room_steps
        self.seed = seed

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """A small search: it is asked again at the next change."""
        return self._plan(times, ready, self.room_steps, 1)

    def assign_batch(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """All restarts."""
        return self._plan(times, ready, self.steps, self.restarts)

    def _plan(self, times: FloatArray, ready: FloatArray, steps: int, restarts: int) -> Mapping:
        deadline = monotonic() + self.seconds
        rules = (min_min, lpt, sufferage) if len(times) <= QUADRATIC else (min_min, lpt)
        starts = [rule(times, ready)[1] for rule in rules]
        device = min(starts, key=lambda each: makespan(times, ready, each))
        if len(times) > 1 and steps > 0:
            problem = posed(times, ready)
            search = partial(improve, problem, device, steps * len(times), deadline)
            device = min([device, *self._found(search, restarts)], key=lambda each: makespan(times, ready, each))
        return np.argsort(times[np.arange(len(times)), device], kind="stable"), device

    def _found(self, search: partial[IntArray], restarts: int) -> list[IntArray]:
        """What each restart has found, in their order."""
        seeds = [self.seed + 0x9E3779B9 * k for k in range(restarts)]
        if restarts == 1:
            return [search(seeds[0])]
        with ThreadPoolExecutor(min(restarts, os.cpu_count() or 1)) as pool:
            return list(pool.map(search, seeds))
