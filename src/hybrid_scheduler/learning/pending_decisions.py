"""Decisions whose tasks have not finished, and finished ones that wait for the decision after them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.replay_buffer import ReplayBuffer
from hybrid_scheduler.model.task import FloatArray

KEPT = 8192
"""Decisions remembered; a task that has not finished after so many more is not learned from."""

Column = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """What an agent knew when it decided.

    Attributes:
        number: Of the decision.
        task_id: Whose it is.
        chosen: Which of the options that could be taken was, -1 when it was none of them: then only times are learned.
        probe: The device that was tried by it, -1 when it was no probe.
        context: What the network saw of task, goals and node.
        options: What it saw of the options that could be taken, one behind the other.
        responses: What each of them was expected to cost beyond `fastest`, in units of `excess`.
        others: What each of them costs in energy and money, weighted, in the same unit.
        fastest: Seconds of response of the best option on an idle node: nobody can do anything about those, so what is
            learned leaves them out, and long tasks do not drown it.
        excess: Seconds above those that were usual then.
        weight: Weight of time.
        logs: Log of the seconds expected on every device.
    """

    number: int
    task_id: int
    chosen: int
    probe: int
    context: Column
    options: Column
    responses: Column
    others: Column
    fastest: float
    excess: float
    weight: float
    logs: FloatArray


class PendingDecisions:
    """Links each finished task to the state it was decided in and to the state of the next decision.

    Adding the same decision twice changes nothing, so `decide` stays repeatable.
    """

    def __init__(self) -> None:
        self._latest: list[PendingDecision | None] = [None] * KEPT
        self._by_task: dict[int, PendingDecision] = {}
        self._finished: deque[tuple[PendingDecision, float]] = deque()

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

    def probes(self, devices: Collection[int]) -> int:
        """Probes of any of these devices that have not come back yet."""
        return sum(decision.probe in devices for decision in self._by_task.values())

    def finish(self, decision: PendingDecision, response: float) -> None:
        """What came of a decision; its transition is complete once the next decision has been made."""
        if decision.chosen >= 0:
            self._finished.append((decision, response))

    def move_complete(self, replay: ReplayBuffer) -> None:
        """Move every complete transition into the replay buffer."""
        for _ in range(len(self._finished)):
            decision, response = self._finished.popleft()
            if not self._remembers(decision):
                continue
            after = self._latest[(decision.number + 1) % KEPT]
            if after is None or after.number != decision.number + 1:
                self._finished.append((decision, response))
                continue
            replay.add(
                context=decision.context,
                options=decision.options,
                legal=len(decision.responses),
                chosen=decision.chosen,
                gap=(response - decision.fastest) / decision.excess - decision.responses[decision.chosen],
                next_context=after.context,
                next_options=after.options,
                next_legal=len(after.responses),
                next_response=after.responses,
                next_other=after.others,
                weight=decision.weight,
            )

    def _remembers(self, decision: PendingDecision) -> bool:
        latest = self._latest[decision.number % KEPT]
        return latest is not None and latest.number == decision.number
