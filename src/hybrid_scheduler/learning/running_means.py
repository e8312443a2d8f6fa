"""Running means of what tasks cost, and the scales by which an agent sees tasks and times."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.model.task import FloatArray

OUTCOMES = 64
"""Outcomes from which the agent takes what tasks and times are usually like."""
MEAN_OVER = 20_000
"""Means are plain ones over so many outcomes, then running ones of that length."""
FIGURES = ("response", "energy", "money", "service")


class Scales(NamedTuple):
    """What seconds and features are measured by.

    Attributes:
        second: A typical number of seconds.
        mean: Of each feature.
        deviation: Of each feature.
    """

    second: float
    mean: FloatArray
    deviation: FloatArray


class RunningMeans:
    """Mean costs on a node, kept up to date, and the scales of features and times, taken once from the first outcomes.

    Attributes:
        response: Seconds of response.
        energy: Joules.
        money: Dollars.
        service: Seconds a task was expected to take on the device that is fastest for it.
        known: Whether the scales stand.
    """

    def __init__(self) -> None:
        self.response = self.energy = self.money = self.service = 1.0
        self.count = 0
        self.reward = -1.0
        self.known = False
        self._raw: list[FloatArray] = []
        self._log_seconds: list[float] = []

    def start_over(self) -> None:
        """The world has changed: its mean costs count from now on, or new differences would drown in old scales."""
        self.count = 0

    def average(self, response: float, energy: float, money: float, service: float) -> None:
        """Take in what a task cost."""
        self.count = min(self.count + 1, MEAN_OVER)
        self.response += (response - self.response) / self.count
        self.energy += (energy - self.energy) / self.count
        self.money += (money - self.money) / self.count
        self.service += (service - self.service) / self.count

    def take_scales(self, raw: FloatArray, wholes: list[float]) -> Scales:
        """Take in one of the first outcomes; returns the scales so far, which stand when they are `known`."""
        self._raw.append(raw.copy())
        self._log_seconds += [float(np.log(whole)) for whole in wholes]
        seen = np.array(self._raw)
        second = float(np.exp(np.mean(self._log_seconds)))
        self.known = len(self._raw) >= OUTCOMES
        if self.known:
            self._raw, self._log_seconds = [], []
        return Scales(second, seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-3))

    def state(self) -> dict[str, Any]:
        """What is needed to go on."""
        return {**{name: getattr(self, name) for name in FIGURES}, "count": self.count, "known": self.known}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        for name in FIGURES:
            setattr(self, name, float(state[name]))
        self.count, self.known = int(state["count"]), bool(state["known"])
