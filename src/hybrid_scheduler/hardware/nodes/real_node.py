"""A node that is real: the same protocol as the simulated one, over lanes where work really runs.

Queues and decisions are here, transport is the lanes'. Every device serves its parts in the order they were decided,
one at a time. Times are those of the clock: nothing is known before it has happened.

`RealNode` is what a driver sees. `WaitingTasks` knows who waits to be decided, and whether it is the scheduler's turn;
`TaskLifecycle` what becomes of a task, from its arrival to its outcome; `DeviceQueues` what waits for a device.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from time import perf_counter

import numpy as np

from hybrid_scheduler.cluster.legality import refuse_illegal
from hybrid_scheduler.hardware.nodes.device_queues import DeviceQueues
from hybrid_scheduler.hardware.nodes.expectations import Expectations, TimesById
from hybrid_scheduler.hardware.nodes.kernel_dispatch import KernelDispatch
from hybrid_scheduler.hardware.nodes.lanes import Lanes, Work
from hybrid_scheduler.hardware.nodes.measured_times import Times
from hybrid_scheduler.hardware.nodes.real_room import RealRoom
from hybrid_scheduler.hardware.nodes.real_task import PartsById, RealTask, outcome_batch
from hybrid_scheduler.hardware.nodes.task_lifecycle import (
    FailedParentError,
    HungError,
    LostLaneError,
    Settled,
    TaskLifecycle,
)
from hybrid_scheduler.hardware.nodes.waiting_tasks import WaitingTasks
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import IllegalDecisionError, InvalidInputError
from hybrid_scheduler.model.kernel import WAITING_COUNT, WAITING_LOG
from hybrid_scheduler.model.node import NO_LIMIT, Change, Finished, Policy
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import NO_FREE, NO_TIMES, ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

__all__ = ["FailedParentError", "HungError", "LostLaneError", "RealNode", "Settled"]

RETRIES = 2
"""How often a task that lost a part with its lane is decided again, before it fails."""
LONGEST_WAIT = 3600.0


class RealNode:
    """A node over lanes, for one scheduler.

    Used by one thread, but for `post`. The lanes are not closed with it.

    A task whose lane is lost is decided again, `retries` times at most; one that its device has no memory for goes to
    another; one that hangs or raises fails, and so do those that wait for it. One that no device that is up can run
    waits for one that comes back, and its scheduler is not shown it meanwhile. A part of a split that cannot be,
    because its work is indivisible or has no form for a device, goes as a whole to the device of the larger share, or
    to the least-loaded one that can take it.

    For a scheduler on estimates, a task of which nothing is known on some device goes there first, in order of arrival,
    devices in turn: so something is measured.

    Args:
        scheduler: For whom: it says what it may see, and whether its tasks wait.
        lanes: Where work runs.
        times: What is known of times; it learns from every part that ends.
        physics: Prices, and the penalty of splits that schedulers are told.
        measured_first: A scheduler that expects times itself is shown those of `times`, where they are known.
        retries: How often a task is decided again that lost its lane.
        settled: Told of every task that is over, before its scheduler is.
        sending: Asked before a task's part is sent to its lane; on False the task ends as cancelled.
        teaching: Whether the scheduler is handed outcomes to learn from.
        compiled: Whether the node itself asks the compiled dispatch of a scheduler that has one, with the same results;
            nobody is told of these decisions, but of their mean time.
        keeping: Whether to keep every outcome for `outcomes`.
        seed: Of the samples that schedulers are shown.

    Attributes:
        world: The devices and their prices.
        decisions: Decisions made so far.
        tried: How many of these the node made itself, because nothing was known of a task on some device.
        asked: How often a compiled dispatch was asked.
        asking_seconds: How long that took, until what it said was carried out.

    Raises:
        InvalidInputError: The scheduler needs the truth, which nobody knows here.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        lanes: Lanes,
        times: Times,
        *,
        physics: Physics | None = None,
        measured_first: bool = False,
        retries: int = RETRIES,
        settled: Callable[[Settled], None] | None = None,
        sending: Callable[[Task], bool] | None = None,
        teaching: bool = True,
        compiled: bool = False,
        keeping: bool = True,
        seed: int = 0,
    ) -> None:
        if scheduler.knows_truth:
            raise InvalidInputError(
                f"{type(scheduler).__name__} needs to know how long tasks will take, which nobody knows on a real "
                "node; choose a scheduler that does without"
            )
        self._scheduler, self._lanes = scheduler, lanes
        self.world = World(lanes.cluster, physics or Physics())
        self.decisions = self.tried = self.asked = 0
        self.asking_seconds = 0.0
        self._names = lanes.cluster.names
        self._devices = self.world.public_table()
        self._facts = self.world.physics.facts()
        self._generator = np.random.default_rng(seed)
        self._posted: deque[Callable[[], object]] = deque()
        self._is_woken = self._open = False
        kinds = [device.kind for device in lanes.cluster.devices]
        self._expectations = Expectations(
            scheduler, times, kinds, lanes.hardware, self._devices, self._facts, measured_first=measured_first
        )
        self._queues = DeviceQueues(lanes, self._devices)
        self._waiting = WaitingTasks(scheduler, self._queues, self._devices, self._expectations)
        self._room = self._waiting.room
        self._lifecycle = TaskLifecycle(
            lanes,
            times,
            self.world,
            self._queues,
            self._waiting,
            retries=retries,
            settled=settled,
            sending=sending,
            collecting=teaching and scheduler.observes,
            keeping=keeping,
        )
        self._tasks = self._lifecycle.tasks
        self._kernel_dispatch = None
        if compiled and KernelDispatch.serves(scheduler):
            self._kernel_dispatch = KernelDispatch(scheduler, self._room, self._devices, self._facts, self._generator)
        self._times_by_id = TimesById(self._expectations, self._tasks) if scheduler.sees_times else None
        self._parts_by_id = PartsById(self._tasks)

    # --- tasks come ---------------------------------------------------------------------------------------------------

    def begin(self, patience: float = 60.0) -> None:
        """Wait until every lane is up or given up, and let the time begin.

        Raises:
            LostLaneError: No lane came up within so many seconds.
        """
        self._lifecycle.begin(patience)

    def add(self, task: Task, work: Work, limit: float = math.inf) -> None:
        """Let a task arrive, at its `arrival_time`, or now if that has passed.

        Raises:
            InvalidInputError: Its id is taken, it is wider than one device, or a parent is unknown.
        """
        shown = (
            task if self._scheduler.uses_estimates or math.isnan(task.duration_estimate) else task.without_estimate()
        )
        self._lifecycle.add(task, shown, work, limit)

    def post(self, action: Callable[[], object]) -> None:
        """Have something done between two decisions, by the thread that drives the node; from any thread."""
        self._posted.append(action)
        if not self._is_woken:  # else `do_posted` is still to come and finds this
            self._is_woken = True
            try:
                self._lanes.wake()
            except BaseException:
                self._is_woken = False  # an interrupt came first; the next one must not rely on this wake
                raise

    def do_posted(self) -> None:
        """Do what was posted by now; by the thread that drives the node."""
        self._is_woken = False
        for _ in range(len(self._posted)):
            self._posted.popleft()()

    def keep_open(self, stays: bool) -> None:
        """Whether more tasks may come than are known: then the node waits for them instead of being over."""
        self._open = stays

    def withdraw(self, task_id: int) -> bool:
        """Take a task back that has not begun to run; it ends as cancelled. False when it is too late."""
        return self._lifecycle.withdraw(task_id)

    def abandon(self, reason: BaseException) -> None:
        """End everything that has not finished as failed; what runs is ended with its lane."""
        self._lifecycle.abandon(reason)

    # --- `Node` -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """See `Node.now`."""
        return self._lifecycle.now

    def advance(self, policy: Policy | None, *, until: float = math.inf, limit: int = NO_LIMIT) -> Change:
        """See `Node.advance`; the scheduler is asked in Python for every decision."""
        pause, waiting, lifecycle = 0.0, self._waiting, self._lifecycle
        while True:
            lifecycle.hear(self._lanes.wait(pause))
            self.do_posted()
            lifecycle.admit()
            if lifecycle.finished:
                return Change.FINISHED
            while True:
                if self.decisions >= limit:
                    return Change.PAUSED
                while (tried := waiting.first_measured(self.decisions)) is not None:
                    self._place(*tried)
                    self.tried += 1
                if not waiting.must_ask(self.decisions):
                    break
                if self._kernel_dispatch is None:
                    return Change.ASKED
                self._ask(self._kernel_dispatch)
            now = self.now
            if now >= until:
                return Change.REACHED
            if (change := self._nothing_left()) is not None:
                return change
            pause = min(max(min(until, lifecycle.arrivals.next) - now, 0.0), LONGEST_WAIT)

    def waiting(self) -> WaitingRoom:
        """See `Node.waiting`."""
        return RealRoom(self._room, self._waiting.head, self._generator)

    def view(self) -> ClusterView:
        """See `Node.view`."""
        now, head = self.now, self._waiting.head
        self._look(now)
        times = NO_TIMES if head is None or not self._scheduler.sees_times else self._expectations.of(head)
        return ClusterView(
            self.decisions,
            now,
            self._devices.copy(),
            self._facts.copy(),
            self._names,
            times,
            NO_FREE,
            len(self._room),
            self._times_by_id,
            self._lanes.links,
            self._parts_by_id,
        )

    def start(self, task: Task, decision: Decision) -> None:
        """See `Node.start`."""
        each = self._tasks.get(task.task_id) if isinstance(task, Task) else None
        if each is None or not self._waiting.has_turn(each):
            raise IllegalDecisionError(f"{task} is started, but it does not wait to be")
        self._queues.look(self.now)
        refuse_illegal(task, decision, self._devices)
        self._place(each, decision)

    def hold(self) -> None:
        """See `Node.hold`."""
        self._waiting.changed = False

    def take_finished(self) -> list[Finished]:
        """See `Node.take_finished`."""
        finished, self._lifecycle.finished = self._lifecycle.finished, []
        names = self._names
        return [
            Finished(each.shown, each.outcome.decision(names), each.outcome, None)
            for each in finished
            if each.outcome is not None
        ]

    # --- what others ask ----------------------------------------------------------------------------------------------

    @property
    def waiting_tasks(self) -> int:
        """How many tasks wait to be started."""
        return len(self._waiting)

    @property
    def unfinished(self) -> int:
        """How many tasks are not over."""
        return sum(each.outcome is None for each in self._tasks.values())

    def outcomes(self) -> OutcomeBatch:
        """Those of all tasks that are over, in order of (arrival, id)."""
        over = [each.outcome for each in self._tasks.values() if each.outcome is not None]
        return outcome_batch(sorted(over, key=lambda each: (each.arrival_time, each.task_id)), self.world)

    def failures(self) -> dict[int, BaseException]:
        """Why tasks failed, by id."""
        return {task_id: each.error for task_id, each in self._tasks.items() if each.error is not None}

    def find(self, task_id: int) -> RealTask:
        """A task by its id.

        Raises:
            KeyError: The node does not know it.
        """
        return self._tasks[task_id]

    # --- inside -------------------------------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Bring device table and facts up to date."""
        self._queues.look(now)
        self._facts[WAITING_COUNT], self._facts[WAITING_LOG] = len(self._room), self._room.mean_log

    def _ask(self, dispatch: KernelDispatch) -> None:
        """Have a compiled dispatch say what starts now, and start it."""
        began, now = perf_counter(), self.now
        self._look(now)
        chosen = dispatch.choose(self.decisions, now)
        if chosen is None:
            self.hold()
        else:
            self._place(*chosen)
        self.asked += 1
        self.asking_seconds += perf_counter() - began

    def _place(self, each: RealTask, decision: Decision) -> None:
        self.decisions += 1
        self._lifecycle.place(each, decision)

    def _nothing_left(self) -> Change | None:
        """Why to stop, if nothing more can happen by itself."""
        if self._queues.running:
            return None
        if self._queues.all_gone:
            self._lifecycle.fail_all(LostLaneError("every lane is lost and none comes back"))
        elif self._lifecycle.arrivals.next < math.inf or (self._queues.any_to_come and len(self._waiting)):
            return None
        if len(self._room):
            return Change.STALLED
        if self._lifecycle.finished:
            return Change.FINISHED
        return None if self._open else Change.OVER
