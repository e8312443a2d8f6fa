"""What the agent remembers of the tasks it has placed until they finish: a bounded ring of its own decisions."""

from __future__ import annotations

from collections import deque

import numpy as np

from hybrid_scheduler.learning.memory import Layout
from hybrid_scheduler.learning.replay import Replay
from hybrid_scheduler.model.task import FloatArray

RING = 8192
"""Decisions remembered; a task that is still waiting after so many more is not learned from."""


class Flight:
    """Links each finished task to the state it was decided in and to the state of the next arrival.

    `note` may be called twice for the same decision and changes nothing then, so `decide` stays repeatable.
    """

    def __init__(self, layout: Layout) -> None:
        self.number = np.full(RING, -1, dtype=np.int64)
        self.task = np.full(RING, -1, dtype=np.int64)
        self.action = np.zeros(RING, dtype=np.int64)
        self.probe = np.full(RING, -1, dtype=np.int64)
        self.raw = np.zeros((RING, 3))
        self.state = np.zeros((RING, layout.inputs), dtype=np.float32)
        self.responses = np.zeros((RING, layout.actions), dtype=np.float32)
        self.energies = np.zeros((RING, layout.actions), dtype=np.float32)
        self._slot: dict[int, int] = {}
        self._finished: deque[tuple[int, int, float, float]] = deque()

    def note(
        self,
        number: int,
        task: int,
        action: int,
        probe: int,
        raw: tuple[float, float, float],
        state: FloatArray,
        responses: FloatArray,
        energies: FloatArray,
    ) -> None:
        """Remember a decision."""
        slot = number % RING
        if self.number[slot] != number:
            self._slot.pop(int(self.task[slot]), None)
        self.number[slot], self.task[slot], self.action[slot], self.probe[slot] = number, task, action, probe
        self.raw[slot], self.state[slot] = raw, state
        self.responses[slot], self.energies[slot] = responses, energies
        self._slot[task] = slot

    def land(self, task: int) -> int | None:
        """Forget that a task is in flight; returns where its decision is remembered, None when it is not."""
        return self._slot.pop(task, None)

    def probes(self, group: int) -> int:
        """Probes of a group of devices that have not come back yet."""
        flying = list(self._slot.values())
        return int((self.probe[flying] == group).sum()) if flying else 0

    def finish(self, slot: int, response: float, energy: float) -> None:
        """A remembered task has finished; its transition is complete once the next decision has been made."""
        self._finished.append((slot, int(self.number[slot]), response, energy))

    def transitions(self, replay: Replay) -> int:
        """Move every complete transition into the replay; returns how many."""
        moved = 0
        for _ in range(len(self._finished)):
            slot, number, response, energy = self._finished.popleft()
            after = (slot + 1) % RING
            if self.number[slot] != number:
                continue
            if self.number[after] != number + 1:
                self._finished.append((slot, number, response, energy))
                continue
            replay.add(
                state=self.state[slot],
                responses=self.responses[slot],
                energies=self.energies[slot],
                action=self.action[slot],
                response=response,
                energy=energy,
                next_state=self.state[after],
                next_responses=self.responses[after],
                next_energies=self.energies[after],
            )
            moved += 1
        return moved

    def __len__(self) -> int:
        return len(self._slot)
