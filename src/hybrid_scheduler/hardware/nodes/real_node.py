"""A node that is real: the same protocol as the simulated one, over lanes where work really runs.

Queues and decisions are here, transport is the lanes'. Every device serves its parts in the order they were decided,
one at a time. Times are those of the clock: nothing is known before it has happened.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from hybrid_scheduler.cluster.legality import refuse_illegal
from hybrid_scheduler.hardware.nodes.arrivals import Arrivals
from hybrid_scheduler.hardware.nodes.device_queues import DeviceQueues
from hybrid_scheduler.hardware.nodes.expectations import Expectations, TimesById
from hybrid_scheduler.hardware.nodes.kernel_dispatch import KernelDispatch
from hybrid_scheduler.hardware.nodes.lanes import Ending, Event, LaneChange, Lanes, Report, Work
from hybrid_scheduler.hardware.nodes.measured_times import Times
from hybrid_scheduler.hardware.nodes.real_room import RealRoom, RoomLists
from hybrid_scheduler.hardware.nodes.real_task import PartsById, RealPart, RealTask, outcome_batch
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.device_columns import AVAILABLE, QUEUED
from hybrid_scheduler.model.errors import HybridSchedulerError, IllegalDecisionError, InvalidInputError
from hybrid_scheduler.model.kernel import WAITING_COUNT, WAITING_LOG
from hybrid_scheduler.model.node import NO_LIMIT, Change, Finished, Policy
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import NO_FREE, NO_TIMES, ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

RETRIES = 2
"""How often a task that lost a part with its lane is decided again, before it fails."""
LANE_LOST = (Ending.DIED, Ending.HUNG, Ending.CANCELLED)
LONGEST_WAIT = 3600.0
TRIED = 64
"""Of the waiting tasks of which nothing is known somewhere, so many of the oldest are looked at."""


class LostLaneError(HybridSchedulerError):
    """A task's lane was lost too often, or no lane is left."""


class HungError(HybridSchedulerError):
    """A task ran past its limit."""


class FailedParentError(HybridSchedulerError):
    """A task that this one waits for has failed."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A task that is over.

    Attributes:
        task: The task.
        outcome: What happened.
        value: The result of its work.
        error: Why it failed; None when it did not.
    """

    task: Task
    outcome: Outcome
    value: Any
    error: BaseException | None


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
        self._scheduler, self._lanes, self._times = scheduler, lanes, times
        self.world = World(lanes.cluster, physics or Physics())
        self.decisions = self.asked = 0
        self.asking_seconds = 0.0
        self._retries, self._told, self._sending, self._keeping = retries, settled, sending, keeping
        self._observes = teaching and scheduler.observes
        self._dispatches = scheduler.dispatches
        self._devices = self.world.public_table()
        self._queues = DeviceQueues(lanes, self._devices)
        self._facts = self.world.physics.facts()
        self._prices = self.world.physics.busy_price(lanes.cluster).tolist()
        self._gpu_ids = [number if number >= 0 else None for number in lanes.cluster.gpu_id.tolist()]
        self._hardware = lanes.hardware
        self._gone = [False] * len(self._hardware)
        self._generator = np.random.default_rng(seed)
        self._posted: deque[Callable[[], object]] = deque()
        self._is_woken = False
        self._arrivals = Arrivals()
        self._ready: deque[RealTask] = deque()
        self._aside: dict[int, RealTask] = {}
        self._room = RoomLists(len(self._hardware))
        self._names = lanes.cluster.names
        self._unknown: dict[int, RealTask] = {}
        self._tasks: dict[int, RealTask] = {}
        kinds = [device.kind for device in lanes.cluster.devices]
        self._expectations = Expectations(
            scheduler, times, kinds, self._hardware, self._devices, self._facts, measured_first=measured_first
        )
        self._kernel_dispatch = None
        if compiled and KernelDispatch.serves(scheduler):
            self._kernel_dispatch = KernelDispatch(scheduler, self._room, self._devices, self._facts, self._generator)
        self._times_by_id = TimesById(self._expectations, self._tasks) if scheduler.sees_times else None
        self._parts_by_id = PartsById(self._tasks)
        self._finished: list[RealTask] = []
        self._asked = False
        self._open = False
        self._turn = 0
        self._origin = lanes.clock()

    # --- tasks come ---------------------------------------------------------------------------------------------------

    def begin(self, patience: float = 60.0) -> None:
        """Wait until every lane is up or given up, and let the time begin.

        Raises:
            LostLaneError: No lane came up within so many seconds.
        """
        until = self._lanes.clock() + patience
        while not all(up or gone for up, gone in zip(self._devices[:, AVAILABLE], self._gone, strict=True)):
            left = until - self._lanes.clock()
            if left <= 0.0:
                break
            self._hear(self._lanes.wait(left))
        if not self._queues.any_up:
            why = "their processes ended, and none comes back" if all(self._gone) else f"not in {patience:g} s"
            raise LostLaneError(f"none of the lanes {', '.join(self._names)} came up: {why}")
        self._origin = self._lanes.clock()

    def add(self, task: Task, work: Work, limit: float = math.inf) -> None:
        """Let a task arrive, at its `arrival_time`, or now if that has passed.

        Raises:
            InvalidInputError: Its id is taken, it is wider than one device, or a parent is unknown.
        """
        if task.task_id in self._tasks:
            raise InvalidInputError(f"there are two tasks with the id {task.task_id}; ids must differ")
        if task.width != 1:
            raise InvalidInputError(f"task {task.task_id} has width {task.width}, but on a real node it must be 1")
        for parent in task.dependencies:
            if parent not in self._tasks:
                raise InvalidInputError(f"task {task.task_id} waits for task {parent}, which this node does not know")
        shown = (
            task if self._scheduler.uses_estimates or math.isnan(task.duration_estimate) else task.without_estimate()
        )
        each = RealTask(task, shown, work, limit, parents=frozenset(self._tasks[it] for it in task.dependencies))
        self._tasks[task.task_id] = each
        self._arrivals.add(each)

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
        each = self._tasks.get(task_id)
        if each is None or each.outcome is not None or any(part.is_sent for part in each.current):
            return False
        self._fail(each, CancelledError(f"task {task_id} was cancelled"))
        return True

    def abandon(self, reason: BaseException) -> None:
        """End everything that has not finished as failed; what runs is ended with its lane."""
        for lane in self._queues.busy_lanes():
            self._lanes.cancel(lane)
        for each in list(self._tasks.values()):
            if each.outcome is None:
                self._fail(each, reason)

    # --- `Node` -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """See `Node.now`."""
        return self._lanes.clock() - self._origin

    def advance(self, policy: Policy | None, *, until: float = math.inf, limit: int = NO_LIMIT) -> Change:
        """See `Node.advance`; the scheduler is asked in Python for every decision."""
        pause = 0.0
        while True:
            self._hear(self._lanes.wait(pause))
            self.do_posted()
            self._admit()
            if self._finished:
                return Change.FINISHED
            while True:
                if self.decisions >= limit:
                    return Change.PAUSED
                while self._explore():
                    pass
                if not self._must_ask():
                    break
                if self._kernel_dispatch is None:
                    return Change.ASKED
                self._ask(self._kernel_dispatch)
            now = self.now
            if now >= until:
                return Change.REACHED
            if (change := self._nothing_left()) is not None:
                return change
            pause = min(max(min(until, self._arrivals.next) - now, 0.0), LONGEST_WAIT)

    def waiting(self) -> WaitingRoom:
        """See `Node.waiting`."""
        return RealRoom(self._room, self._head, self._generator)

    def view(self) -> ClusterView:
        """See `Node.view`."""
        now, head = self.now, self._head
        self._look(now)
        times = NO_TIMES if head is None or not self._scheduler.sees_times else self.times(head)
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
        if each is None or not self._waits(each):
            raise IllegalDecisionError(f"{task} is started, but it does not wait to be")
        self._queues.look(self.now)
        refuse_illegal(task, decision, self._devices)
        self._place(each, decision)

    def hold(self) -> None:
        """See `Node.hold`."""
        self._asked = False

    def take_finished(self) -> list[Finished]:
        """See `Node.take_finished`."""
        finished, self._finished = self._finished, []
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
        return len(self._room) + len(self._ready) + len(self._aside)

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

    def times(self, each: RealTask) -> FloatArray:
        """What the scheduler is shown of a task's times: NaN where nobody knows, infinite where it cannot run."""
        return self._expectations.of(each)

    # --- inside -------------------------------------------------------------------------------------------------------

    @property
    def _head(self) -> RealTask | None:
        """The task that has its turn with a scheduler that decides at once."""
        return self._ready[0] if self._ready and not self._dispatches else None

    def _waits(self, each: RealTask) -> bool:
        return each.task.task_id in self._room.by_id if self._dispatches else each is self._head

    def _admit(self) -> None:
        """Let those in that have arrived."""
        for each in self._arrivals.arrived(self.now):
            self._let_in(each, max(each.task.arrival_time, 0.0))

    def _let_in(self, each: RealTask, moment: float) -> None:
        """A task waits for no other any more; or in vain, if one that it waits for has failed."""
        if (parent := each.failed_parent) is None:
            self._be_ready(each, moment)
        else:
            self._fail(each, failed_with(parent))

    def _be_ready(self, each: RealTask, moment: float) -> None:
        each.ready, self._asked = moment, True
        if self._queues.any_up and not self._runs_now(each):
            if self._able(each):
                self._aside[each.task.task_id] = each
            else:
                self._fail(each, InvalidInputError(f"task {each.task.task_id} can run on none of the devices left"))
        elif not self._dispatches:
            self._ready.append(each)
        else:
            self._room.enter(each, self._expectations.look_up(each))
            if self._scheduler.uses_estimates and self._expectations.unknown(each):
                self._unknown[each.task.task_id] = each

    def _leave(self, each: RealTask) -> None:
        """A task waits no more to be decided."""
        if self._dispatches:
            each.overtaken += self._room.overtaken(each)
            self._room.leave(each)
            self._unknown.pop(each.task.task_id, None)
        else:
            self._ready.remove(each)

    def _expect_anew(self) -> None:
        """Where more is known of times by now, look at the waiting tasks again."""
        if not self._expectations.renew(len(self._room), self.decisions):
            return
        self._room.expect(self._expectations.look_up)
        self._unknown = {task_id: each for task_id, each in self._unknown.items() if self._expectations.unknown(each)}

    def _must_ask(self) -> bool:
        if not self._dispatches:
            return bool(self._ready) and self._queues.any_up
        if not (self._asked and len(self._room)):
            return False
        if not (self._queues.any_idle if self._scheduler.idle_only else self._queues.any_up):
            return False
        self._expect_anew()
        return True

    def _explore(self) -> bool:
        """For a scheduler on estimates: start a task on a device of which nothing is known for it; whether one was."""
        if not self._scheduler.uses_estimates:
            return False
        if self._dispatches:
            if not self._unknown or not self._queues.any_idle:
                return False
            self._expect_anew()
            for each in islice(self._unknown.values(), TRIED):
                lane = self._unknown_lane(each, idle=True)
                if lane >= 0:
                    del self._unknown[each.task.task_id]
                    self._place(each, Decision.whole(lane))
                    return True
            return False
        self._expect_anew()
        head = self._head
        lane = -1 if head is None else self._unknown_lane(head, idle=False)
        if head is None or lane < 0:
            return False
        self._place(head, Decision.whole(lane))
        return True

    def _unknown_lane(self, each: RealTask, *, idle: bool) -> int:
        """The next device in turn of which nothing is known for a task; -1 when there is none that is up (and idle)."""
        unknown = np.isnan(self.times(each)[SHARED])
        if not unknown.any():
            return -1
        best = -1
        for step in range(len(unknown)):
            lane = (self._turn + step) % len(unknown)
            if unknown[lane] and self._devices[lane, AVAILABLE] > 0.0:
                queued = self._devices[lane, QUEUED]
                if idle and queued > 0.0:
                    continue
                if best < 0 or queued < self._devices[best, QUEUED]:
                    best = lane
        if best >= 0:
            self._turn = best + 1
        return best

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
        """Queue the parts of a decision, as far as the work can be done so."""
        now = self.now
        self._leave(each)
        self.decisions += 1
        self._asked, each.decided = True, now
        parts = self._possible(each, decision)
        each.placed, begin = len(parts), 0.0
        for part in parts:
            placed = RealPart(each, part.device, begin, part.share, part.expected)
            each.parts.append(placed)
            self._queues.append(placed)
            begin += part.share
        for part in parts:
            self._feed(part.device)

    def _feed(self, lane: int) -> None:
        """Send a lane its next part, if it can take one."""
        while (part := self._queues.next_part(lane)) is not None:
            task = part.owner.task
            if self._sending is None or self._sending(task):
                self._queues.send(part, self.now)
                return
            self._fail(part.owner, CancelledError(f"task {task.task_id} was cancelled"))

    def _possible(self, each: RealTask, decision: Decision) -> Sequence[Part]:
        """The parts as they can be carried out by devices that are up; one can, as what none can is not shown."""
        if len(decision.parts) > 1:
            if each.work.divisible and all(self._takes(each, part.device) for part in decision.parts):
                return decision.parts
            larger = max(decision.parts, key=lambda part: part.share)
            decision = Decision.whole(larger.device, larger.expected / larger.share)
        if self._takes(each, decision.parts[0].device):
            return decision.parts
        up = [lane for lane in range(len(self._hardware)) if self._devices[lane, AVAILABLE] and self._takes(each, lane)]
        node = self.world.cluster.devices[decision.parts[0].device].node
        devices = self.world.cluster.devices
        return (Part(min(up, key=lambda lane: (devices[lane].node != node, self._devices[lane, QUEUED]))),)

    def _runs_now(self, each: RealTask) -> bool:
        """Whether a device that is up can run a task."""
        return any(up and self._takes(each, lane) for lane, up in enumerate(self._devices[:, AVAILABLE].tolist()))

    def _able(self, each: RealTask) -> list[int]:
        """The lanes that can run a task, now or when they are back."""
        return [lane for lane, gone in enumerate(self._gone) if not gone and self._takes(each, lane)]

    def _takes(self, each: RealTask, lane: int) -> bool:
        return each.work.runs_on(self.world.cluster.devices[lane].kind) and self._hardware[lane] not in each.excluded

    # --- what lanes tell ----------------------------------------------------------------------------------------------

    def _hear(self, events: Iterable[Event]) -> None:
        for event in events:
            self._asked = True
            if isinstance(event, LaneChange):
                self._gone[event.lane] = event.final
                if event.up:
                    self._queues.note_lane(event.lane, True)
                    self._look_again()
                else:
                    self._go_down(event.lane)
            else:
                self._take_report(event)

    def _go_down(self, lane: int) -> None:
        """A lane has gone: what waits there, unsent, is decided again."""
        self._queues.note_lane(lane, False)
        for part in self._queues.unsent(lane):
            self._void(part.owner)
            self._again(part.owner)
        self._look_again()

    def _look_again(self) -> None:
        """Another set of devices is up: what none of them can run steps aside, and what one can comes back."""
        if not self._queues.any_up:
            return
        for each in [each for each in self._aside.values() if self._runs_now(each) or not self._able(each)]:
            del self._aside[each.task.task_id]
            self._be_ready(each, each.ready)
        for each in [each for each in (*self._ready, *self._room.tasks.values()) if not self._runs_now(each)]:
            self._leave(each)
            self._be_ready(each, each.ready)

    def _take_report(self, report: Report) -> None:
        part = self._queues.reported(report.number)
        if part is None:
            return
        each, lane = part.owner, part.device
        part.start, part.end = report.start - self._origin, report.end - self._origin
        part.joules, part.ended = report.joules, True
        if report.ending in LANE_LOST:
            self._go_down(lane)
        if each.outcome is None and not part.lost:
            self._take_ending(each, part, report)
        self._feed(lane)

    def _take_ending(self, each: RealTask, part: RealPart, report: Report) -> None:
        match report.ending:
            case Ending.DONE:
                self._times.learn(each.task, part.device, (part.end - part.start) / part.share)
                if part.share >= 1.0 or each.placed == 1:
                    each.value = report.result.value
                if all(other.ended for other in each.current):
                    self._settle(each)
            case Ending.RAISED:
                self._fail(each, report.error or HybridSchedulerError("the work failed without a reason"))
            case Ending.HUNG:
                self._void(each)
                name = self._names[part.device]
                hung = HungError(f"task {each.task.task_id} ran longer than {each.limit:g} s on {name}")
                hung.__cause__ = report.error
                self._fail(each, hung)
            case Ending.CANCELLED:
                self._fail(each, CancelledError(f"task {each.task.task_id} was cancelled"))
            case Ending.TOO_LARGE:
                each.excluded |= {self._hardware[part.device]}
                each.shown_times = None
                self._void(each)
                if self._able(each):
                    self._again(each)
                else:
                    self._fail(each, report.error or MemoryError("no device has the memory for it"))
            case Ending.DIED:
                each.losses += 1
                self._void(each)
                if each.losses <= self._retries:
                    self._again(each)
                else:
                    name = self._names[part.device]
                    times = f"{each.losses} times, the last time {name}"
                    error = LostLaneError(f"task {each.task.task_id} lost its lane {times}")
                    error.__cause__ = report.error
                    self._fail(each, error)

    def _void(self, each: RealTask) -> None:
        """The parts of the present decision are in vain; those that run do so to their end, and it does not count."""
        for part in each.current:
            part.lost = True
            if not part.is_sent:
                self._queues.remove(part)
        each.placed = 0

    def _again(self, each: RealTask) -> None:
        self._be_ready(each, self.now)

    def _fail(self, each: RealTask, error: BaseException) -> None:
        each.error = error
        self._void(each)
        if each.task.task_id in self._room.by_id or each in self._ready:
            self._leave(each)
        self._aside.pop(each.task.task_id, None)
        self._settle(each)

    def _settle(self, each: RealTask) -> None:
        """A task is over; where it failed, so are those that wait for it, one after the other: chains may be long."""
        over = [each]
        while over:
            each = over.pop()
            if each.outcome is not None:
                continue
            outcome = each.settle(self.now, self._names, self._prices, self._gpu_ids)
            if self._told is not None:
                self._told(Settled(each.task, outcome, each.value, each.error))
            each.value = None
            if self._observes:
                self._finished.append(each)
            for child in self._arrivals.released(each):
                if outcome.failed:
                    child.error = failed_with(each)
                    over.append(child)
                else:
                    self._be_ready(child, max(self.now, child.task.arrival_time))
            if not self._keeping:
                del self._tasks[each.task.task_id]

    @property
    def _comes_up(self) -> bool:
        """Whether a lane that is down may come back."""
        return any(not up and not gone for up, gone in zip(self._devices[:, AVAILABLE], self._gone, strict=True))

    def _nothing_left(self) -> Change | None:
        """Why to stop, if nothing more can happen by itself."""
        if self._queues.running or len(self._arrivals):
            return None
        if all(self._gone):
            for each in [*self._ready, *self._room.tasks.values(), *self._aside.values()]:
                self._fail(each, LostLaneError("every lane is lost and none comes back"))
        elif self._comes_up and self.waiting_tasks:
            return None
        if len(self._room):
            return Change.STALLED
        if self._finished:
            return Change.FINISHED
        return None if self._open else Change.OVER


def failed_with(parent: RealTask) -> FailedParentError:
    """Why a task fails that waits for one that has."""
    return FailedParentError(f"task {parent.task.task_id}, which it waits for, failed")
