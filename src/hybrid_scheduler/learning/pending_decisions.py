"""Decisions whose tasks have not finished, and finished ones that wait for the decision after them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.replay_buffer import ReplayBuffer

KEPT = 8192
"""Decisions remembered; a task that has not finished after so many more is not learned from."""

Column = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """What an agent knew when it decided.

    Attributes:
        number: Of the decision.
        task_id: Whose it is.
        action: What was decided.
        probe: Group of devices that was tried by it, -1 when it was no probe.
        state: What the network saw.
        responses: What each action would have cost at once, in seconds.
        energies: The same in joules.
        monies: The same in dollars.
    """

    number: int
    task_id: int
    action: int
    probe: int
    state: Column
    responses: Column
    energies: Column
    monies: Column


class PendingDecisions:
    """Links each finished task to the state it was decided in and to the state of the next decision.

    Adding the same decision twice changes nothing, so `decide` stays repeatable.
    """

    def __init__(self) -> None:
        self._latest: list[PendingDecision | None] = [None] * KEPT
        self._by_task: dict[int, PendingDecision] = {}
        self._finished: deque[tuple[PendingDecision, float, float]] = deque()

    def __len__(self) -> int:
        return len(self._by_task)

    def add(self, decision: PendingDecision) -> None:
        """Remember a decision."""
        place = decision.number % KEPT
        before = self._latest[place]
        if before is not None and self._by_task.get(before.task_id) is before:
            del self._by_task[before.task_id]
        self._latest[place] = self._by_task[decision.task_id] = decision

    def pop(self, task_id: int) -> PendingDecision | None:
        """The last decision about a task that has finished, pending no more; None when it is not remembered."""
        return self._by_task.pop(task_id, None)

    def probes(self, group: int) -> int:
        """Probes of a group of devices that have not come back yet."""
        return sum(decision.probe == group for decision in self._by_task.values())

    def finish(self, decision: PendingDecision, response: float, energy: float) -> None:
        """What came of a decision; its transition is complete once the next decision has been made."""
        self._finished.append((decision, response, energy))

    def move_complete(self, replay: ReplayBuffer) -> None:
        """Move every complete transition into the replay buffer."""
        for _ in range(len(self._finished)):
            decision, response, energy = self._finished.popleft()
            if not self._remembers(decision):
                continue
            after = self._latest[(decision.number + 1) % KEPT]
            if after is None or after.number != decision.number + 1:
                self._finished.append((decision, response, energy))
                continue
            replay.add(
                state=decision.state,
                responses=decision.responses,
                energies=decision.energies,
                action=decision.action,
                response=response,
                energy=energy,
                next_state=after.state,
                next_responses=after.responses,
                next_energies=after.energies,
                next_monies=after.monies,
            )

    def _remembers(self, decision: PendingDecision) -> bool:
        latest = self._latest[decision.number % KEPT]
        return latest is not None and latest.number == decision.number
