"""What the scheduler of a real node is shown of the times of tasks, looked at again when more is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hybrid_scheduler.hardware.nodes.measured_times import Times, bounded
from hybrid_scheduler.hardware.nodes.real_room import log_of
from hybrid_scheduler.hardware.nodes.real_task import RealTask, ShownTimes
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import NO_TIMES, task_row
from hybrid_scheduler.schedulers.base import Scheduler

OFTEN = 16
"""Where more becomes known often, waiting tasks are looked at again after one in so many of them has been started, so
that a decision costs the same however many wait; as in the simulated node."""

NOTHING_SHOWN = ShownTimes(0, NO_TIMES, math.inf, math.inf, unknown=False)


class Expectations:
    """Times per task and device: what the node knows, or what a scheduler expects that says so itself.

    Args:
        scheduler: For whom.
        times: What the node knows.
        kinds: What each device is, "cpu" or "gpu".
        hardware: What each lane is (`Lanes.hardware`).
        devices: The device table.
        facts: The public facts.
        measured_first: A scheduler that expects times itself is shown those of the node, where they are known.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        times: Times,
        kinds: Sequence[str],
        hardware: Sequence[str],
        devices: FloatArray,
        facts: FloatArray,
        *,
        measured_first: bool = False,
    ) -> None:
        self._scheduler, self._times, self._measured_first = scheduler, times, measured_first
        self._kinds, self._hardware, self._devices, self._facts = kinds, hardware, devices, facts
        self._uses_times = scheduler.expect is None or measured_first
        self._sees_times = scheduler.sees_times
        # Where nobody knows, 0 for a scheduler that expects times itself and tries unknown devices, as the simulator
        # has it; for others infinite: the node tries those tasks, and they must not hide the ones that are known.
        self._least_unknown = math.inf if scheduler.expect is None else 0.0
        self._shown: dict[tuple[object, ...], ShownTimes] = {}
        self._version, self._renewed = (-1, -1), 0
        self._number = 0
        """How often times were looked up anew."""

    def of(self, each: RealTask) -> FloatArray:
        """`FIXED` and `SHARED` seconds per device: NaN where nobody knows, infinite where it cannot run."""
        return self.look_up(each).times

    def look_up(self, each: RealTask) -> ShownTimes:
        """What is shown of a task; nothing, to a scheduler that sees no times."""
        shown = each.shown_times
        if shown is not None and shown.number < self._number and shown.later is not None:
            shown = each.shown_times = shown.later
        if shown is not None and shown.number == self._number:
            return shown
        if not self._sees_times:
            return NOTHING_SHOWN
        before, task, runs = shown, each.task, (each.work.runs_on("cpu"), each.work.runs_on("gpu"))
        key = task.kind, task.size, task.compute_intensity, task.memory_required, runs, each.excluded
        shown = self._shown.get(key)
        if shown is None:
            times = self._expected(task)
            for lane, kind in enumerate(self._kinds):
                if not runs[kind == "gpu"] or self._hardware[lane] in each.excluded:
                    times[SHARED, lane] = math.inf
            seconds = times.sum(axis=0)
            known = seconds[np.isfinite(seconds)]
            least = float(known.min()) if len(known) else self._least_unknown
            shown = ShownTimes(self._number, times, least, log_of(least), bool(np.isnan(times[SHARED]).any()))
            bounded(self._shown)[key] = shown
        if before is not None:
            before.later = shown
        each.shown_times = shown
        return shown

    def unknown(self, each: RealTask) -> bool:
        """Whether there is a device of which nothing is known for a task."""
        return self.look_up(each).unknown

    def renew(self, waiting: int, decisions: int) -> bool:
        """Whether tasks that wait are to be looked at again, because more is known by now.

        Args:
            waiting: How many wait.
            decisions: How many decisions have been made.
        """
        if not self._sees_times:
            return False
        own = self._scheduler.expect is not None
        version = self._scheduler.expect_version if own else 0, self._times.version if self._uses_times else 0
        # What the node measures changes seldom, and first measurements must tell at once.
        if version == self._version or (
            version[1] == self._version[1] and OFTEN * (decisions - self._renewed) < waiting
        ):
            return False
        self._version, self._renewed = version, decisions
        self._shown.clear()
        self._number += 1
        return True

    def _expected(self, task: Task) -> FloatArray:
        scheduler = self._scheduler
        if scheduler.expect is None:
            return self._times.of(task).copy()
        times = np.zeros((2, len(self._hardware)))
        type(scheduler).expect(  # type: ignore[misc]
            task_row(task), self._devices, self._facts, scheduler.expect_state(), times
        )
        if self._measured_first:
            measured = self._times.of(task)
            times = np.where(np.isnan(measured.sum(axis=0)), times, measured)
        return times


class TimesById(Mapping[int, FloatArray]):
    """What is shown of the times of tasks, by id.

    Args:
        expectations: What is shown.
        tasks: The tasks.
    """

    def __init__(self, expectations: Expectations, tasks: Mapping[int, RealTask]) -> None:
        self._expectations, self._tasks = expectations, tasks

    def __getitem__(self, task_id: int) -> FloatArray:
        return self._expectations.of(self._tasks[task_id])

    def __iter__(self) -> Iterator[int]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)
