"""How busy every device was since the run began: a series of bounded size, fine lately and coarser before."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.model.task import FloatArray

RECENT_SECONDS = 60.0
"""The last seconds of the clock are kept as fine as they were sampled."""
LEAST_GAP = 0.45
"""Seconds of the clock between two samples; what comes sooner is left out."""
MOST = 300
"""Samples of the whole run; when they are full every other one goes."""


class _Mark(NamedTuple):
    """Running sums at one moment: differences of two of them are exact, however far apart they are."""

    at: float
    raced: Mapping[str, float]
    busy: Mapping[str, FloatArray]


class PulseSeries:
    """Busy shares of every scheduler's devices, from the first moment of a run to the last.

    Args:
        devices: Their names.
    """

    def __init__(self, devices: tuple[str, ...]) -> None:
        self._devices = devices
        self._run: list[_Mark] = []
        self._recent: deque[_Mark] = deque()
        self._gap = LEAST_GAP

    def add(self, at: float, raced_seconds: Mapping[str, float], busy_seconds: Mapping[str, FloatArray]) -> None:
        """Take a sample.

        Args:
            at: Seconds since 1970.
            raced_seconds: By scheduler, for how long it has raced since the run began, in its nodes' time.
            busy_seconds: By scheduler, how long each device has been busy since then.
        """
        if self._recent and at - self._recent[-1].at < LEAST_GAP:
            return
        mark = _Mark(at, raced_seconds, busy_seconds)
        self._recent.append(mark)
        while at - self._recent[0].at > RECENT_SECONDS:
            self._recent.popleft()
        if self._run and at - self._run[-1].at < self._gap:
            return
        self._run.append(mark)
        if len(self._run) > MOST:
            self._run = self._run[::2]
            self._gap *= 2

    def points(self, scheduler: str) -> list[dict[str, Any]]:
        """As in `PulsePoint`: the busy share of every device between two samples, oldest first."""
        since = self._recent[0].at if self._recent else 0.0
        marks = [mark for mark in self._run if mark.at < since] + list(self._recent)
        points = []
        for before, after in itertools.pairwise(marks):
            seconds = after.raced[scheduler] - before.raced[scheduler]
            if seconds <= 0:
                continue  # it stood still
            shares = np.clip((after.busy[scheduler] - before.busy[scheduler]) / seconds, 0.0, 1.0)
            points.append({"time": after.at, "utilization": [round(float(share), 4) for share in shares]})
        return points

    def document(self, scheduler: str) -> dict[str, Any]:
        """`devices` and `points` of a `PulseHistory`."""
        return {"devices": list(self._devices), "points": self.points(scheduler)}
