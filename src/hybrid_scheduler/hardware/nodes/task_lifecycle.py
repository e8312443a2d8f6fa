"""The tasks of a real node from arrival to outcome: queued, sent to lanes, decided again, over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.hardware.nodes.arrivals import Arrivals
from hybrid_scheduler.hardware.nodes.device_queues import DeviceQueues
from hybrid_scheduler.hardware.nodes.lanes import LANE_LOST, Ending, Event, LaneChange, Lanes, Report, Work
from hybrid_scheduler.hardware.nodes.measured_times import Times
from hybrid_scheduler.hardware.nodes.real_task import RealPart, RealTask
from hybrid_scheduler.hardware.nodes.waiting_tasks import WaitingTasks
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.physics.world import World


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


class TaskLifecycle:
    """Carries decisions out, and settles what becomes of them.

    Args:
        lanes: Where work runs.
        times: Learns from every part that ends.
        world: The devices and their prices.
        queues: Of the devices.
        waiting: Who waits to be decided.
        retries: How often a task is decided again that lost its lane.
        settled: Told of every task that is over.
        sending: Asked before a task's part is sent to its lane; on False the task ends as cancelled.
        collecting: Whether tasks that are over are put into `finished`.
        keeping: Whether tasks that are over stay in `tasks`.

    Attributes:
        tasks: Those that are known, by id.
        arrivals: Those that are to come, or wait for parents.
        finished: Those that are over and were not taken out of here yet.
    """

    def __init__(
        self,
        lanes: Lanes,
        times: Times,
        world: World,
        queues: DeviceQueues,
        waiting: WaitingTasks,
        *,
        retries: int,
        settled: Callable[[Settled], None] | None,
        sending: Callable[[Task], bool] | None,
        collecting: bool,
        keeping: bool,
    ) -> None:
        self._lanes, self._times, self._queues, self._waiting = lanes, times, queues, waiting
        self._retries, self._told, self._sending = retries, settled, sending
        self._collecting, self._keeping = collecting, keeping
        self.tasks: dict[int, RealTask] = {}
        self.arrivals = Arrivals()
        self.finished: list[RealTask] = []
        self._names = lanes.cluster.names
        self._hardware = lanes.hardware
        self._prices = world.physics.busy_price(lanes.cluster).tolist()
        self._gpu_ids = [number if number >= 0 else None for number in lanes.cluster.gpu_id.tolist()]
        self._origin = lanes.clock()

    @property
    def now(self) -> float:
        """Seconds since `begin`, or since this was made."""
        return self._lanes.clock() - self._origin

    def begin(self, patience: float) -> None:
        """Wait until every lane is up or given up, and let the time begin.

        Raises:
            LostLaneError: No lane came up within so many seconds.
        """
        until = self._lanes.clock() + patience
        while self._queues.any_to_come and (left := until - self._lanes.clock()) > 0.0:
            self.hear(self._lanes.wait(left))
        if not self._queues.any_up:
            why = "their processes ended, and none comes back" if self._queues.all_gone else f"not in {patience:g} s"
            raise LostLaneError(f"none of the lanes {', '.join(self._names)} came up: {why}")
        self._origin = self._lanes.clock()

    def add(self, task: Task, shown: Task, work: Work, limit: float) -> None:
        """Let a task arrive; see `RealNode.add`. Its scheduler sees it as `shown`."""
        if task.task_id in self.tasks:
            raise InvalidInputError(f"there are two tasks with the id {task.task_id}; ids must differ")
        if task.width != 1:
            raise InvalidInputError(f"task {task.task_id} has width {task.width}, but on a real node it must be 1")
        for parent in task.dependencies:
            if parent not in self.tasks:
                raise InvalidInputError(f"task {task.task_id} waits for task {parent}, which this node does not know")
        each = RealTask(task, shown, work, limit, parents=frozenset(self.tasks[it] for it in task.dependencies))
        self.tasks[task.task_id] = each
        self.arrivals.add(each)

    def admit(self) -> None:
        """Let those in that have arrived: they wait for no other any more; or in vain, if a parent has failed."""
        for each in self.arrivals.arrived(self.now):
            if (parent := each.failed_parent) is None:
                self._be_ready(each, max(each.task.arrival_time, 0.0))
            else:
                self.fail(each, failed_with(parent))

    def withdraw(self, task_id: int) -> bool:
        """Take a task back that has not begun to run; it ends as cancelled. False when it is too late."""
        each = self.tasks.get(task_id)
        if each is None or each.outcome is not None or any(part.is_sent for part in each.current):
            return False
        self.fail(each, CancelledError(f"task {task_id} was cancelled"))
        return True

    def abandon(self, reason: BaseException) -> None:
        """End everything that has not finished as failed; what runs is ended with its lane."""
        for lane in self._queues.busy_lanes():
            self._lanes.cancel(lane)
        self.fail_all(reason)

    def place(self, each: RealTask, decision: Decision) -> None:
        """Queue the parts of a decision, as far as the work can be done so."""
        now = self.now
        self._waiting.leave(each)
        self._waiting.changed, each.decided = True, now
        parts = self._queues.possible(each, decision)
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
            self.fail(part.owner, CancelledError(f"task {task.task_id} was cancelled"))

    # --- what lanes tell ----------------------------------------------------------------------------------------------

    def hear(self, events: Iterable[Event]) -> None:
        """Act on what has happened in the lanes."""
        for event in events:
            self._waiting.changed = True
            if not isinstance(event, LaneChange):
                self._take_report(event)
                continue
            self._queues.note_change(event)
            if event.up:
                self._look_again()
            else:
                self._go_down(event.lane)

    def _go_down(self, lane: int) -> None:
        """A lane has gone: what waits there, unsent, is decided again."""
        for part in self._queues.unsent(lane):
            self._void(part.owner)
            self._again(part.owner)
        self._look_again()

    def _look_again(self) -> None:
        """Another set of devices is up."""
        for each in self._waiting.take_misplaced():
            self._be_ready(each, each.ready)

    def _take_report(self, report: Report) -> None:
        part = self._queues.reported(report.number)
        if part is None:
            return
        each, lane = part.owner, part.device
        part.start, part.end = report.start - self._origin, report.end - self._origin
        part.joules, part.ended = report.joules, True
        if report.ending in LANE_LOST:
            self._queues.note_lost(lane)
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
                self.fail(each, report.error or HybridSchedulerError("the work failed without a reason"))
            case Ending.HUNG:
                self._void(each)
                name = self._names[part.device]
                hung = HungError(f"task {each.task.task_id} ran longer than {each.limit:g} s on {name}")
                hung.__cause__ = report.error
                self.fail(each, hung)
            case Ending.CANCELLED:
                self.fail(each, CancelledError(f"task {each.task.task_id} was cancelled"))
            case Ending.TOO_LARGE:
                each.excluded |= {self._hardware[part.device]}
                each.shown_times = None
                self._void(each)
                if self._queues.able(each):
                    self._again(each)
                else:
                    self.fail(each, report.error or MemoryError("no device has the memory for it"))
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
                    self.fail(each, error)

    # --- what becomes of a task ---------------------------------------------------------------------------------------

    def _be_ready(self, each: RealTask, moment: float) -> None:
        if not self._waiting.enter(each, moment):
            self.fail(each, InvalidInputError(f"task {each.task.task_id} can run on none of the devices left"))

    def _again(self, each: RealTask) -> None:
        self._be_ready(each, self.now)

    def _void(self, each: RealTask) -> None:
        """The parts of the present decision are in vain; those that run do so to their end, and it does not count."""
        for part in each.current:
            part.lost = True
            if not part.is_sent:
                self._queues.remove(part)
        each.placed = 0

    def fail(self, each: RealTask, error: BaseException) -> None:
        """A task is over, wherever it is, because of this."""
        each.error = error
        self._void(each)
        self._waiting.discard(each)
        self._settle(each)

    def fail_all(self, reason: BaseException) -> None:
        """Everything that has not finished is over, because of this."""
        for each in list(self.tasks.values()):
            if each.outcome is None:
                self.fail(each, reason)

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
            if self._collecting:
                self.finished.append(each)
            for child in self.arrivals.released(each):
                if outcome.failed:
                    child.error = failed_with(each)
                    over.append(child)
                else:
                    self._be_ready(child, max(self.now, child.task.arrival_time))
            if not self._keeping:
                del self.tasks[each.task.task_id]


def failed_with(parent: RealTask) -> FailedParentError:
    """Why a task fails that waits for one that has."""
    return FailedParentError(f"task {parent.task.task_id}, which it waits for, failed")
