"""The simulated node: `model.node.Node` over the arrays of a simulation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, overload

import numpy as np

from hybrid_scheduler.cluster.data import add_data
from hybrid_scheduler.cluster.simulation import Simulation, Waiting
from hybrid_scheduler.cluster.state import (
    ASK,
    CURRENT,
    DECIDE,
    DISPATCH,
    DOOMED,
    DRAINED,
    FAILED,
    OUTCOMES,
    PAUSED,
    PLACED,
    QUIET,
    SEES_ESTIMATES,
    SEES_EXPECTED,
    SEES_QUEUES,
    SEES_TRUTH,
    STALLED,
    TASKS,
    UNDECIDED,
    WAITING,
    WAITS,
)
from hybrid_scheduler.cluster.waiting import oldest_first, pick, pick_ranked, times_overtaken
from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.errors import IllegalDecisionError, SchedulerError
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.node import NO_LIMIT, Change, Expectation, Finished, Policy
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, TASK_MEMORY, TASK_RANK
from hybrid_scheduler.model.view import NO_FREE, NO_TIMES, ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.physics.world import World

CHANGES = {
    DECIDE: Change.ASKED,
    DISPATCH: Change.ASKED,
    OUTCOMES: Change.FINISHED,
    WAITING: Change.REACHED,
    PAUSED: Change.PAUSED,
    STALLED: Change.STALLED,
    DRAINED: Change.OVER,
}


class TaskBook(Protocol):
    """Where a node looks tasks up by their position; all schedulers of a race share one."""

    def task(self, position: int) -> Task:
        """The task."""

    def label(self, position: int) -> Label:
        """The oracle's label of it."""


class UnlabelledTasks:
    """A book for nodes whose scheduler learns from no labels.

    Args:
        tasks: The tasks, by position.
    """

    def __init__(self, tasks: TaskBatch) -> None:
        self._tasks = tasks

    def task(self, position: int) -> Task:
        """The task."""
        task: Task = self._tasks[position]
        return task

    def label(self, position: int) -> Label:
        """There are none."""
        raise SchedulerError(f"there is no label of the task at position {position}; this node has none")


class SimulatedNode(Simulation):
    """A simulated node for one scheduler.

    Args:
        book: Where tasks are looked up.
        world: The devices, and how they behave.
        uses_estimates: Whether the scheduler sees nominal times.
        knows_truth: Whether it sees realised times and true queues.
        observing: Whether it wants to know what has finished.
        wants_labels: Whether it wants the oracle's labels.
        isolated: Every task meets an idle node.
        waiting: How tasks wait for a scheduler that dispatches; None for one that decides at once.
        recording: Outcomes say how long the queues were at the decision.
        expect: What a scheduler expects of tasks that wait; it then sees that.
    """

    def __init__(
        self,
        book: TaskBook,
        world: World,
        *,
        uses_estimates: bool = False,
        knows_truth: bool = False,
        observing: bool = False,
        wants_labels: bool = False,
        isolated: bool = False,
        waiting: Waiting | None = None,
        recording: bool = False,
        expect: Callable[[], Expectation] | None = None,
    ) -> None:
        sees = SEES_TRUTH if knows_truth else SEES_ESTIMATES if uses_estimates else SEES_QUEUES
        super().__init__(
            world,
            sees=sees if expect is None else SEES_EXPECTED,
            isolated=isolated,
            observing=observing,
            waiting=waiting,
            recording=recording,
            expect=expect,
        )
        self.book = book
        self._wants_labels = wants_labels
        self._positions: dict[int, int] = {}
        self._reached = 0.0

    def advance(self, policy: Policy | None, *, until: float = math.inf, limit: int = NO_LIMIT) -> Change:
        """See `Node.advance`."""
        function, state = (None, NO_FREE) if policy is None else policy
        change = CHANGES[self.run(function, state, until=until, limit=limit)]
        self._reached = until if change in (Change.REACHED, Change.OVER) else self.now
        return change

    def waiting(self) -> WaitingRoom:
        """See `Node.waiting`."""
        return _SimulatedRoom(self)

    def start(self, task: Task, decision: Decision) -> None:
        """See `Node.start`."""
        if self._waiting is None:
            if self.current < 0 or not isinstance(task, Task) or self.task_id(self.current) != task.task_id:
                raise IllegalDecisionError(f"{task} is started, but it does not wait to be")
            self.answer(decision)
            return
        position = self.position_of(task.task_id) if isinstance(task, Task) else -1
        if position < 0 or self.state.tasks[position]["status"] != WAITS:
            raise IllegalDecisionError(f"{task} is started, but it does not wait to be")
        self.state.counters[CURRENT] = position
        self.answer(decision)
        self.run(None, NO_FREE, until=-math.inf)

    def hold(self) -> None:
        """See `Node.hold`."""
        self.state.counters[ASK] = QUIET

    def take_finished(self) -> list[Finished]:
        """See `Node.take_finished`."""
        positions = self.take_outcomes(self._reached)
        return [
            Finished(
                self.shown(int(position)),
                outcome.decision(self.world.cluster.names),
                outcome,
                self.book.label(int(position)) if self._wants_labels and not outcome.failed else None,
            )
            for position, outcome in zip(positions, self.outcomes(positions), strict=True)
        ]

    def view(self) -> ClusterView:
        """See `Node.view`: a snapshot, with the times of the task at hand for a scheduler that decides at once."""
        state, position = self.state, self.current
        times, free = NO_TIMES, NO_FREE
        if position >= 0 and self._sees == SEES_TRUTH and self._waiting is None:
            times, free = self.truth(position)
        elif self._sees == SEES_TRUTH:
            free = state.free.copy()
        if position >= 0 and self._sees not in (SEES_QUEUES, SEES_TRUTH):
            times = self.times(position)
        elif position >= 0 and self._sees == SEES_QUEUES and self._waiting is None and self.handed(position):
            times = np.zeros((2, len(state.free)))
            times[FIXED] = np.maximum(self.data_there(position) - self.now, 0.0)
        times_by_id = None if self._sees == SEES_QUEUES else _TimesById(self)
        if times_by_id is not None and position >= 0:
            times_by_id.note(self.task_id(position), times)
        return ClusterView(
            self.decisions - (1 if self._waiting is None and position >= 0 else 0),
            self.now,
            state.devices.copy(),
            state.facts.copy(),
            self.world.cluster.names,
            times,
            free,
            self.waiting_tasks,
            times_by_id,
            self.links,
            _PartsById(self),
            _DataById(self) if len(state.data) else None,
            self.resident_seconds,
        )

    @cached_property
    def resident_seconds(self) -> FloatArray:
        """See `ClusterView.resident`."""
        return self.world.resident_seconds()

    @cached_property
    def links(self) -> FloatArray:
        """See `ClusterView.links`."""
        return self.world.links()

    @property
    def devices(self) -> FloatArray:
        """The device table as it stands; not a copy."""
        return self.state.devices

    @property
    def facts(self) -> FloatArray:
        """The public facts; not a copy."""
        return self.state.facts

    def response_of(self, position: int) -> tuple[float, bool]:
        """Response time of a decided task as things stand, and whether it failed."""
        record = self.state.tasks[position]
        return float(record["finish"] - record["arrival"]), bool(record["status"] == FAILED)

    def task_id(self, position: int) -> int:
        """The id of the task at a position."""
        return int(self.state.tasks[position]["id"])

    def position_of(self, task_id: int) -> int:
        """The position of a task by its id; -1 when the node does not know it."""
        count = int(self.state.counters[TASKS])
        if len(self._positions) < count:
            known = len(self._positions)
            ids = self.state.tasks["id"][known:count].tolist()
            self._positions.update(zip(ids, range(known, count), strict=True))
        return self._positions.get(task_id, -1)

    def shown(self, position: int) -> Task:
        """A task as this scheduler may see it."""
        task = self.book.task(position)
        if self._ranked:
            task = task.ranked(float(self.state.features[position, TASK_RANK]))
        return task.without_estimate() if self._sees in (SEES_QUEUES, SEES_EXPECTED) else task

    def forget(self, gone: Any, now: float) -> None:
        """See `Simulation.forget`; positions move, so ids are looked up anew."""
        super().forget(gone, now)
        self._positions.clear()

    def times(self, position: int) -> FloatArray:
        """The times of a task that the scheduler may see."""
        state, free = self.state, self.state.free
        if self._sees == SEES_TRUTH:
            times, begin = self.truth(position)
            if self._waiting is not None:
                times[FIXED] += np.maximum(begin, self.now) - np.maximum(free, self.now)
            return times
        seen: FloatArray = state.nominal[position].copy()
        if self.handed(position):
            memory = state.features[position, TASK_MEMORY]
            add_data(state.tasks, state.parts, state.data, state.links, position, self.now, memory, seen)
        return seen

    def data_ready(self, position: int) -> FloatArray | None:
        """When the data of a task is on each device: infinite until it is ready; None when nothing comes."""
        task = self.state.tasks[position]
        if task["first_data"] < 0:
            return None
        if not self.handed(position) and task["status"] in (UNDECIDED, DOOMED):
            return np.full(len(self.state.free), np.inf)
        return self.data_there(position)

    def parts_of(self, position: int) -> tuple[Part, ...]:
        """Where a task was placed; empty when it is not."""
        task = self.state.tasks[position]
        if task["status"] != PLACED:
            return ()
        first, count = int(task["first_part"]), int(task["part_count"])
        parts = self.state.parts[first : first + count][["device", "share", "expected"]].tolist()
        return tuple(Part(*part) for part in parts)


V = TypeVar("V")


class _ById(Mapping[int, V], Generic[V]):
    """What the scheduler may see of every task in the node; a copy has those that were looked at."""

    def __init__(self, node: SimulatedNode) -> None:
        self._node = node
        self._seen: dict[int, V] = {}

    @abstractmethod
    def _look(self, position: int) -> V | None:
        """What there is to see of one task; None when that is nothing."""

    def __getitem__(self, task_id: int) -> V:
        if task_id not in self._seen:
            position = self._node.position_of(task_id)
            seen = None if position < 0 else self._look(position)
            if seen is None:
                raise KeyError(task_id)
            self._seen[task_id] = seen
        return self._seen[task_id]

    def __iter__(self) -> Iterator[int]:
        return (int(task) for task in self._node.state.tasks["id"][: len(self)])

    def __len__(self) -> int:
        return int(self._node.state.counters[TASKS])

    def __reduce__(self) -> tuple[type, tuple[dict[int, V]]]:
        return dict, (self._seen,)


class _TimesById(_ById[FloatArray]):
    def note(self, task_id: int, times: FloatArray) -> None:
        """Keep the times of a task that was looked at already."""
        self._seen[task_id] = times

    def _look(self, position: int) -> FloatArray:
        return self._node.times(position)


class _PartsById(_ById[tuple[Part, ...]]):
    def _look(self, position: int) -> tuple[Part, ...]:
        return self._node.parts_of(position)


class _DataById(_ById[FloatArray]):
    def _look(self, position: int) -> FloatArray | None:
        return self._node.data_ready(position)


class _SimulatedRoom(WaitingRoom):
    """The waiting room of a simulated node, or the one task that is to be decided at once."""

    def __init__(self, node: SimulatedNode) -> None:
        self._node = node

    @cached_property
    def _positions(self) -> list[int]:
        node = self._node
        if node.current >= 0:
            return [node.current]
        positions = np.empty(node.waiting_tasks, dtype=np.int64)
        count = oldest_first(node.state.room, node.state.counters, positions)
        return [int(position) for position in positions[:count]]

    def __len__(self) -> int:
        node = self._node
        return 1 if node.current >= 0 else node.waiting_tasks

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        if isinstance(index, slice):
            return self._shown(self._positions[index])
        return self._node.shown(self._positions[index])

    def ids(self) -> list[int]:
        """See `WaitingRoom.ids`."""
        ids: list[int] = self._node.state.tasks["id"][self._positions].tolist()
        return ids

    def __contains__(self, task: object) -> bool:
        node = self._node
        position = node.position_of(task.task_id) if isinstance(task, Task) else -1
        return position >= 0 and (position == node.current or node.state.tasks[position]["status"] == WAITS)

    def shortest(self, count: int) -> list[Task]:
        """See `WaitingRoom.shortest`."""
        return self._shown(self._picked(count, 0, 0))

    def oldest(self, count: int) -> list[Task]:
        """See `WaitingRoom.oldest`."""
        return self._shown(self._picked(0, count, 0))

    def sample(self, count: int) -> list[Task]:
        """See `WaitingRoom.sample`."""
        return self._shown(self._picked(0, 0, count))

    def highest_ranked(self, count: int) -> list[Task]:
        """See `WaitingRoom.highest_ranked`."""
        node = self._node
        if node.current >= 0:
            return super().highest_ranked(count)
        positions, state = np.empty(count, dtype=np.int64), node.state
        found = pick_ranked(state.shortest, state.counters, state.features, count, positions, 0)
        return self._shown(int(position) for position in positions[:found])

    def since(self, task: Task) -> float:
        """See `WaitingRoom.since`."""
        node = self._node
        return float(node.state.tasks[node.position_of(task.task_id)]["ready"])

    def overtaken(self, task: Task) -> int:
        """See `WaitingRoom.overtaken`."""
        node = self._node
        if node.current >= 0:
            return 0
        state = node.state
        return int(times_overtaken(state.room, state.ages, state.counters, node.position_of(task.task_id)))

    def seconds_ahead(self, task: Task, *, shortest_first: bool = False) -> float:
        """See `WaitingRoom.seconds_ahead`."""
        state, position = self._node.state, self._node.position_of(task.task_id)
        waiting = state.shortest[: self._node.waiting_tasks]
        own = waiting[state.room[position]["rank"]]
        if shortest_first:
            ahead = (waiting["time"] < own["time"]) | ((waiting["time"] == own["time"]) & (waiting["id"] < own["id"]))
        else:
            ready, ids = state.tasks["ready"][waiting["task"]], waiting["id"]
            mine = state.tasks[position]["ready"]
            ahead = (ready < mine) | ((ready == mine) & (ids < own["id"]))
        return float(waiting["time"][ahead].sum())

    def _picked(self, shortest: int, oldest: int, sampled: int) -> list[int]:
        node = self._node
        if node.current >= 0:
            return [node.current][: shortest + oldest + sampled]
        positions = np.empty(2 * shortest + oldest + sampled + 1, dtype=np.int64)
        count = pick(node.state.room, node.state.shortest, node.state.counters, shortest, oldest, sampled, positions)
        return [int(position) for position in positions[:count]]

    def _shown(self, positions: Iterable[int]) -> list[Task]:
        return [self._node.shown(position) for position in positions]
