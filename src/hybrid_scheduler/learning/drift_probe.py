"""The drift probe: notices that the world has changed, and finds out cheaply what it is like now.

A policy that trusts its model never tries again a device that looks bad, so after a change it can stay wrong for ever.
Here prediction errors that jump, or tasks unlike any seen before, are taken for drift: each group of like devices is
then probed a few times, the model learns hard from those outcomes, and is trusted again. (In the spirit of exploration
driven by prediction error: Schmidhuber, "A possibility for implementing curiosity and boredom in model-building neural
controllers", 1991.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.model.device_columns import KIND, MEMORY, PRICE, WATTS
from hybrid_scheduler.model.task import FloatArray

PROBES = 2
"""Outcomes wanted from every group of like devices after a change."""
LARGE_ERROR = 0.7
"""A log error below this (a factor of two) is never a sign of drift."""
TIMES_TYPICAL = 6.0
SIGNS = 2
"""So many signs among the last `RECENT` outcomes make it drift."""
RECENT = 4
MARGIN = 0.25
"""A feature outside the range seen so far by more than this share of the range is a sign."""
TYPICAL_RATE = 0.01
TYPICAL_AT_FIRST = 0.5
"""Log error taken for typical at the start, and after a change."""
MOST_SINGLE = 32
"""Devices up to which every one of a new node is probed."""
SETTLE = 50
"""Outcomes after a change in which no other is noticed: errors are large until the new world has been learned."""


def device_groups(devices: FloatArray) -> list[int]:
    """A number for every device; devices whose public figures are equal share one."""
    public = [tuple(row) for row in devices[:, [KIND, MEMORY, WATTS, PRICE]]]
    order = list(dict.fromkeys(public))
    return [order.index(row) for row in public]


class DriftProbe:
    """Watches errors and features; counts the outcomes of every device since the last change.

    Attributes:
        alarms: How many changes have been noticed since it was made.
    """

    def __init__(self, groups: list[int]) -> None:
        self.groups = groups
        self.typical = TYPICAL_AT_FIRST
        self.low = np.full(3, np.inf)
        self.high = np.full(3, -np.inf)
        self.signs: list[tuple[int, bool]] = []
        self.seen = np.zeros(len(groups), dtype=np.int64)
        self.since = 0
        self.happened = False
        self.alarms = 0

    def learn_range(self, raw: FloatArray) -> None:
        """Take a task's features as ordinary."""
        self.low, self.high = np.minimum(self.low, raw), np.maximum(self.high, raw)

    def unlike(self, raw: FloatArray) -> bool:
        """Whether a task is unlike all seen before."""
        margin = MARGIN * (self.high - self.low)
        return bool(((raw < self.low - margin) | (raw > self.high + margin)).any())

    def notice(self, device: int, error: float, unlike: bool) -> bool:
        """Take in the log error of one part; returns whether there are signs enough of drift."""
        self.seen[device] += 1
        self.since += 1
        large = abs(error) > max(LARGE_ERROR, TIMES_TYPICAL * self.typical)
        self.typical += TYPICAL_RATE * (min(abs(error), LARGE_ERROR) - self.typical)
        self.signs = [*self.signs[-(RECENT - 1) :], (device, large or unlike)]
        return sum(sign for _, sign in self.signs) >= SIGNS

    def reset(self) -> None:
        """Start counting anew: the world has changed. The outcomes that gave it away are its first."""
        first = [device for device, sign in self.signs if sign]
        self.signs = []
        self.seen[:] = np.bincount(first, minlength=len(self.seen))
        self.since = len(first)
        self.typical = TYPICAL_AT_FIRST
        self.happened = True
        self.alarms += 1

    @property
    def settling(self) -> bool:
        """Whether a change was noticed only just now."""
        return self.happened and self.since <= SETTLE

    def unheard(self) -> list[list[int]]:
        """Sets of devices of which little has been heard: groups after a change, single devices on a node that is new.

        What is public of devices may be equal and their speeds not, so a new node is met device by device, unless it is
        large.
        """
        single = not self.happened and len(self.groups) <= MOST_SINGLE
        sets: dict[int, list[int]] = {}
        for device, group in enumerate(self.groups):
            sets.setdefault(device if single else group, []).append(device)
        return [devices for devices in sets.values() if self.seen[devices].sum() < PROBES]

    def state(self) -> dict[str, object]:
        """What is needed to go on after a restart."""
        return {
            "usual": self.typical,
            "signs": self.signs,
            "seen": self.seen.tolist(),
            "since": self.since,
            "happened": self.happened,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self.typical, self.since, self.happened = float(state["usual"]), int(state["since"]), bool(state["happened"])
        self.signs = [(int(device), bool(sign)) for device, sign in state["signs"]]
        self.seen = np.array(state["seen"], dtype=np.int64)
