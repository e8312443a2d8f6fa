"""What a scheduler is put in front of: a node that can be simulated, this machine, or several machines.

Nothing here knows whether time is simulated or how long a task will take. A driver (`engine.driver`) stands between the
node and the scheduler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom

NO_LIMIT = 2**62


class Change(Enum):
    """Why a node stopped."""

    ASKED = auto()
    """Tasks wait and something has changed: the scheduler is to say which of them start."""
    FINISHED = auto()
    """Tasks have finished, and the scheduler wants to know before it decides on."""
    REACHED = auto()
    """The time is reached up to which it was to go."""
    PAUSED = auto()
    """The limit of decisions is reached."""
    STALLED = auto()
    """Tasks wait, every device is idle, nothing more will come, and nothing is started."""
    OVER = auto()
    """Every task is decided, and nothing more will come."""


class Policy(NamedTuple):
    """A compiled scheduler: a function pointer, and the array it keeps its state in."""

    function: Any
    state: FloatArray


class Expectation(NamedTuple):
    """What a scheduler expects tasks to take: a function pointer, its array, and a number that says when it changed."""

    function: Any
    state: FloatArray
    version: int


@dataclass(frozen=True, slots=True)
class Finished:
    """A task that has finished, what was decided for it as it was carried out, and what came of it.

    Attributes:
        task: The task, as the scheduler may see it.
        decision: The decision that counted, without parts for a task that failed without one.
        outcome: What happened.
        label: What the oracle says of it; None where nobody can know.
    """

    task: Task
    decision: Decision
    outcome: Outcome
    label: Label | None


class Node(Protocol):
    """Says what a scheduler may see, carries decisions out, reports what has finished, and knows the time."""

    @property
    def now(self) -> float:
        """Seconds since the node began."""

    def advance(self, policy: Policy | None, *, until: float = math.inf, limit: int = NO_LIMIT) -> Change:
        """Let time go on until the scheduler is needed, or until a time or a number of decisions is reached.

        A node that can run a compiled policy by itself does so; others ask for every decision.
        """

    def waiting(self) -> WaitingRoom:
        """The tasks the scheduler may start now; one task for a scheduler that decides everything at once."""

    def view(self) -> ClusterView:
        """A snapshot of what the scheduler may see."""

    def start(self, task: Task, decision: Decision) -> None:
        """Carry a decision out.

        Raises:
            IllegalDecisionError: The task does not wait, or the decision cannot be carried out.
        """

    def hold(self) -> None:
        """Start nothing more until something changes."""

    def take_finished(self) -> list[Finished]:
        """What has finished by now and was not taken before, in order of finish."""
