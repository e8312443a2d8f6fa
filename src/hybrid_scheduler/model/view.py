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

from hybrid_scheduler.model.errors import SchedulerError
from hybrid_scheduler.model.task import FloatArray, IntArray, Task, kind_code

TASK_SIZE: Final = 0
TASK_INTENSITY: Final = 1
TASK_MEMORY: Final = 2
TASK_KIND: Final = 3
TASK_PARENTS: Final = 4

WAITING_SINCE: Final = 5
"""Column of a waiting task, behind the `TASK_*` columns: when it became ready."""
WAITING_COLUMNS: Final = 6

KIND: Final = 0
"""Device column: 0 is a CPU, 1 a GPU."""
NODE: Final = 1
MEMORY: Final = 2
WATTS: Final = 3
PRICE: Final = 4
AVAILABLE: Final = 5
"""Device column: 1 while the device is up, 0 after it failed. A decision must not name a device that is down."""
QUEUED: Final = 6
"""Device column: parts waiting and running."""
SINCE: Final = 7
"""Device column: when the current part started, NaN when none runs."""
BACKLOG: Final = 8
"""Device column: seconds of work there, as the scheduler expected when it placed it (SPEC section 4)."""
DEVICE_COLUMNS: Final = 9

SPLIT: Final = 0
"""Fact: 0 for `concurrent`, 1 for `serial` splits."""
PENALTY: Final = 1
MEMORY_POLICY: Final = 2
"""Fact: 0 for `fallback`, 1 for `fail`."""
FACT_COUNT: Final = 3

CPU: Final = 0.0
GPU: Final = 1.0

FIXED: Final = 0
"""Row of `times`: seconds every part costs, however small its share."""
SHARED: Final = 1
"""Row of `times`: seconds that scale with the share."""

PART_DEVICE: Final = 0
PART_SHARE: Final = 1
PART_EXPECTED: Final = 2

KERNEL_SIGNATURE: Final = (
    "int64(int64, float64, float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1])"
)
"""Signature of a compiled policy: ``(number, now, task, devices, times, free, facts, state, out) -> parts``.

`number` counts the decisions, `task` has the `TASK_*` columns, `devices` one row of device columns each, `times` the
`FIXED` and `SHARED` seconds per device (shape (0, 0) unless the scheduler `uses_estimates` or `knows_truth`), `free`
when each device will be free (length 0 unless it `knows_truth`), `facts` the public facts, `state` whatever the
scheduler keeps. The policy writes one `PART_*` row per part into `out` and returns how many: 1 or 2.
"""

CHOSEN: Final = 2
"""Row of a dispatch policy's `out` whose first number says which of the waiting tasks starts."""
DISPATCH_SIGNATURE: Final = (
    "int64(int64, float64, float64[:, ::1], float64[:, :, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1])"
)
"""Signature of a compiled dispatch: ``(number, now, waiting, times, devices, free, facts, state, out) -> parts``.

`waiting` has a row per candidate, the shortest first, then the oldest (`TASK_*` columns and `WAITING_SINCE`), `times`
their `FIXED` and `SHARED` seconds, zeros unless the scheduler sees times. The policy writes the row of the task to
start into ``out[CHOSEN, 0]`` and its parts as a deciding policy does; 0 parts start nothing, until something changes.
The rest is as in `KERNEL_SIGNATURE`.
"""

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
            `uses_estimates`, realised for one that `knows_truth`, empty for all others.
        free: When each device will really be free; only for one that `knows_truth`.
        waiting: How many tasks wait to be started.
        times_by_id: The times of tasks by their ids, as far as the node knows them; see `times_of`.
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
        ]
    )
