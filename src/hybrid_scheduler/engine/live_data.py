"""What a live race hands out: pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.schedulers.base import Explanation


@dataclass(frozen=True)
class Finished:
    """Tasks that every scheduler has finished or failed, in the order of their arrival.

    Attributes:
        tasks: The tasks.
        labels: What the oracle says of each on an idle node; none where the work is real, since nobody knows.
        least_seconds: Below this no execution of each task can be; not a number where nobody knows.
        whole_seconds: Nor any whole one on each device.
        outcomes: What became of them, by scheduler, in the same order.
        reasons: By scheduler and task id, why it never got to finish the task.
    """

    tasks: list[Task]
    labels: list[Label]
    least_seconds: FloatArray
    whole_seconds: FloatArray
    outcomes: Mapping[str, OutcomeBatch]
    reasons: Mapping[str, Mapping[int, str]]

    def __len__(self) -> int:
        return len(self.tasks)


class Effort(NamedTuple):
    """What a step of time took of one scheduler, by the clock on the wall.

    Attributes:
        decisions: Decisions made.
        seconds: For these decisions and for the simulated node that carries them out.
        learning_seconds: For learning, on top of that.
    """

    decisions: int
    seconds: float
    learning_seconds: float


@dataclass(frozen=True)
class Advance:
    """What a step of time brought.

    Attributes:
        by_scheduler: What each scheduler has finished.
        least_seconds: By scheduler, below which no execution of each of these tasks can be.
        whole_seconds: By scheduler, below which no whole execution of each can be on each device.
        finished: The tasks that are now over for everybody.
        efforts: What it took of each scheduler that still races.
    """

    by_scheduler: Mapping[str, OutcomeBatch]
    least_seconds: Mapping[str, FloatArray]
    whole_seconds: Mapping[str, FloatArray]
    finished: Finished
    efforts: Mapping[str, Effort]


@dataclass(frozen=True)
class Placement:
    """One scheduler's decision on one task, at the moment it was made.

    Attributes:
        decision: What it decided.
        explanation: Why, in its own words and figures.
        seconds: What the whole task really takes on every device.
        wait: How long it would really wait for every device.
        best_response: The least response time possible at this moment (the oracle's search).
        projected: What will come of the decision if nothing disturbs it.
        memory_mb: Megabytes the task needs.
    """

    decision: Decision
    explanation: Explanation
    seconds: FloatArray
    wait: FloatArray
    best_response: float
    projected: Outcome
    memory_mb: float


@dataclass(frozen=True)
class Waits:
    """One scheduler lets a task wait.

    Attributes:
        expected_start: When the scheduler expects to start it; None when it has no idea of times.
        waiting: How many tasks wait, this one among them.
        reason: Why, in the scheduler's own words.
    """

    expected_start: float | None
    waiting: int
    reason: str


class WaitingTask(NamedTuple):
    """A task in one scheduler's waiting room.

    Attributes:
        task: The task.
        ready_time: Since when it waits.
        overtaken: How often tasks that were ready after it were started before it.
        expected_start: When the scheduler expects to start it; None when it has no idea of times.
        reason: Why it waits, in the scheduler's own words.
    """

    task: Task
    ready_time: float
    overtaken: int
    expected_start: float | None
    reason: str
