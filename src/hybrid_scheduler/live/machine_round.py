"""A round of real work: its tasks, and what has come of them under one scheduler."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.hardware.nodes.real_node import RealNode, Settled
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import Dependency, Task, split_dependencies


class TimedDriver(Driver[RealNode]):
    """Counts the seconds its scheduler takes to decide."""

    deciding_seconds = 0.0

    def ask(self) -> None:
        """See `Driver.ask`."""
        began = time.perf_counter()
        super().ask()
        self.deciding_seconds += time.perf_counter() - began


@dataclass
class Results:
    """What has come of one scheduler's tasks of this round, and of them what nobody was told yet."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    fresh: list[Outcome] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)

    def take(self, settled: Settled) -> None:
        """A task is over, as its node tells."""
        self.put(settled.outcome, None if settled.error is None else str(settled.error))

    def put(self, outcome: Outcome, reason: str | None) -> None:
        """A task is over; why it failed, if it did."""
        self.outcomes[outcome.task_id] = outcome
        self.fresh.append(outcome)
        if reason is not None:
            self.reasons[outcome.task_id] = reason


def never_begun(task: Task, moment: float) -> Outcome:
    """The outcome of a task that a scheduler never gets."""
    return Outcome(
        task_id=task.task_id,
        arrival_time=task.arrival_time,
        ready_time=task.arrival_time,
        decided_time=moment,
        finish_time=moment,
        actual_time=0.0,
        energy=0.0,
        cost=0.0,
        failed=True,
        overtaken=0,
        parts=(),
    )


def among_themselves(tasks: Iterable[tuple[Task, Sequence[Dependency]]]) -> list[Task]:
    """Tasks in order of arrival, each waiting for those of its parents that are among them: the others are over."""
    ordered = sorted(tasks, key=lambda each: (each[0].arrival_time, each[0].task_id))
    ids = {task.task_id for task, _ in ordered}
    return [
        replace(task, dependencies=tuple(dict.fromkeys(p for p in split_dependencies(parents)[0] if p in ids)))
        for task, parents in ordered
    ]
