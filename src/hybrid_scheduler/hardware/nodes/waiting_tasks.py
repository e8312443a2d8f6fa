"""Who waits at a real node to be decided, and who of them has a turn."""

from __future__ import annotations

from collections import deque
from itertools import islice

import numpy as np

from hybrid_scheduler.hardware.nodes.device_queues import DeviceQueues
from hybrid_scheduler.hardware.nodes.expectations import Expectations
from hybrid_scheduler.hardware.nodes.real_room import RoomLists
from hybrid_scheduler.hardware.nodes.real_task import RealTask
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.device_columns import AVAILABLE, QUEUED
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.schedulers.base import Scheduler

TRIED = 64
"""Of the waiting tasks of which nothing is known somewhere, so many of the oldest are looked at."""


class WaitingTasks:
    """Tasks that could be decided now: in a room to choose from, or in line for a scheduler that decides at once.

    One that no device that is up can run waits aside for one that comes back.

    Args:
        scheduler: Who decides.
        queues: Which devices are up, and what they can run.
        devices: The device table.
        expectations: What the scheduler is shown of times.

    Attributes:
        room: Those to choose from.
        changed: Whether anything has happened since the scheduler wanted to wait.
    """

    def __init__(
        self, scheduler: Scheduler, queues: DeviceQueues, devices: FloatArray, expectations: Expectations
    ) -> None:
        self._scheduler, self._dispatches = scheduler, scheduler.dispatches
        self._queues, self._devices, self._expectations = queues, devices, expectations
        self.room = RoomLists(len(devices))
        self.changed = False
        self._line: deque[RealTask] = deque()
        self._aside: dict[int, RealTask] = {}
        self._unknown: dict[int, RealTask] = {}
        """Those of the room of which nothing is known on some device, for a scheduler on estimates."""
        self._turn = 0
        """The device that such a task tries next."""

    def __len__(self) -> int:
        return len(self.room) + len(self._line) + len(self._aside)

    @property
    def head(self) -> RealTask | None:
        """The task that has its turn with a scheduler that decides at once."""
        return self._line[0] if self._line else None

    def has_turn(self, each: RealTask) -> bool:
        """Whether a task can be started now."""
        return each.task.task_id in self.room.by_id if self._dispatches else each is self.head

    def enter(self, each: RealTask, moment: float) -> bool:
        """A task can be decided from now on; False: it does not wait, as no device that is left can ever run it."""
        each.ready, self.changed = moment, True
        if self._queues.any_up and not self._queues.runs_now(each):
            if not self._queues.able(each):
                return False
            self._aside[each.task.task_id] = each
        elif not self._dispatches:
            self._line.append(each)
        else:
            self.room.enter(each, self._expectations.look_up(each))
            if self._scheduler.uses_estimates and self._expectations.unknown(each):
                self._unknown[each.task.task_id] = each
        return True

    def leave(self, each: RealTask) -> None:
        """A task that was shown to its scheduler waits no more."""
        if self._dispatches:
            each.overtaken += self.room.overtaken(each)
            self.room.leave(each)
            self._unknown.pop(each.task.task_id, None)
        else:
            self._line.remove(each)

    def discard(self, each: RealTask) -> None:
        """A task waits no more, if it did."""
        if each.task.task_id in self.room.by_id or each in self._line:
            self.leave(each)
        self._aside.pop(each.task.task_id, None)

    def take_misplaced(self) -> list[RealTask]:
        """Take out those who are to enter again, now that another set of devices is up.

        What none of them can run is to step aside, and what one can, or none ever will, is to come back.
        """
        queues = self._queues
        if not queues.any_up:
            return []
        back = [each for each in self._aside.values() if queues.runs_now(each) or not queues.able(each)]
        shown = [each for each in (*self._line, *self.room.tasks.values()) if not queues.runs_now(each)]
        for each in (*back, *shown):
            self.discard(each)
        return back + shown

    def must_ask(self, decisions: int) -> bool:
        """Whether it is the scheduler's turn, after so many decisions; then what it is shown of times is up to date."""
        queues = self._queues
        if not self._dispatches:
            return bool(self._line) and queues.any_up
        if not (self.changed and len(self.room)):
            return False
        if not (queues.any_idle if self._scheduler.idle_only else queues.any_up):
            return False
        self._expect_anew(decisions)
        return True

    def first_measured(self, decisions: int) -> tuple[RealTask, Decision] | None:
        """For a scheduler on estimates: a task, and a device of which nothing is known for it; None for none.

        Args:
            decisions: How many decisions have been made.
        """
        if not self._scheduler.uses_estimates:
            return None
        if self._dispatches and not (self._unknown and self._queues.any_idle):
            return None
        self._expect_anew(decisions)
        for each in islice(self._unknown.values(), TRIED) if self._dispatches else islice(self._line, 1):
            lane = self._unknown_lane(each)
            if lane >= 0:
                return each, Decision.whole(lane)
        return None

    def _expect_anew(self, decisions: int) -> None:
        """Where more is known of times by now, look at the waiting tasks again."""
        if not self._expectations.renew(len(self.room), decisions):
            return
        self.room.expect(self._expectations.look_up)
        self._unknown = {task_id: each for task_id, each in self._unknown.items() if self._expectations.unknown(each)}

    def _unknown_lane(self, each: RealTask) -> int:
        """The next device in turn, of those with the shortest queues, of which nothing is known for a task.

        -1 when there is none that is up, or, for a task that may wait, idle.
        """
        unknown = np.isnan(self._expectations.of(each)[SHARED])
        if not unknown.any():
            return -1
        best = -1
        for step in range(len(unknown)):
            lane = (self._turn + step) % len(unknown)
            if unknown[lane] and self._devices[lane, AVAILABLE] > 0.0:
                queued = self._devices[lane, QUEUED]
                if self._dispatches and queued > 0.0:
                    continue
                if best < 0 or queued < self._devices[best, QUEUED]:
                    best = lane
        if best >= 0:
            self._turn = best + 1
        return best
