"""The contract of a scheduler, and the short way to write a compiled one."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numba as nb
import numpy as np

from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.view import KERNEL_SIGNATURE, ClusterView, task_row

Kernel = Callable[..., int]

kernel: Callable[[Callable[..., Any]], Kernel] = nb.njit(KERNEL_SIGNATURE, cache=True)
"""Decorator of a compiled policy: ``(number, now, task, devices, times, free, facts, state, out) -> parts``."""

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


class Scheduler(ABC):
    """Decides where each task goes.

    A subclass implements `decide` and nothing else is needed; the first line of its docstring is what lists show. The
    constructor's arguments are the whole configuration and are kept as attributes of the same names, so that `clone`
    can rebuild the scheduler from them. An argument called `seed` receives the run's seed.

    Ownership: one scheduler object serves one node. The engine calls it from one thread at a time.
    """

    uses_estimates: ClassVar[bool] = False
    """Whether the view carries the nominal times of the task at hand (no noise, no disturbances)."""
    knows_truth: ClassVar[bool] = False
    """Whether the view carries realised times and true queues. For the oracle; it makes a scheduler a reference."""
    kernel: ClassVar[Kernel | None] = None
    """The compiled policy, if there is one; the engine then calls it instead of `decide`, with the same results."""

    @abstractmethod
    def decide(self, task: Task, view: ClusterView) -> Decision:
        """Choose devices and shares for a task, now.

        Changes nothing that a second call with the same arguments could notice, except the scheduler's own random
        generator. Never names a device that is down (`view.available`).
        """

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Say why `decide` would decide as it does; changes nothing. By default: what the scheduler is."""
        return Explanation(self.summary())

    def observe(self, outcome: Outcome) -> None:  # noqa: B027  (learning is optional)
        """Learn from a task that has finished. Called in order of finish, before the next decision."""

    def teach(self, label: Label) -> None:  # noqa: B027
        """Learn from the oracle's label of a task that has finished. Called just before its outcome is observed."""

    def active_kernel(self) -> Kernel | None:
        """The kernel, as long as the engine may call it instead of `decide`."""
        return type(self).kernel

    def kernel_state(self) -> FloatArray:
        """The array handed to `kernel` as `state`."""
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
        return Decision(tuple(Part(int(d), float(share), float(expected)) for d, share, expected in out[:parts]))


class Learner(Scheduler):
    """A scheduler that learns: it can be saved, loaded and continued, and counts what it does.

    `updates` counts gradient steps and `refits` model refreshes, since the learner was built or loaded.
    """

    updates: int = 0
    refits: int = 0

    @abstractmethod
    def save_model(self, path: str | Path) -> None:
        """Write everything needed to go on with the same decisions."""

    @abstractmethod
    def load_model(self, path: str | Path) -> None:
        """Continue from a saved model.

        Raises:
            InvalidInputError: The file is missing, damaged, not such a model, of another version or for another node.
        """

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
        """Forget what is in flight, keep what was learned, explore little from now on."""
