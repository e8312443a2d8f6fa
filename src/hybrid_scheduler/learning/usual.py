"""What is usual here: the scales by which the agent sees tasks, times and costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.learning.memory import MEAN, SECOND, TASK_FEATURES
from hybrid_scheduler.model.task import FloatArray

OUTCOMES = 64
"""Outcomes from which the agent takes what tasks and times are usually like."""
MEAN_OVER = 20_000
"""Mean response and energy are plain means over so many outcomes, then running ones of that length."""


class Usual:
    """Mean costs, kept up to date, and the scales of features and times, taken once from the first outcomes."""

    def __init__(self) -> None:
        self.response, self.energy, self.count = 1.0, 1.0, 0
        self.reward = -1.0
        self.known = False
        self._raw: list[FloatArray] = []
        self._log_seconds: list[float] = []

    def start_over(self) -> None:
        """The world has changed: its mean costs count from now on, or new differences would drown in old scales."""
        self.count = 0

    def average(self, response: float, energy: float) -> None:
        """Take in what a task cost."""
        self.count = min(self.count + 1, MEAN_OVER)
        self.response += (response - self.response) / self.count
        self.energy += (energy - self.energy) / self.count

    def get_to_know(self, raw: FloatArray, wholes: list[float], memory: FloatArray) -> bool:
        """Take in one of the first outcomes; returns whether that was the last one needed."""
        self._raw.append(raw.copy())
        self._log_seconds += [float(np.log(whole)) for whole in wholes]
        memory[SECOND] = float(np.exp(np.mean(self._log_seconds)))
        if len(self._raw) < OUTCOMES:
            return False
        seen = np.array(self._raw)
        memory[MEAN : MEAN + TASK_FEATURES] = seen.mean(axis=0)
        memory[MEAN + TASK_FEATURES : MEAN + 2 * TASK_FEATURES] = np.maximum(seen.std(axis=0), 1e-3)
        self.known = True
        self._raw, self._log_seconds = [], []
        return True

    def state(self) -> dict[str, Any]:
        """What is needed to go on."""
        return {"response": self.response, "energy": self.energy, "count": self.count, "known": self.known}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self.response, self.energy = float(state["response"]), float(state["energy"])
        self.count, self.known = int(state["count"]), bool(state["known"])
