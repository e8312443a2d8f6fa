"""The live race: the batch loop plus a clock that somebody else turns.

Tasks come in bit by bit, simulated time goes on bit by bit, and what every scheduler has finished comes out. How the
time is cut into pieces changes nothing: the outcomes are those of one batch race over the same tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.state import DECIDE, PARTS
from hybrid_scheduler.engine.contestant import Contestant
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.outcome import Outcome, OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.labels import label_tasks
from hybrid_scheduler.physics.optimum import best_finish, best_idle_seconds
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Explanation, Scheduler

NO_PARENTS: Mapping[int, Sequence[int]] = {}
FORGET = 1024
"""Finished tasks are dropped from memory in blocks of at least so many."""


@dataclass(frozen=True)
class Finished:
    """Tasks that every scheduler has finished, in the order of their arrival.

    Attributes:
        tasks: The tasks.
        labels: What the oracle says of each on an idle node.
        least_seconds: Below this no execution of each task can be.
        outcomes: What became of them, by scheduler, in the same order.
    """

    tasks: list[Task]
    labels: list[Label]
    least_seconds: FloatArray
    outcomes: Mapping[str, OutcomeBatch]

    def __len__(self) -> int:
        return len(self.tasks)


@dataclass(frozen=True)
class Verdict:
    """One scheduler's decision on one task, at the moment it was made.

    Attributes:
        decision: What it decided.
        explanation: Why, in its own words and figures.
        seconds: What the whole task really takes on every device.
        wait: How long it would really wait for every device.
        best_response: The least response time possible at this moment (the oracle's search).
        projected: What will come of the decision if nothing disturbs it.
        memory: Megabytes the task needs.
    """

    decision: Decision
    explanation: Explanation
    seconds: FloatArray
    wait: FloatArray
    best_response: float
    projected: Outcome
    memory: float


class LiveRace:
    """Several schedulers side by side on a stream that does not end.

    Not thread-safe. Memory is bounded by the tasks that some scheduler has not finished.

    Args:
        schedulers: The contestants by name.
        cluster: The devices.
        physics: How they behave.
        seed: Seed of the noise.
    """

    def __init__(
        self, schedulers: Mapping[str, Scheduler], cluster: ClusterSpec, physics: Physics, *, seed: int = 0
    ) -> None:
        if not schedulers:
            raise InvalidInputError("there are no schedulers to race; name at least one")
        self.cluster, self.physics, self.seed = cluster, physics, seed
        self.contestants = {name: Contestant(each, cluster, physics) for name, each in schedulers.items()}
        self.now = 0.0
        self.forgotten = 0
        self._tasks: list[Task] = []
        self._labels: list[Label] = []
        self._least = np.zeros(0)
        self._handed_out = np.zeros(0, dtype=bool)

    # --- a contestant's book (`TaskBook`) -----------------------------------------------------------------------------

    def task(self, position: int) -> Task:
        """One of the tasks in memory."""
        return self._tasks[position]

    def label(self, position: int) -> Label:
        """The oracle's label of one of them."""
        return self._labels[position]

    # --- the stream ---------------------------------------------------------------------------------------------------

    def add(self, tasks: TaskBatch, parents: Mapping[int, Sequence[int]] = NO_PARENTS) -> None:
        """Let tasks arrive at `now` or later.

        Args:
            tasks: With ids unlike all others; parents inside the batch are not looked at.
            parents: By id, the ids each must wait for; those no longer in memory have finished.
        """
        nominal = self.physics.nominal_times(tasks, self.cluster)
        realised = self.physics.realised_times(nominal, tasks, self.seed)
        labels = label_tasks(tasks, realised, self.cluster, self.physics)
        self._tasks += list(tasks)
        waits = self._positions(tasks, parents) if parents else {}
        for contestant in self.contestants.values():
            contestant.sim.add(tasks, nominal, realised)
            for position, waits_for in waits.items():
                contestant.sim.depend(position, waits_for)
        best = zip(labels.seconds, labels.gpu_fraction.tolist(), labels.optimal_seconds.tolist(), strict=True)
        new = self._tasks[len(self._tasks) - len(tasks) :]
        self._labels += [Label(task, *label) for task, label in zip(new, best, strict=True)]
        least = best_idle_seconds(realised, tasks.memory_required, self.cluster.public_table(), self.physics.facts())
        self._least = np.concatenate([self._least, least])
        self._handed_out = np.concatenate([self._handed_out, np.zeros(len(tasks), dtype=bool)])

    def advance(self, until: float) -> Finished:
        """Let simulated time go on; returns what is now finished by everybody and was not handed out before."""
        for contestant in self.contestants.values():
            contestant.run(self, until=until)
            contestant.deliver(self, until)
        self.now = until
        done = np.ones(len(self._tasks), dtype=bool)
        for contestant in self.contestants.values():
            done &= contestant.sim.finished(until)
        return self._hand_out(np.flatnonzero(done & ~self._handed_out))

    def drain(self) -> Finished:
        """Let everything that has arrived finish."""
        return self.advance(np.inf)

    def submit(self, task: Task, parents: Sequence[int] = ()) -> dict[str, Verdict | None]:
        """Put one task in at `now`; returns every scheduler's verdict, None where it must wait for a parent.

        Args:
            task: Its id is unlike all others; its arrival time is `now`.
            parents: Ids of tasks it must wait for; those no longer in memory have finished.
        """
        self.add(TaskBatch.from_tasks([task]), {task.task_id: parents} if parents else NO_PARENTS)
        position = len(self._tasks) - 1
        return {name: self._judge(contestant, position) for name, contestant in self.contestants.items()}

    def unfinished(self) -> dict[str, int]:
        """How many tasks each scheduler has not finished."""
        return {name: int((~contestant.sim.finished(self.now)).sum()) for name, contestant in self.contestants.items()}

    def waiting_seconds(self) -> dict[str, float]:
        """Seconds until a device is free, the mean over the devices, by scheduler."""
        return {
            name: float(np.maximum(contestant.sim.state.free - self.now, 0.0).mean())
            for name, contestant in self.contestants.items()
        }

    def utilization(self, since: float) -> dict[str, dict[str, float]]:
        """Busy share of every device between `since` and `now`, by scheduler; nothing when no time has passed."""
        span = self.now - since
        if not 0 < span < np.inf:
            return {}
        return {name: self._busy(contestant, since, span) for name, contestant in self.contestants.items()}

    def _positions(self, tasks: TaskBatch, parents: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        known = {each.task_id: i for i, each in enumerate(self._tasks)}
        first = len(self._tasks) - len(tasks)
        found = {}
        for position, task in enumerate(tasks, first):
            waits_for = [known[parent] for parent in parents.get(task.task_id, ()) if parent in known]
            if waits_for:
                found[position] = waits_for
        return found

    def _busy(self, contestant: Contestant, since: float, span: float) -> dict[str, float]:
        state = contestant.sim.state
        parts = state.parts[: state.counters[PARTS]]
        inside = np.clip(parts["end"], since, self.now) - np.clip(parts["start"], since, self.now)
        busy = np.bincount(parts["device"], weights=inside, minlength=len(self.cluster.devices)) / span
        return dict(zip(self.cluster.names, np.minimum(busy, 1.0).tolist(), strict=True))

    def _judge(self, contestant: Contestant, position: int) -> Verdict | None:
        """Let Python decide the one task, so that the moment can be looked at."""
        sim, scheduler = contestant.sim, contestant.scheduler
        if sim.run(None, scheduler.kernel_state(), until=self.now) != DECIDE:
            return None
        task, view = contestant.shown(self, position), sim.view()
        explanation = scheduler.explain(task, view)
        decision = scheduler.decide(task, view)
        truth, free = sim.truth(position)
        best = best_finish(self.now, task.memory_required, view.devices, truth, free, view.facts) - self.now
        sim.answer(decision)
        contestant.run(self, until=self.now)
        projected = sim.outcomes(np.array([position]))[0]
        wait = np.maximum(free - self.now, 0.0)
        return Verdict(decision, explanation, truth.sum(axis=0), wait, best, projected, task.memory_required)

    def _hand_out(self, positions: NDArray[np.int64]) -> Finished:
        finished = Finished(
            [self._tasks[i] for i in positions],
            [self._labels[i] for i in positions],
            self._least[positions],
            {name: contestant.sim.outcomes(positions) for name, contestant in self.contestants.items()},
        )
        self._handed_out[positions] = True
        self._forget()
        return finished

    def _forget(self) -> None:
        """Drop the tasks at the front that are over for everybody, once there are enough of them."""
        kept = np.flatnonzero(~self._handed_out)
        over = int(kept[0]) if len(kept) else len(self._handed_out)
        if over < FORGET:
            return
        for contestant in self.contestants.values():
            contestant.sim.forget(over, self.now)
        del self._tasks[:over], self._labels[:over]
        self._least, self._handed_out = self._least[over:], self._handed_out[over:]
        self.forgotten += over
