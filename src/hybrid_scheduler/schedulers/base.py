"""The contract of a scheduler, and the short way to write a compiled one."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numba as nb
import numpy as np

from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.kernel import CHOSEN, DISPATCH_SIGNATURE, EXPECT_SIGNATURE, KERNEL_SIGNATURE
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.view import NO_FREE, ClusterView, task_row
from hybrid_scheduler.model.waiting import WaitingRoom

Kernel = Callable[..., int]

kernel: Callable[[Callable[..., Any]], Kernel] = nb.njit(KERNEL_SIGNATURE, cache=True)
"""Decorator of a compiled policy: ``(number, now, task, devices, times, free, facts, state, out) -> parts``."""

dispatch_kernel: Callable[[Callable[..., Any]], Kernel] = nb.njit(DISPATCH_SIGNATURE, cache=True)
"""Decorator of a compiled dispatch: ``(number, now, waiting, times, devices, free, facts, state, out) -> parts``."""

expect_kernel: Callable[[Callable[..., Any]], Kernel] = nb.njit(EXPECT_SIGNATURE, cache=True)
"""Decorator of a compiled expectation: ``(task, devices, facts, state, times) -> 0``."""

NO_STATE = np.zeros(0)


@dataclass(frozen=True)
class Explanation:
    """Why a scheduler decides as it does.

    Attributes:
        reason: In a sentence.
        seconds: What it expects the whole task to take on every device; None when it has no idea of times.
    """

    reason: str
    seconds: FloatArray | None = None


class Scheduler:
    """Decides where each task goes, and when it starts.

    A subclass implements `decide`, which places every task as soon as it is ready, or `dispatch`, which lets tasks wait
    and says which of them start; nothing else is needed. The first line of its docstring is what lists show. The
    constructor's arguments are the whole configuration and are kept as attributes of the same names, so that `clone`
    can rebuild the scheduler from them. An argument called `seed` receives the run's seed.

    Ownership: one scheduler object serves one node. The engine calls it from one thread at a time.
    """

    uses_estimates: ClassVar[bool] = False
    """Whether the view carries the nominal times of the task at hand (no noise, no disturbances)."""
    objective: ClassVar[tuple[str, ...]] = ()
    """The constructor's arguments that say what it cares for. One called `weights` (`model.objective`) receives
    `--weights` and the live race's; `energy_weight` (0 time only, 1 energy only) receives them while money counts 0."""
    knows_truth: ClassVar[bool] = False
    """Whether the view carries realised times and true queues. For the oracle; it makes a scheduler a reference."""
    kernel: ClassVar[Kernel | None] = None
    """The compiled policy, if there is one; the engine then calls it instead of `decide` or `dispatch`, with the same
    results."""
    idle_only: ClassVar[bool] = False
    """For `dispatch`: the scheduler starts nothing while every device is busy, so it need not be asked then."""
    first_fit: ClassVar[bool] = False
    """For a compiled `dispatch`: of the tasks it is shown it starts the first that it would start alone, whatever the
    others; a compiled race then shows it the shortest by itself before it looks for others."""
    shown_shortest: int = 8
    """For a compiled `dispatch`: how many of the shortest waiting tasks it looks at."""
    shown_oldest: int = 1
    """For a compiled `dispatch`: how many of the oldest it looks at besides."""
    shown_sampled: int = 0
    """For a compiled `dispatch`: how many of the others, drawn anew at every decision."""
    ranks_tasks: ClassVar[bool] = False
    """Whether tasks of graphs carry their upward rank (`Task.upward_rank`), worked out by `expected_seconds`."""
    shown_ranked: int = 0
    """For a compiled `dispatch` that ranks tasks: how many of those of the highest rank it looks at besides."""
    expect: ClassVar[Kernel | None] = None
    """For `dispatch`: compiled, what the scheduler itself expects a task to take when it enters the waiting room
    (`expect_kernel`). It then sees these times, `shortest` goes by them, and `expect_state` is handed to it."""
    expect_version: int = 0
    """For `expect`: another number says that it expects something else now. Tasks that wait are looked at again."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Choose devices and shares for a task, now.

        Changes nothing that a second call with the same arguments could notice, except the scheduler's own random
        generator. Never names a device that is down (`view.available`).
        """
        name = type(self).__name__
        if self.dispatches:
            raise NotImplementedError(f"{name} lets tasks wait; ask dispatch")
        raise NotImplementedError(f"{name} implements neither decide nor dispatch; a scheduler needs one of them")

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Say which of the waiting tasks start now, and where; what is not named goes on waiting.

        Asked when something changes (a task is ready, a part has ended, a device has gone or come back), and again
        until it starts nothing. A decision may still queue on a busy device. By default every task is decided at once,
        in order of arrival.
        """
        task = waiting[0]
        return ((task, self.decide(task, view)),)

    def prepare(self, tasks: Sequence[Task], view: ClusterView) -> None:
        """Look at a whole batch, or at the tasks of a live race that have just come in, before any is decided."""

    def proved_makespan(self) -> float | None:
        """What `prepare` proved of the tasks it was shown: no schedule of *whole* tasks has a smaller makespan.

        It holds for the times the scheduler was told. By default nothing is proved.
        """
        return None

    def expected_seconds(self, tasks: TaskBatch, view: ClusterView) -> FloatArray:
        """What each task is expected to take where that is shortest, to rank tasks of graphs by; by default all alike.

        Asked once, when they come in. Has no NaN: a scheduler that knows nothing yet ranks by the length of chains.
        """
        return np.ones(len(tasks))

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Say why `decide` would decide as it does; changes nothing. By default: what the scheduler is."""
        return Explanation(self.summary())

    def expected_start(self, task: Task, waiting: WaitingRoom, view: ClusterView) -> float | None:
        """When a task that waits is expected to start; None for a scheduler that sees no times.

        By default: when the devices, taken together, have done what is queued and what entered before it.
        """
        return self._expected_start(task, waiting, view, shortest_first=False)

    def _expected_start(
        self, task: Task, waiting: WaitingRoom, view: ClusterView, *, shortest_first: bool
    ) -> float | None:
        up = float(view.available.sum())
        if not self.sees_times or up == 0.0:
            return None
        ahead = waiting.seconds_ahead(task, shortest_first=shortest_first)
        return view.now + (float(view.backlog.sum()) + ahead) / up

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Learn from a task that has finished. Called in order of finish, before the next decision.

        Args:
            task: As it was shown to `decide`.
            decision: As it was carried out: a task that did not fit may have run on another device, one that lost its
                device was decided again and has the last decision. It has no parts when the task was never placed.
            outcome: What came of it.
        """

    def teach(self, label: Label) -> None:
        """Learn from the oracle's label of a task that has finished. Called just before its outcome is observed."""

    def active_kernel(self) -> Kernel | None:
        """The kernel, as long as the engine may call it instead of `decide`."""
        return type(self).kernel

    def kernel_state(self) -> FloatArray:
        """The array handed to `kernel` as `state`."""
        return NO_STATE

    def expect_state(self) -> FloatArray:
        """The array handed to `expect` as `state`."""
        return NO_STATE

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments with their present values."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def clone(self) -> Self:
        """A fresh scheduler with the same configuration and nothing learned."""
        return type(self)(**self.parameters())

    @classmethod
    def summary(cls) -> str:
        """One line about the scheduler."""
        return (inspect.getdoc(cls) or cls.__name__).splitlines()[0]

    @property
    def dispatches(self) -> bool:
        """Whether tasks wait until this scheduler starts them."""
        return type(self).dispatch is not Scheduler.dispatch

    @property
    def sees_times(self) -> bool:
        """Whether it is told, or expects by itself, how long tasks take."""
        return self.uses_estimates or self.knows_truth or self.expect is not None

    @property
    def plans(self) -> bool:
        """Whether it wants to see tasks beforehand."""
        return type(self).prepare is not Scheduler.prepare

    @property
    def observes(self) -> bool:
        """Whether outcomes must be delivered."""
        return type(self).observe is not Scheduler.observe or self.wants_labels

    @property
    def wants_labels(self) -> bool:
        """Whether the oracle's labels must be delivered."""
        return type(self).teach is not Scheduler.teach


class CompiledScheduler(Scheduler):
    """A scheduler whose policy is its `kernel`; `decide` calls the same compiled code."""

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Ask the kernel about one task."""
        if self.kernel is None:
            raise TypeError(f"{type(self).__name__} is a CompiledScheduler without a kernel; set the class attribute")
        out = np.zeros((2, 3))
        parts = type(self).kernel(  # type: ignore[misc]
            view.number,
            view.now,
            task_row(task),
            view.devices,
            view.times,
            view.free,
            view.facts,
            self.kernel_state(),
            out,
        )
        return _decision(out, parts)


class CompiledDispatcher(Scheduler):
    """A scheduler that lets tasks wait and whose policy is its `kernel`; `dispatch` calls the same compiled code."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Ask the kernel which of the shortest and oldest waiting tasks starts."""
        if self.kernel is None:
            raise TypeError(f"{type(self).__name__} is a CompiledDispatcher without a kernel; set the class attribute")
        tasks = waiting.shortest(self.shown_shortest)
        known = {task.task_id for task in tasks}
        others = waiting.oldest(self.shown_oldest) + waiting.sample(self.shown_sampled)
        for task in others + waiting.highest_ranked(self.shown_ranked if self.ranks_tasks else 0):
            if task.task_id not in known:
                tasks.append(task)
                known.add(task.task_id)
        table, times = waiting.table(tasks), np.zeros((len(tasks), 2, len(view.names)))
        if self.sees_times:
            for row, task in enumerate(tasks):
                times[row] = view.times_of(task)
        out = np.zeros((3, 3))
        parts = type(self).kernel(  # type: ignore[misc]
            view.number,
            view.now,
            table,
            times,
            view.devices,
            view.free if self.knows_truth else NO_FREE,
            view.facts,
            self.kernel_state(),
            out,
        )
        return ((tasks[int(out[CHOSEN, 0])], _decision(out, parts)),) if parts else ()


def _decision(out: FloatArray, parts: int) -> Decision:
    return Decision(tuple(Part(int(d), float(share), float(expected)) for d, share, expected in out[:parts]))


@dataclass(frozen=True, slots=True)
class Refit:
    """One refresh that changed a learner's model.

    Attributes:
        reason: Why it was due, e.g. `interval` or `drift`.
        rows: Rows it looked at.
        trees: Parts of the model that were made anew.
        replaced: How many of those were better and are in use now.
        error_before: Mean absolute error of the model before, on rows outside the new parts' samples; None if unknown.
        error_after: The same of the model after.
    """

    reason: str
    rows: int
    trees: int
    replaced: int
    error_before: float | None
    error_after: float | None


class Learner(Scheduler, ABC):
    """A scheduler that learns: it can be saved, loaded and continued, and counts what it does.

    Since the learner was built or loaded, `updates` counts gradient steps, `refit_checks` the refreshes of its model
    and `refits` those that replaced something.
    """

    model_suffix: ClassVar[str] = ".model"
    """How its files end, with the dot: `hms train` and the live service name them so, and `--model` goes by it."""

    updates: int = 0
    refits: int = 0
    refit_checks: int = 0

    @property
    def drifts(self) -> int:
        """How often it noticed that tasks or times are no longer what it was trained on; 0 for one that does not."""
        return 0

    def take_refits(self) -> tuple[Refit, ...]:
        """The refreshes since the last call that changed the model, oldest first; each is handed out once."""
        return ()

    @abstractmethod
    def save_model(self, path: str | Path) -> None:
        """Write everything needed to go on with the same decisions."""

    @abstractmethod
    def load_model(self, path: str | Path) -> None:
        """Continue from a saved model.

        Raises:
            InvalidInputError: The file is missing, damaged, not such a model, of another version or for another node.
        """

    def packaged_model(self, view: ClusterView) -> Path | None:
        """A trained model that travels with the learner's package and fits this node; by default there is none.

        Args:
            view: The node, idle.
        """
        return None

    def loaded_note(self) -> str:
        """What its user should know about the model it goes on from; empty when there is nothing."""
        return ""

    def figures(self) -> dict[str, float | None]:
        """How the learning goes, in the learner's own figures; None for one that is not known yet."""
        return {}

    def check_devices(self, count: int) -> None:
        """Refuse a node for which what was learned is of no use.

        Raises:
            InvalidInputError: The model was made for another number of devices.
        """


class LabelLearner(Learner):
    """A learner that can be trained offline on labelled tasks."""

    @abstractmethod
    def fit(self, labels: LabelBatch) -> None:
        """Train from scratch on labelled tasks."""


class RaceLearner(Learner):
    """A learner that is trained by racing: it explores between `begin_training` and `end_training`."""

    @abstractmethod
    def begin_training(self, tasks: int) -> None:
        """Prepare for a training race of so many tasks."""

    @abstractmethod
    def end_training(self) -> None:
        """Forget the decisions that are pending, keep what was learned, explore little from now on."""
