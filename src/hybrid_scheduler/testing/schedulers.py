"""What every scheduler must do, built in or yours: ``check_scheduler(MyScheduler)`` runs it all.

Plain assertions, so any test runner will do; with pytest, parametrise over `SCHEDULER_CHECKS` to see each by name.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import IllegalDecisionError
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.testing.learners import check_model_files
from hybrid_scheduler.testing.nodes import SEED, SITUATIONS, TASKS
from hybrid_scheduler.workloads.generator import WorkloadGenerator

SchedulerFactory = Callable[[], Scheduler]
"""Makes a new scheduler; a class whose arguments all have defaults is one."""

LONG_RUN = 100_000
ALLOWED_GROWTH = 0.01
ALLOWED_BYTES = 1024
"""Counters get longer as they count; nothing else may."""


class RecordedRoom(WaitingRoom):
    """A waiting room as it was at one moment.

    Args:
        waiting: The room to record.
        sampled: How big a sample the scheduler takes.
    """

    def __init__(self, waiting: WaitingRoom, sampled: int) -> None:
        self._tasks = list(waiting)
        self._shortest = waiting.shortest(len(waiting))
        self._sample = waiting.sample(sampled)
        self._since = {task.task_id: waiting.since(task) for task in self._tasks}
        self._overtaken = {task.task_id: waiting.overtaken(task) for task in self._tasks}

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: Any) -> Any:
        return self._tasks[index]

    def shortest(self, count: int) -> list[Task]:
        """As recorded."""
        return self._shortest[:count]

    def oldest(self, count: int) -> list[Task]:
        """As recorded."""
        return self._tasks[:count]

    def sample(self, count: int) -> list[Task]:
        """As recorded."""
        return self._sample[:count]

    def overtaken(self, task: Task) -> int:
        """As recorded."""
        return self._overtaken[task.task_id]

    def since(self, task: Task) -> float:
        """As recorded."""
        return self._since[task.task_id]

    def seconds_ahead(self, task: Task, *, shortest_first: bool = False) -> float:
        """Not recorded: no decision may depend on it."""
        raise NotImplementedError

    def about(self, task: Task, view: ClusterView) -> tuple[RecordedRoom, ClusterView]:
        """A room with this one task, and the view of it, with the times of one that waited here."""
        room = copy(self)
        room._tasks = room._shortest = room._sample = [task]
        room._since, room._overtaken = {task.task_id: view.now}, {task.task_id: 0}
        if view.times_by_id is None:
            return room, view
        return room, replace(view, times_by_id={task.task_id: view.times_of(self._tasks[0])})

    def with_tasks(self, change: Callable[[Task], Task]) -> RecordedRoom:
        """The same room with every task changed."""
        room = copy(self)
        room._tasks = [change(task) for task in self._tasks]
        room._shortest = [change(task) for task in self._shortest]
        room._sample = [change(task) for task in self._sample]
        return room


Question = tuple[Any, ClusterView]
"""A task, or the waiting room, and the view."""
Answer = tuple[tuple[Task, Decision], ...]


def _as_watched(name: str) -> Any:
    """An attribute of a witness that is always that of the scheduler it watches."""
    return property(lambda witness: getattr(witness.watched, name))


class Witness(Scheduler):
    """Passes everything on to the scheduler it watches and keeps what was asked and answered."""

    watched: Scheduler
    observes = _as_watched("observes")
    plans = _as_watched("plans")
    expect_version = _as_watched("expect_version")

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.answered: list[Decision] = []
        self.observed: list[tuple[Task, Decision, Outcome]] = []

    @staticmethod
    def of(scheduler: Scheduler) -> Witness:
        """A witness that may see what this scheduler may see."""
        names = ("uses_estimates", "knows_truth", "idle_only", "expect")
        flags = {name: getattr(scheduler, name) for name in names}
        kind = WaitingWitness if scheduler.dispatches else Witness
        witness = cast(Witness, type("Witness", (kind,), flags)())
        witness.watched = scheduler
        return witness

    def prepare(self, tasks: Sequence[Task], view: ClusterView) -> None:
        """Pass it on."""
        self.watched.prepare(tasks, view)

    def expect_state(self) -> FloatArray:
        """As the one it watches."""
        return self.watched.expect_state()

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Ask, and keep the answer."""
        decision = self.watched.decide(task, view)
        self.asked.append((task, view))
        self.answered.append(decision)
        return decision

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Pass it on."""
        self.observed.append((task, decision, outcome))
        self.watched.observe(task, decision, outcome)


class WaitingWitness(Witness):
    """A witness of a scheduler that lets tasks wait."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Ask, and keep the answer."""
        room = RecordedRoom(waiting, self.watched.shown_sampled)
        if view.times_by_id is not None:
            view = replace(view, times_by_id={task.task_id: view.times_of(task) for task in room})
        answer = tuple(self.watched.dispatch(room, view))
        self.asked.append((room, view))
        self.answered += [decision for _, decision in answer]
        return answer


def ask(scheduler: Scheduler, question: Question) -> Answer:
    """What a scheduler answers to a question: the tasks it starts, and where."""
    subject, view = question
    if isinstance(subject, RecordedRoom):
        return tuple(scheduler.dispatch(subject, view))
    return ((subject, scheduler.decide(subject, view)),)


def check_summary(factory: SchedulerFactory) -> None:
    """Lists show the first line of the class's own docstring."""
    scheduler = type(factory())
    assert (scheduler.__doc__ or "").strip(), f"{scheduler.__name__} has no docstring; its first line is shown in lists"
    assert scheduler.summary(), f"the docstring of {scheduler.__name__} begins with an empty line"


def check_legal(factory: SchedulerFactory) -> None:
    """Every decision on every kind of node can be carried out, and the schedule is valid."""
    for node in SITUATIONS:
        _run(factory(), node, compiled=False)


def check_pure(factory: SchedulerFactory) -> None:
    """Asked again, also after other questions, it answers the same; or, with a generator of its own, a clone does."""
    for history in _histories(factory):
        one, other, asked = deepcopy(history.scheduler), deepcopy(history.scheduler), history.asked
        twice = all(ask(one, question) == ask(one, question) for question in asked)
        backwards = [ask(one, question) for question in reversed(asked)][::-1]
        if twice and backwards == [ask(other, question) for question in asked]:
            continue
        assert "seed" in one.parameters(), (
            f"on node {history.node!r}, it answers differently when asked again; it must not change anything, "
            "unless it draws from a generator seeded by an argument called 'seed'"
        )
        one, other = one.clone(), one.clone()
        assert [ask(one, question) for question in asked] == [ask(other, question) for question in asked], (
            f"on node {history.node!r}, two clones with the same seed answer the same questions differently"
        )


def check_leaves_view_alone(factory: SchedulerFactory) -> None:
    """What it is shown belongs to the node: it changes none of it."""
    for history in _histories(factory):
        for question in history.asked:
            before = pickle.dumps(question[1])
            ask(history.scheduler, question)
            assert pickle.dumps(question[1]) == before, f"on node {history.node!r}, it changed the view it was shown"


def check_sees_only_what_it_declares(factory: SchedulerFactory) -> None:
    """Without `uses_estimates` or `knows_truth` it is shown no times, and `duration_estimate` makes no difference.

    How long the data of a task's parents is still on its way is no secret (`FIXED`).
    """
    if factory().uses_estimates or factory().knows_truth:
        return
    for history in _histories(factory):
        assert all(view.times.size == 0 or not view.times[SHARED].any() for _, view in history.asked)
        assert all(view.free.size == 0 for _, view in history.asked)
        expects = history.scheduler.expect is not None
        assert expects or all(view.times_by_id is None for _, view in history.asked)
        one, other = deepcopy(history.scheduler), deepcopy(history.scheduler)
        for subject, view in history.asked:
            misled = subject.with_tasks(_misled) if isinstance(subject, RecordedRoom) else _misled(subject)
            answers = [
                [(task.task_id, decision) for task, decision in answer]
                for answer in (ask(one, (subject, view)), ask(other, (misled, view)))
            ]
            assert answers[0] == answers[1], (
                f"on node {history.node!r}, the decision {answers[0]} depends on duration_estimate; "
                "declare uses_estimates = True, or do without it"
            )


def _misled(task: Task) -> Task:
    return replace(task, duration_estimate=2.0 * task.duration_estimate)


def check_clone(factory: SchedulerFactory) -> None:
    """A clone has the same parameters and races the same, also when the original has run before."""
    used = factory()
    parameters = used.parameters()
    _run(used)
    copy = used.clone()
    assert type(copy) is type(used), f"clone gives a {type(copy).__name__}"
    assert copy is not used, "clone gives the same object"
    assert copy.parameters() == parameters, f"a clone has {copy.parameters()}, the original was made with {parameters}"
    _assert_same(_run(copy), _run(factory()), "a clone and a new scheduler")


def check_seeding(factory: SchedulerFactory) -> None:
    """Two new ones race the same; other seeds race differently, or plan a batch differently."""
    _assert_same(_run(factory()), _run(factory()), "two new schedulers")
    scheduler = factory()
    if "seed" not in scheduler.parameters():
        return
    for node in ("default", "at_once"):
        one, two = (type(scheduler)(**{**scheduler.parameters(), "seed": seed}) for seed in (1, 2))
        if not _same(_run(one, node), _run(two, node)):
            return
    raise AssertionError("seeds 1 and 2 give the same run; the argument 'seed' has no effect")


def check_pickling(factory: SchedulerFactory) -> None:
    """A scheduler that has run can be pickled, and the copy decides as it does."""
    for history in _histories(factory):
        one, other = deepcopy(history.scheduler), pickle.loads(pickle.dumps(history.scheduler))
        same = all(ask(one, question) == ask(other, question) for question in history.asked)
        assert same, f"on node {history.node!r}, a pickled copy decides differently"


def check_bounded_state(factory: SchedulerFactory, tasks: int = LONG_RUN) -> None:
    """It does not grow with the number of tasks: pickled, it is as big after all of them as after half.

    The pickled size and not that of the process, because replacing old experience by new is fine. What is replaced may
    be somewhat larger, once: who has grown is watched for as many tasks again, and once more, and must stop.
    """
    witness = Witness.of(factory())
    SITUATIONS["default"].race().run(witness, compiled=False)
    scheduler, sizes, stretch = witness.watched, [0], tasks // 2
    for i, task in enumerate(_long_stream(4 * stretch)):
        subject, view = witness.asked[i % len(witness.asked)]
        view = replace(view, number=i, now=task.arrival_time)
        ask(scheduler, subject.about(task, view) if isinstance(subject, RecordedRoom) else (task, view))
        if scheduler.observes:
            _, decision, outcome = witness.observed[i % TASKS]
            scheduler.observe(task, decision, replace(outcome, task_id=task.task_id))
        if (i + 1) % stretch == 0:
            sizes.append(len(pickle.dumps(scheduler)))
            if sizes[-1] <= sizes[-2] * (1.0 + ALLOWED_GROWTH) + ALLOWED_BYTES:
                return
    raise AssertionError(f"the scheduler grows: {sizes[1:]} bytes pickled, {stretch} tasks apart")


def check_compiled(factory: SchedulerFactory) -> None:
    """With a kernel: the compiled race and the one that asks Python give the same outcomes, bit for bit."""
    if factory().kernel is None:
        return
    for node in SITUATIONS:
        slow, fast = (_run(factory(), node, compiled=compiled) for compiled in (False, True))
        _assert_same(slow, fast, f"on node {node!r}, Python and kernel")


SCHEDULER_CHECKS: tuple[Callable[[SchedulerFactory], None], ...] = (
    check_summary,
    check_legal,
    check_pickling,
    check_pure,
    check_leaves_view_alone,
    check_sees_only_what_it_declares,
    check_clone,
    check_seeding,
    check_bounded_state,
    check_compiled,
    check_model_files,
)
"""All checks of a scheduler; each takes a factory and raises AssertionError."""


def check_scheduler(factory: SchedulerFactory) -> None:
    """Run every check.

    Args:
        factory: Makes a new scheduler: its class, if all arguments have defaults, or a function.

    Raises:
        AssertionError: The scheduler breaks the contract; the message says how.
    """
    for check in SCHEDULER_CHECKS:
        check(factory)


class _History(NamedTuple):
    node: str
    scheduler: Scheduler
    asked: list[Question]


def _histories(factory: SchedulerFactory) -> Iterator[_History]:
    """For every kind of node a scheduler that has run there, and the questions it was asked."""
    for node, situation in SITUATIONS.items():
        witness = Witness.of(factory())
        situation.race(tasks=40).run(witness, compiled=False)
        yield _History(node, witness.watched, witness.asked)


@cache
def _long_stream(tasks: int) -> tuple[Task, ...]:
    return tuple(WorkloadGenerator(SEED).stream("mixed", 8.0, tasks))


def _run(scheduler: Scheduler, node: str = "default", compiled: bool = True) -> OutcomeBatch:
    try:
        return SITUATIONS[node].race().run(scheduler, compiled=compiled)
    except (AssertionError, IllegalDecisionError) as error:
        raise AssertionError(f"on node {node!r}: {error}") from error


def _same(one: OutcomeBatch, other: OutcomeBatch) -> bool:
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(OutcomeBatch))


def _assert_same(one: OutcomeBatch, other: OutcomeBatch, what: str) -> None:
    for field in fields(OutcomeBatch):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(a, b), f"{what} differ in {field.name}: {a} and {b}"
