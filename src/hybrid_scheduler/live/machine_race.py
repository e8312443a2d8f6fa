"""A live race of real work on one machine: the schedulers take turns, each with the idle machine to itself.

A round takes the next tasks of the stream. One scheduler after the other runs them for real, from the first to arrive
to the last to finish, by a clock of its own that stands still while others have their turn. Who begins rotates from
round to round, so that drift of the machine hits all alike. A round ends for all at the time of the slowest.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.engine.live import NO_PARENTS, said_of_waiting
from hybrid_scheduler.engine.live_data import Advance, Effort, Finished, Placement, WaitingTask, Waits
from hybrid_scheduler.hardware.nodes.lanes import Job, LaneChange, LaneError, Lanes, Report, Work
from hybrid_scheduler.hardware.nodes.measured_times import Times
from hybrid_scheduler.hardware.nodes.real_node import LostLaneError, RealNode
from hybrid_scheduler.hardware.nodes.real_task import outcome_batch
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.live.machine_lanes import TurnLanes
from hybrid_scheduler.live.machine_round import Results, TimedDriver, among_themselves, never_begun
from hybrid_scheduler.live.notifier import Log
from hybrid_scheduler.live.race import Stream
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import Dependency, FloatArray, Task, TaskBatch
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

STEP_SECONDS = 0.125
"""Nobody waits longer for work before commands are looked at."""
ROUND_SECONDS, ROUND_TASKS = 5.0, 64
"""A round is the tasks that arrive in so many seconds, at most so many."""
LATELY = 12.0
"""For each scheduler."""
NEXT_ROUND = "The next round takes it, in which one scheduler after the other runs the same tasks for real."


class MachineRace:
    """Implements `Race` over the lanes of this machine, which are closed with it.

    What nobody can know of real work is not there: no labels of an oracle, no lower bounds. A scheduler that fails is
    taken out, as in `LiveRace`.

    Args:
        schedulers: The contestants by name; none may need the truth.
        lanes: Where work runs.
        world: The devices, and prices.
        times: Makes what one scheduler knows of times; everybody has his own, so that nobody gains by another's work.
        work: What a task does.
        ready: Makes what every lane does before a round, such as the data of its tasks; None: nothing.
        log: Called with a level and a line for the log.
        limit: Seconds after which a task counts as hung.
        seed: Of the samples that schedulers are shown.

    Attributes:
        out: Why a scheduler was taken out, by name.

    Raises:
        InvalidInputError: A scheduler needs the truth, or the lanes are not those of the world.
    """

    def __init__(
        self,
        schedulers: Mapping[str, Scheduler],
        lanes: Lanes,
        world: World,
        *,
        times: Callable[[Lanes], Times],
        work: Callable[[Task], Work],
        ready: Callable[[Sequence[Work]], Work] | None = None,
        log: Log,
        limit: float = math.inf,
        seed: int = 0,
    ) -> None:
        if not schedulers:
            raise InvalidInputError("there are no schedulers to race; name at least one")
        self.world, self.out = world, {}
        self._machine = ReusedLanes(lanes, world.cluster)
        self._times = {name: times(self._machine) for name in schedulers}
        self._work, self._ready, self._log, self._limit, self._seed = work, ready, log, limit, seed
        self._lanes: dict[str, TurnLanes] = {}
        self._drivers: dict[str, TimedDriver] = {}
        self._replacing: dict[str, Scheduler] = {}
        self._results = {name: Results() for name in schedulers}
        for name, scheduler in schedulers.items():
            self._seat(name, scheduler)
        self._up: dict[int, bool] = {}
        self._gone: set[int] = set()
        self._preparing: set[int] = set()
        self._jobs = 0
        self._rounds = 0
        self._round: list[Task] = []
        self._queued: list[tuple[Task, Sequence[Dependency]]] = []
        self._left: deque[str] = deque()
        self._start = self._latest = 0.0
        self._turn: str | None = None

    out: dict[str, str]

    # --- time ---------------------------------------------------------------------------------------------------------

    @property
    def contestants(self) -> Mapping[str, Driver[RealNode]]:
        """See `Race.contestants`."""
        return self._drivers

    @property
    def now(self) -> float:
        """See `Race.now`."""
        return self._latest if self._turn is None else max(self._latest, self._lanes[self._turn].clock())

    @property
    def at_rest(self) -> bool:
        """See `Race.at_rest`: a turn that has begun goes on to its end, since nobody can halt what runs."""
        return self._turn is None

    @property
    def at_once(self) -> bool:
        """See `Race.at_once`: it waits for the lanes itself."""
        return True

    @property
    def lately(self) -> float:
        """See `Race.lately`: about two rounds."""
        return LATELY * len(self._drivers)

    @property
    def turn(self) -> str | None:
        """See `Race.turn`."""
        return self._turn

    def clock_of(self, name: str) -> float:
        """See `Race.clock_of`."""
        return self._lanes[name].clock()

    def raced_seconds(self) -> dict[str, float]:
        """See `Race.raced_seconds`."""
        return {name: lanes.raced_seconds() for name, lanes in self._lanes.items()}

    def keep_time(self, racing: bool) -> bool:
        """See `Race.keep_time`: clocks go by themselves."""
        return False

    def pace(self, speed: float, flat_out: bool) -> None:
        """See `Race.pace`: real time has no other."""

    # --- the stream ---------------------------------------------------------------------------------------------------

    def add(self, tasks: TaskBatch, parents: Mapping[int, Sequence[Dependency]] = NO_PARENTS) -> None:
        """Have the next round take these tasks."""
        self._queued += [(task, parents.get(task.task_id, ())) for task in tasks]

    def submit(
        self, tasks: Sequence[Task], parents: Mapping[int, Sequence[Dependency]] = NO_PARENTS
    ) -> list[dict[str, Placement | Waits | None]]:
        """Have the next round take these tasks, as soon as it begins."""
        self._queued += [(task, parents.get(task.task_id, ())) for task in tasks]
        waits = Waits(None, len(self._queued), NEXT_ROUND)
        return [{name: None if name in self.out else waits for name in self._drivers} for _ in tasks]

    def replace(self, name: str, scheduler: Scheduler) -> None:
        """See `Race.replace`; one whose turn it is comes to its end first."""
        if name == self._turn:
            self._replacing[name] = scheduler
        else:
            self._seat(name, scheduler)

    def go_on(self, stream: Stream, most: int) -> Advance:
        """See `Race.go_on`: one step of one turn.

        Raises:
            LostLaneError: Every lane is lost, and none comes back.
        """
        if self._turn is None:
            if not self._machine_is_ready():
                return self._advance({})
            if not self._left:
                self._begin_round(stream)
                if not self._machine_is_ready():
                    return self._advance({})
            self._begin_turn(self._left.popleft())
        return self._step()

    def finish(self, seconds: float) -> Iterator[Advance]:
        """See `Race.finish`: the round goes on to its end, if there is time for it."""
        until = time.monotonic() + seconds
        while (self._turn is not None or self._left) and time.monotonic() < until:
            if self._turn is None:
                if not self._machine_is_ready():
                    continue
                self._begin_turn(self._left.popleft())
            yield self._step()

    def close(self) -> None:
        """End the lanes, whatever runs there."""
        self._machine.close()

    # --- who fails ----------------------------------------------------------------------------------------------------

    def give_up(self, name: str, reason: str, now: float | None = None) -> int:
        """Fail everything one scheduler has not finished of this round; returns how many tasks those are."""
        results = self._results[name]
        before = len(results.outcomes)
        if name == self._turn:
            self._drivers[name].node.abandon(HybridSchedulerError(reason))
        if name in self._left:
            self._left.remove(name)
        for task in self._round:
            if task.task_id not in results.outcomes:
                moment = max(self._lanes[name].clock(), task.arrival_time)
                results.put(never_begun(task, moment), reason)
        return len(results.outcomes) - before

    def take_out(self, name: str, reason: str, now: float | None = None) -> None:
        """Let one scheduler race no more: it fails what it has not finished and all tasks to come."""
        self.out.setdefault(name, reason)
        self.give_up(name, reason)

    # --- figures ------------------------------------------------------------------------------------------------------

    def unfinished(self) -> dict[str, int]:
        """How many tasks of this round, and of those that the next will take, each scheduler has not finished."""
        tasks = len(self._round) + len(self._queued)
        return {
            name: 0 if name in self.out else tasks - len(results.outcomes) for name, results in self._results.items()
        }

    def stuck(self, name: str, horizon: float) -> int:
        """None: every round has an end."""
        return 0

    def waiting_seconds(self) -> dict[str, float]:
        """Of nobody: no backlog outlasts its round, so none can grow."""
        return {}

    def busy_seconds(self) -> dict[str, FloatArray]:
        """See `LiveRace.busy_seconds`."""
        return {name: lanes.busy_seconds() for name, lanes in self._lanes.items()}

    def waiting_tasks(self) -> dict[str, int]:
        """See `LiveRace.waiting_tasks`: nobody waits for a scheduler whose turn it is not."""
        return {name: driver.node.waiting_tasks if name == self._turn else 0 for name, driver in self._drivers.items()}

    def waiting_room(self, name: str, most: int, task_id: int | None = None) -> list[WaitingTask]:
        """See `LiveRace.waiting_room`."""
        if name != self._turn:
            return []
        driver = self._drivers[name]
        node, scheduler = driver.node, driver.scheduler
        room, view = node.waiting(), node.view()
        tasks = room.oldest(most) if task_id is None else [task for task in room if task.task_id == task_id]
        try:
            return said_of_waiting(tasks, scheduler, room, view)
        except HybridSchedulerError as error:
            self.take_out(name, str(error))
            return []

    # --- rounds and turns ---------------------------------------------------------------------------------------------

    def _seat(self, name: str, scheduler: Scheduler) -> None:
        lanes = TurnLanes(self._machine, self._note)
        node = RealNode(
            scheduler,
            lanes,
            self._times[name],
            physics=self.world.physics,
            settled=self._results[name].take,
            keeping=False,
            seed=self._seed,
        )
        if name in self._drivers:
            node.decisions = self._drivers[name].node.decisions
            lanes.carry_over(self._lanes[name])
        self._lanes[name], self._drivers[name] = lanes, TimedDriver(scheduler, node, compiled=False)

    def _machine_is_ready(self) -> bool:
        """Whether every lane that will come up is up and has nothing to do; waits a moment for that."""
        count = len(self.world.cluster.devices)
        settled = all(self._up.get(lane) or lane in self._gone for lane in range(count))
        if settled and not self._preparing and len(self._gone) < count:
            return True
        for event in self._machine.wait(STEP_SECONDS):
            if isinstance(event, Report):
                self._preparing.discard(event.lane)
                if event.error is not None and not isinstance(event.error, LaneError):
                    name = self.world.cluster.names[event.lane]
                    self._log("warning", f"{name} could not get ready for the round: {event.error}")
            else:
                self._note(event)
        if len(self._gone) == count:
            raise LostLaneError(f"every lane is lost ({', '.join(self.world.cluster.names)}), and none comes back")
        return False

    def _note(self, change: LaneChange) -> None:
        """A lane has gone or is there."""
        name, known = self.world.cluster.names[change.lane], self._up.get(change.lane)
        self._up[change.lane] = change.up
        if change.final and change.lane not in self._gone:
            self._gone.add(change.lane)
            self._log("error", f"{name} is lost and does not come back")
        elif change.up and known is False:
            self._log("warning", f"{name} was lost and is back")

    def _begin_round(self, stream: Stream) -> None:
        """Take the next tasks; the time before the first of them is passed over."""
        now = self._latest
        stream.stand_still(now)
        submitted, self._queued = self._queued, []
        self._start = now if submitted else stream.next_arrival()
        stream.take(self._start + ROUND_SECONDS, ROUND_TASKS)
        drawn, self._queued = self._queued, []
        asked = [(replace(task, arrival_time=self._start), parents) for task, parents in submitted]
        self._round = among_themselves([*asked, *drawn])
        self._rounds += 1
        names = list(self._drivers)
        first = self._rounds % len(names)
        for results in self._results.values():
            results.outcomes.clear()
            results.reasons.clear()
        self._left = deque(name for name in (*names[first:], *names[:first]) if name not in self.out)
        for name in self.out:
            self.give_up(name, self.out[name])
        if self._ready is not None:
            ready = self._ready([self._work(task) for task in self._round])
            for lane in range(len(self.world.cluster.devices)):
                if self._up.get(lane):
                    self._jobs += 1
                    self._preparing.add(lane)
                    self._machine.send(lane, Job(self._jobs, ready, limit=self._limit))

    def _begin_turn(self, name: str) -> None:
        driver, lanes = self._drivers[name], self._lanes[name]
        self._turn = name
        lanes.begin_turn(self._start)
        driver.node.advance(None, until=self._start)  # hears which lanes are up
        try:
            for task in self._round:
                driver.node.add(task, self._work(task), self._limit)
            driver.prepare(self._round)
        except HybridSchedulerError as error:
            self.take_out(name, str(error))

    def _step(self) -> Advance:
        """Drive whose turn it is for a moment; the turn ends when all its tasks are over and nothing runs."""
        name = self._turn
        assert name is not None
        driver, lanes = self._drivers[name], self._lanes[name]
        decided, deciding, learning = driver.node.decisions, driver.deciding_seconds, driver.learning_seconds
        try:
            if name in self.out:
                lanes.wait(STEP_SECONDS)
            else:
                driver.run(until=driver.node.now + STEP_SECONDS)
                driver.deliver()
        except LaneError:
            raise
        except HybridSchedulerError as error:
            self.take_out(name, str(error))
        if lanes.idle and not driver.node.unfinished:
            self._end_turn(name)
        effort = Effort(
            driver.node.decisions - decided,
            driver.deciding_seconds - deciding,
            driver.learning_seconds - learning,
        )
        return self._advance({name: effort})

    def _end_turn(self, name: str) -> None:
        self._lanes[name].end_turn()
        self._latest = max(self._latest, self._lanes[name].clock())
        self._turn = None
        if name in self._replacing:
            self._seat(name, self._replacing.pop(name))

    def _advance(self, efforts: Mapping[str, Effort]) -> Advance:
        by_scheduler, unknown, no_times = {}, {}, {}
        devices = len(self.world.cluster.devices)
        for name, results in self._results.items():
            fresh, results.fresh = results.fresh, []
            by_scheduler[name] = outcome_batch(fresh, self.world)
            unknown[name], no_times[name] = np.full(len(fresh), np.nan), np.full((len(fresh), devices), np.nan)
        over = self._round and self._turn is None and not self._left
        return Advance(by_scheduler, unknown, no_times, self._finished() if over else self._nothing(), efforts)

    def _finished(self) -> Finished:
        """The round, which is over for everybody."""
        tasks, self._round = self._round, []
        outcomes: dict[str, OutcomeBatch] = {}
        for name, results in self._results.items():
            outcomes[name] = outcome_batch([results.outcomes.pop(task.task_id) for task in tasks], self.world)
        reasons = {name: dict(results.reasons) for name, results in self._results.items()}
        unknown = np.full((len(tasks), len(self.world.cluster.devices)), np.nan)
        return Finished(tasks, [], unknown[:, 0], unknown, outcomes, reasons)

    def _nothing(self) -> Finished:
        none = {name: outcome_batch([], self.world) for name in self._drivers}
        empty = np.zeros((0, len(self.world.cluster.devices)))
        return Finished([], [], empty[:, 0], empty, none, {name: {} for name in self._drivers})
