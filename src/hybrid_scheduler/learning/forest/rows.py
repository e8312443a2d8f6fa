"""The labelled tasks a forest is refreshed on: the latest ones, and a sample of all before them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hybrid_scheduler.learning.features import feature_columns
from hybrid_scheduler.learning.forest.predict import Floats32
from hybrid_scheduler.learning.model_file import Arrays
from hybrid_scheduler.model.task import FloatArray

TASK_FIGURES = 3
"""Size, intensity and memory; the features follow from them."""


class Rows:
    """A sliding window of the latest rows and a reservoir of those that left it.

    The reservoir is a uniform sample of everything that ever left the window since the last `keep` (algorithm R of
    Vitter, "Random sampling with a reservoir", ACM TOMS 11, 1985). A row is the task's figures, then the log seconds on
    every device (NaN where not known), then what was predicted for them before the row was known.

    Args:
        window: Rows of the window.
        reservoir: Rows of the reservoir.
        devices: Devices per row.
        seed: Decides the sample.
    """

    def __init__(self, window: int, reservoir: int, devices: int, seed: int) -> None:
        self.devices = devices
        self.window = np.zeros((window, TASK_FIGURES + 2 * devices), np.float32)
        self.reservoir = np.zeros((reservoir, TASK_FIGURES + devices), np.float32)
        self.added = 0
        self.passed = 0
        self.random = np.random.default_rng([seed, 0x0705])

    def __len__(self) -> int:
        return self.recent_count + self.kept_count

    @property
    def total(self) -> int:
        """Rows taken in since the last new start, kept or not."""
        return self.passed + self.recent_count

    @property
    def recent_count(self) -> int:
        """Rows in the window."""
        return min(self.added, len(self.window))

    @property
    def kept_count(self) -> int:
        """Rows in the reservoir."""
        return min(self.passed, len(self.reservoir))

    def fill(self, figures: FloatArray, targets: FloatArray) -> None:
        """Start over with these rows behind the window: all of them, or a sample as large as the reservoir."""
        self.added, self.passed = 0, len(figures)
        count = self.kept_count
        chosen = np.sort(self.random.choice(len(figures), count, replace=False))
        self.reservoir[:count] = np.hstack([figures[chosen], targets[chosen]])

    def add(self, figures: FloatArray, targets: FloatArray, predicted: FloatArray) -> None:
        """Take in the newest row; the oldest of a full window passes on."""
        place = self.window[self.added % len(self.window)]
        if self.added >= len(self.window):
            self._pass_on(place[: TASK_FIGURES + self.devices])
        place[:TASK_FIGURES] = figures
        place[TASK_FIGURES : TASK_FIGURES + self.devices] = targets
        place[TASK_FIGURES + self.devices :] = predicted
        self.added += 1

    def keep(self, latest: int) -> None:
        """Forget all but the latest rows."""
        rows = self.recent()[-latest:] if latest > 0 else self.window[:0]
        rows = rows.copy()
        self.window[: len(rows)] = rows
        self.added, self.passed = len(rows), 0

    def recent(self) -> Floats32:
        """The rows of the window, oldest first."""
        if self.added <= len(self.window):
            return self.window[: self.added]
        return np.roll(self.window, -(self.added % len(self.window)), axis=0)

    def compared(self) -> tuple[FloatArray, FloatArray]:
        """Targets and predictions of the window."""
        window = self.recent().astype(np.float64)
        return window[:, TASK_FIGURES : TASK_FIGURES + self.devices], window[:, TASK_FIGURES + self.devices :]

    def training(self, most: int) -> tuple[FloatArray, FloatArray]:
        """Features and targets to learn from: the window, and so much of the reservoir that there are `most` rows."""
        count = max(0, min(self.kept_count, most - self.recent_count))
        kept = self.reservoir[: self.kept_count]
        if count < len(kept):
            kept = kept[self.random.choice(len(kept), count, replace=False)]
        rows = np.vstack([self.recent()[:, : TASK_FIGURES + self.devices], kept]).astype(np.float64)
        return feature_columns(*rows[:, :TASK_FIGURES].T), np.ascontiguousarray(rows[:, TASK_FIGURES:])

    def figures(self) -> dict[str, Any]:
        """What to save beside `arrays`, fit for JSON."""
        return {"passed": self.passed, "random": self.random.bit_generator.state}

    def arrays(self) -> Arrays:
        """The rows, for a file."""
        return {"window": self.recent(), "reservoir": self.reservoir[: self.kept_count]}

    @classmethod
    def from_arrays(cls, window: int, reservoir: int, devices: int, figures: dict[str, Any], arrays: Arrays) -> Self:
        """The rows that were saved; where there is less room than there was, the latest and a part of the sample.

        Raises:
            KeyError, TypeError, ValueError: Something is missing or does not fit together.
        """
        rows = cls(window, reservoir, devices, 0)
        rows.random.bit_generator.state = figures["random"]
        recent, kept = arrays["window"][-window:], arrays["reservoir"][:reservoir]
        rows.window[: len(recent)], rows.reservoir[: len(kept)] = recent, kept
        rows.added = len(recent)
        # A reservoir that was full and now has room would count rows that it does not hold.
        rows.passed = int(figures["passed"]) if len(kept) == reservoir else len(kept)
        return rows

    def _pass_on(self, row: Floats32) -> None:
        self.passed += 1
        if self.passed <= len(self.reservoir):
            self.reservoir[self.passed - 1] = row
            return
        place = int(self.random.integers(self.passed))
        if place < len(self.reservoir):
            self.reservoir[place] = row
