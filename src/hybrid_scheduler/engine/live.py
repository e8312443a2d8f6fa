"""The live race: the batch loop plus a clock that the caller advances.

Tasks come in bit by bit, simulated time goes on bit by bit, and what every scheduler has finished comes out. How the
time is cut into pieces changes nothing: the outcomes are those of one batch race over the same tasks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.node import SimulatedNode
from hybrid_scheduler.engine.driver import Driver, named_failures, simulated_node
from hybrid_scheduler.engine.live_data import Advance, Effort, Finished, Placement, WaitingTask, Waits
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import HybridSchedulerError, InvalidInputError
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.task import Dependency, FloatArray, IntArray, Task, TaskBatch, split_dependencies
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.optimum import best_finish
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Explanation, Scheduler

NO_PARENTS: Mapping[int, Sequence[Dependency]] = {}
FORGET = 1024
"""Finished tasks are dropped in blocks of at least so many."""


class LiveRace:
    """Several schedulers side by side on a stream that does not end.

    A scheduler that fails is taken out: from then on it fails every task, and the race goes on without it. Not
    thread-safe. Only tasks that some scheduler has not finished are kept; `give_up` ends those of one.

    Attributes:
        out: Why a scheduler was taken out, by name.

    Args:
        schedulers: The contestants by name.
        world: The devices and how they behave.
        seed: Seed of the noise.
        forget: Tasks that are over for everybody are dropped once there are so many.
    """

    def __init__(
        self, schedulers: Mapping[str, Scheduler], world: World = World(), *, seed: int = 0, forget: int = FORGET
    ) -> None:
        if not schedulers:
            raise InvalidInputError("there are no schedulers to race; name at least one")
        self.world, self.seed, self._most_over = world, seed, forget
        self.contestants = {
            name: Driver(scheduler, simulated_node(scheduler, self, world, recording=True))
            for name, scheduler in schedulers.items()
        }
        self.out: dict[str, str] = {}
        self.now = 0.0
        self.forgotten = 0
        self._tasks: list[Task] = []
        self._labels: list[Label] = []
        self._least = np.zeros(0)
        self._whole = np.zeros((0, len(world.cluster.devices)))
        self._handed_out = np.zeros(0, dtype=bool)
        self._seen = {name: np.zeros(0, dtype=bool) for name in schedulers}
        self._reasons: dict[str, dict[int, str]] = {name: {} for name in schedulers}
        self._busy_before = {name: np.zeros(len(world.cluster.devices)) for name in schedulers}

    # --- the nodes' book (`TaskBook`) --------------------------------------------------------------------------------

    def task(self, position: int) -> Task:
        """One of the kept tasks."""
        return self._tasks[position]

    def label(self, position: int) -> Label:
        """The oracle's label of one of them."""
        return self._labels[position]

    # --- the stream ---------------------------------------------------------------------------------------------------

    def add(self, tasks: TaskBatch, parents: Mapping[int, Sequence[Dependency]] = NO_PARENTS) -> None:
        """Let tasks arrive at `now` or later.

        Args:
            tasks: With ids unlike all others; parents inside the batch are not looked at.
            parents: By id, the ids each must wait for, or pairs of an id and the megabytes that come from there. Those
                no longer kept have finished, and nothing has to come from them any more.
        """
        timed = self.world.timed(tasks, self.seed)
        labels = timed.labels()
        self._tasks += list(tasks)
        waits = self._positions(tasks, parents) if parents else {}
        handed = np.zeros(len(tasks))
        for position, (_, megabytes) in waits.items():
            handed[position - len(self._tasks) + len(tasks)] = sum(megabytes)
        savings = timed.savings() if handed.any() else np.zeros((len(tasks), 0))
        for contestant in self.contestants.values():
            contestant.node.add(timed)
            for position, (waits_for, megabytes) in waits.items():
                row = savings[position - len(self._tasks) + len(tasks)]
                contestant.node.depend(position, waits_for, megabytes, row)
        for position, (waits_for, megabytes) in waits.items():
            named = tuple(self._tasks[parent].task_id for parent in waits_for)
            data = tuple(megabytes) if any(megabytes) else ()
            self._tasks[position] = replace(self._tasks[position], dependencies=named, dependency_mb=data)
        self._prepare(tasks, waits)
        best = zip(labels.seconds, labels.gpu_fraction.tolist(), labels.optimal_seconds.tolist(), strict=True)
        new = self._tasks[len(self._tasks) - len(tasks) :]
        self._labels += [Label(task, *label) for task, label in zip(new, best, strict=True)]
        self._least = np.concatenate([self._least, timed.least_seconds(handed)])
        self._whole = np.concatenate([self._whole, timed.shortest_times(handed).sum(axis=1)])
        fresh = np.zeros(len(tasks), dtype=bool)
        self._handed_out = np.concatenate([self._handed_out, fresh])
        self._seen = {name: np.concatenate([seen, fresh]) for name, seen in self._seen.items()}

    def advance(self, until: float) -> Advance:
        """Let simulated time go on; returns what each scheduler, and all of them, have finished since the last call."""
        efforts = {}
        for name, contestant in self.contestants.items():
            if name in self.out:
                self.give_up(name, self.out[name], until)
                continue
            decided, learned, began = contestant.node.decisions, contestant.learning_seconds, time.perf_counter()
            try:
                contestant.run(until=until)
                contestant.deliver()
            except HybridSchedulerError as error:
                self.take_out(name, str(error), until)
                continue
            learning = contestant.learning_seconds - learned
            seconds = time.perf_counter() - began - learning
            efforts[name] = Effort(contestant.node.decisions - decided, seconds, learning)
        self.now = until
        over, by_scheduler, least, whole = np.ones(len(self._tasks), dtype=bool), {}, {}, {}
        for name, contestant in self.contestants.items():
            done = contestant.node.finished(until)
            new = np.flatnonzero(done & ~self._seen[name])
            by_scheduler[name] = contestant.node.outcomes(new)
            least[name], whole[name] = self._least[new], self._whole[new]
            self._seen[name], over = done, over & done
        return Advance(by_scheduler, least, whole, self._hand_out(np.flatnonzero(over & ~self._handed_out)), efforts)

    def drain(self) -> Advance:
        """Let everything that has arrived finish."""
        return self.advance(np.inf)

    def give_up(self, name: str, reason: str, now: float | None = None) -> int:
        """Fail everything one scheduler has not finished, and give it an idle node; returns how many tasks those are.

        Args:
            name: The scheduler.
            reason: Why, for the results of those tasks.
            now: The moment; `self.now` unless given.
        """
        sim = self.contestants[name].node
        moment = self.now if now is None or not np.isfinite(now) else now
        failed = sim.abandon(max(moment, sim.now))
        if name in self.out:
            sim.take_outcomes(np.inf)  # it learns no more
        self._reasons[name].update((self._tasks[position].task_id, reason) for position in failed)
        return len(failed)

    def take_out(self, name: str, reason: str, now: float | None = None) -> None:
        """Let one scheduler race no more: it fails what it has not finished and all tasks to come."""
        self.out.setdefault(name, reason)
        self.give_up(name, reason, now)

    def submit(
        self, tasks: Sequence[Task], parents: Mapping[int, Sequence[Dependency]] = NO_PARENTS
    ) -> list[dict[str, Placement | Waits | None]]:
        """Put tasks in at `now`; returns for each what every scheduler answers, None where parents run or it is out.

        Args:
            tasks: In the order in which they are decided; their ids are unlike all others, they arrive `now`.
            parents: As in `add`.
        """
        first = len(self._tasks)
        self.add(TaskBatch.from_tasks(tasks), parents)
        by_scheduler = {name: self._place_or_take_out(name, first) for name in self.contestants}
        return [
            {name: placements.get(position) for name, placements in by_scheduler.items()}
            for position in range(first, len(self._tasks))
        ]

    def unfinished(self) -> dict[str, int]:
        """How many tasks each scheduler has not finished."""
        return {name: int((~contestant.node.finished(self.now)).sum()) for name, contestant in self.contestants.items()}

    def all_free(self) -> float:
        """When the last device of any scheduler becomes free, as things stand."""
        return max(contestant.node.all_free() for contestant in self.contestants.values())

    def nth_finish(self, count: int) -> float:
        """When some scheduler will have finished so many more tasks; infinite when nobody has as many placed."""
        return min(contestant.node.nth_finish(count, self.now) for contestant in self.contestants.values())

    def stuck(self, name: str, horizon: float) -> int:
        """How many placed tasks of one scheduler will not finish within so many seconds."""
        return int(self.contestants[name].node.finishing_after(self.now + horizon).sum())

    def waiting_seconds(self) -> dict[str, float]:
        """Seconds until a device has done what is queued and its share of what waits, the mean over the devices."""
        return {name: contestant.node.backlog_seconds(self.now) for name, contestant in self.contestants.items()}

    def busy_seconds(self) -> dict[str, FloatArray]:
        """Seconds every device has been busy up to `now`, by scheduler."""
        return {
            name: self._busy_before[name] + contestant.node.busy_seconds(self.now)
            for name, contestant in self.contestants.items()
        }

    def waiting_tasks(self) -> dict[str, int]:
        """How many tasks are ready and wait for each scheduler to start them."""
        return {name: contestant.node.waiting_tasks for name, contestant in self.contestants.items()}

    def waiting_room(self, name: str, most: int, task_id: int | None = None) -> list[WaitingTask]:
        """Who waits for one scheduler to start it, the oldest first; at most so many, or one task alone, if it waits.

        A scheduler that fails to say what it expects is taken out of the race.
        """
        contestant = self.contestants[name]
        node, scheduler = contestant.node, contestant.scheduler
        room, view = node.waiting(), node.view()
        if task_id is None:
            tasks = room.oldest(most)
        else:
            position = node.position_of(task_id)
            tasks = [task] if position >= 0 and (task := node.shown(position)) in room else []
        try:
            return said_of_waiting(tasks, scheduler, room, view, self.now)
        except HybridSchedulerError as error:
            self.take_out(name, str(error))
            return []

    def _prepare(self, tasks: TaskBatch, waits: Mapping[int, tuple[Sequence[int], Sequence[float]]]) -> None:
        first = len(self._tasks) - len(tasks)
        edges = _edges_among(waits, first, len(tasks)) if waits else None
        for name, contestant in self.contestants.items():
            if name not in self.out:
                try:
                    contestant.rank(tasks, edges)
                    contestant.prepare(self._tasks[first:])
                except HybridSchedulerError as error:
                    self.take_out(name, str(error))

    def _positions(
        self, tasks: TaskBatch, parents: Mapping[int, Sequence[Dependency]]
    ) -> dict[int, tuple[list[int], list[float]]]:
        """By the position of each task that has parents: their positions, and the data that comes from each."""
        known = {task.task_id: i for i, task in enumerate(self._tasks)}
        first = len(self._tasks) - len(tasks)
        waits = {}
        for position, task in enumerate(tasks, first):
            named, megabytes = split_dependencies(parents.get(task.task_id, ()))
            # A parent that is named twice counts once, with the data of both.
            data: dict[int, float] = {}
            for parent, megabyte in zip(named, megabytes or (0.0,) * len(named), strict=True):
                if parent in known:
                    data[known[parent]] = data.get(known[parent], 0.0) + megabyte
            if data:
                waits[position] = list(data), list(data.values())
        return waits

    def _place_or_take_out(self, name: str, first: int) -> dict[int, Placement | Waits]:
        if name in self.out:
            return {}
        try:
            return self._place(self.contestants[name], first)
        except HybridSchedulerError as error:
            self.take_out(name, str(error))
            return {}

    def _place(self, contestant: Driver[SimulatedNode], first: int) -> dict[int, Placement | Waits]:
        """Let Python decide what is due now, so that the moment can be looked at; answers for tasks from `first` on."""
        node, scheduler = contestant.node, contestant.scheduler
        moments: dict[int, tuple[Decision, Explanation, FloatArray, FloatArray, float]] = {}

        def look(task: Task, decision: Decision, view: ClusterView) -> None:
            position = node.position_of(task.task_id)
            if position < first:
                return
            truth, free = node.truth(position)
            best = best_finish(self.now, task.memory_required, view.devices, truth, free, view.facts) - self.now
            wait = np.maximum(free - self.now, 0.0)
            moments[position] = decision, scheduler.explain(task, view), truth.sum(axis=0), wait, best

        Driver(scheduler, node, compiled=False, starting=look).run(until=self.now)
        projected = node.outcomes(np.array(list(moments), dtype=np.int64))
        answers: dict[int, Placement | Waits] = {
            position: Placement(*moment, outcome, self._tasks[position].memory_required)
            for (position, moment), outcome in zip(moments.items(), projected, strict=True)
        }
        if node.waiting_tasks:
            room, view = node.waiting(), node.view()
            for position in range(first, len(self._tasks)):
                if (task := node.shown(position)) in room:
                    start, reason = scheduler.expected_start(task, room, view), scheduler.explain(task, view).reason
                    answers[position] = Waits(start, len(room), reason)
        return answers

    def _hand_out(self, positions: NDArray[np.int64]) -> Finished:
        tasks = [self._tasks[i] for i in positions]
        reasons = {
            name: {task.task_id: known.pop(task.task_id) for task in tasks if task.task_id in known}
            for name, known in self._reasons.items()
        }
        finished = Finished(
            tasks,
            [self._labels[i] for i in positions],
            self._least[positions],
            self._whole[positions],
            {name: contestant.node.outcomes(positions) for name, contestant in self.contestants.items()},
            reasons,
        )
        self._handed_out[positions] = True
        self._forget()
        return finished

    def _forget(self) -> None:
        """Drop the tasks that are over for everybody, once there are enough of them."""
        if int(self._handed_out.sum()) < self._most_over:
            return
        first = next(iter(self.contestants.values())).node
        gone = self._handed_out & ~first.needed(self._handed_out)
        count = int(gone.sum())
        if count < self._most_over:
            return
        for name, contestant in self.contestants.items():
            self._busy_before[name] += contestant.node.busy_seconds(self.now, of=gone)
            contestant.node.forget(gone, self.now)
            self._seen[name] = self._seen[name][~gone]
        self._tasks = [task for task, over in zip(self._tasks, gone, strict=True) if not over]
        self._labels = [label for label, over in zip(self._labels, gone, strict=True) if not over]
        self._least, self._whole, self._handed_out = self._least[~gone], self._whole[~gone], self._handed_out[~gone]
        self.forgotten += count


def said_of_waiting(
    tasks: Sequence[Task], scheduler: Scheduler, room: WaitingRoom, view: ClusterView, now: float = -np.inf
) -> list[WaitingTask]:
    """What a scheduler says of tasks in its waiting room; `now` is the earliest start it can expect.

    Raises:
        SchedulerError: It fails to say it.
    """
    with named_failures(scheduler):
        return [
            WaitingTask(
                task,
                room.since(task),
                room.overtaken(task),
                # What was expected when something last changed may be in the past by now.
                None if (start := scheduler.expected_start(task, room, view)) is None else max(start, now),
                scheduler.explain(task, view).reason,
            )
            for task in tasks
        ]


def _edges_among(
    waits: Mapping[int, tuple[Sequence[int], Sequence[float]]], first: int, count: int
) -> tuple[IntArray, IntArray]:
    """`parent_start` and `parents` of the tasks from `first` on, of those parents that are among them."""
    among = [[p - first for p in waits[first + i][0] if p >= first] if first + i in waits else [] for i in range(count)]
    start = np.cumsum([0, *map(len, among)], dtype=np.int64)
    return start, np.array([parent for each in among for parent in each], dtype=np.int64)
