"""What a scheduler may see, in two shapes of the same facts.

`ClusterView` is the shape for Python; compiled policies get the arrays behind it. Both hold only what a real machine
could tell: public figures of each device, how many parts are queued, since when the current one runs, and the work
the scheduler itself *expected* to have placed there. True remaining times and true durations are handed to the oracle
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.decision import Part
from hybrid_scheduler.model.device_columns import (
    AVAILABLE,
    BACKLOG,
    CPU,
    GPU,
    KIND,
    MEMORY,
    NODE,
    PRICE,
    QUEUED,
    SINCE,
    WATTS,
)
from hybrid_scheduler.model.errors import SchedulerError
from hybrid_scheduler.model.task import FloatArray, IntArray, Task, kind_code

NO_TIMES: Final = np.zeros((0, 0))
NO_FREE: Final = np.zeros(0)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A snapshot of the node at the moment of a decision.

    Attributes:
        number: How many decisions this scheduler has made before.
        now: Seconds, simulated or real.
        devices: One row per device, `DEVICE_COLUMNS` columns.
        facts: Public facts of the node (`SPLIT`, `PENALTY`, `MEMORY_POLICY`).
        names: The devices' names, in row order.
        times: `FIXED` and `SHARED` seconds of the task at hand per device: nominal for schedulers that declare
            `uses_estimates`, realised for one that `knows_truth`, empty for all others. Data that its parents hand to
            it is in them: `FIXED` has the seconds until it would be on the device, `SHARED` is less by what the task
            saves where it is already.
            Where such data comes, those who see no times are shown the seconds until it is there alone.
        free: When each device will really be free, and has the data of the task at hand, which is not in `times` then;
            only for one that `knows_truth`.
        waiting: How many tasks wait to be started.
        times_by_id: The times of tasks by their ids, as far as the node knows them; see `times_of`.
        links: Seconds a megabyte of a task's result takes from one device (row) to another (column); empty where nobody
            knows.
        resident: Seconds a task saves on each device for every megabyte that its parents have left there; empty where
            nobody knows.
        parts_by_id: Where tasks were placed, by their ids, as far as the node knows; see `parts_of`.
        data_by_id: When the data of tasks is on each device, for those that get some; see `data_ready`.
    """

    number: int
    now: float
    devices: FloatArray
    facts: FloatArray
    names: tuple[str, ...]
    times: FloatArray = field(default_factory=lambda: NO_TIMES)
    free: FloatArray = field(default_factory=lambda: NO_FREE)
    waiting: int = 0
    times_by_id: Mapping[int, FloatArray] | None = field(default=None, repr=False, compare=False)
    links: FloatArray = field(default_factory=lambda: NO_TIMES, repr=False, compare=False)
    parts_by_id: Mapping[int, tuple[Part, ...]] | None = field(default=None, repr=False, compare=False)
    data_by_id: Mapping[int, FloatArray] | None = field(default=None, repr=False, compare=False)
    resident: FloatArray = field(default_factory=lambda: NO_FREE, repr=False, compare=False)

    def times_of(self, task: Task) -> FloatArray:
        """`FIXED` and `SHARED` seconds of a task per device, for schedulers that declare `uses_estimates`.

        Raises:
            SchedulerError: The scheduler may not see times, or the node does not know the task.
        """
        if self.times_by_id is None:
            raise SchedulerError("times_of is for schedulers that see times; declare uses_estimates = True")
        try:
            return self.times_by_id[task.task_id]
        except KeyError as error:
            raise SchedulerError(f"the node does not know task {task.task_id}, so nobody knows its times") from error

    def data_ready(self, task: Task) -> FloatArray:
        """When the data of a task's parents would be on each device: `now` where nothing has to come any more.

        Infinite as long as a parent has not finished: nobody knows when it will.
        """
        ready = None if self.data_by_id is None else self.data_by_id.get(task.task_id)
        return np.full(len(self.names), self.now) if ready is None else np.maximum(ready, self.now)

    def parts_of(self, task_id: int) -> tuple[Part, ...]:
        """Where a task was placed: devices, shares and what was expected; empty when it is not, or nobody knows."""
        return () if self.parts_by_id is None else self.parts_by_id.get(task_id, ())

    @property
    def kind(self) -> NDArray[np.str_]:
        """What each device is: "cpu" or "gpu"."""
        return np.where(self.devices[:, KIND] == GPU, "gpu", "cpu")

    @property
    def node(self) -> IntArray:
        """The machine each device belongs to; a split must stay within one."""
        return self.devices[:, NODE].astype(np.int64)

    @property
    def memory_mb(self) -> FloatArray:
        """Megabytes of each device."""
        return self.devices[:, MEMORY]

    @property
    def watts(self) -> FloatArray:
        """Watts of each device while it is busy."""
        return self.devices[:, WATTS]

    @property
    def price(self) -> FloatArray:
        """Dollars per busy second of each device."""
        return self.devices[:, PRICE]

    @property
    def since(self) -> FloatArray:
        """When each device began its present part; not a number where none runs."""
        return self.devices[:, SINCE]

    @property
    def idle(self) -> NDArray[np.bool_]:
        """Whether each device is up and has nothing to do."""
        return np.asarray((self.devices[:, QUEUED] == 0.0) & (self.devices[:, AVAILABLE] > 0.0))

    @property
    def backlog(self) -> FloatArray:
        """Expected seconds of work on each device."""
        return self.devices[:, BACKLOG]

    @property
    def queued(self) -> FloatArray:
        """Parts waiting and running on each device."""
        return self.devices[:, QUEUED]

    @property
    def available(self) -> FloatArray:
        """1 for each device that is up, 0 for one that is down."""
        return self.devices[:, AVAILABLE]

    def cpus(self) -> list[int]:
        """Rows of the CPUs that are up."""
        return self._up(CPU)

    def gpus(self) -> list[int]:
        """Rows of the GPUs that are up."""
        return self._up(GPU)

    def _up(self, kind: float) -> list[int]:
        rows = (self.devices[:, KIND] == kind) & (self.devices[:, AVAILABLE] > 0)
        return [int(i) for i in np.flatnonzero(rows)]


def task_row(task: Task) -> FloatArray:
    """The `TASK_*` columns of one task, as compiled policies see it."""
    return np.array(
        [
            task.size,
            task.compute_intensity,
            task.memory_required,
            kind_code(task.kind),
            float(len(task.dependencies)),
            float(task.width),
            task.upward_rank,
        ]
    )
