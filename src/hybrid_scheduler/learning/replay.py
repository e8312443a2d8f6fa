"""Replay: past transitions in plain arrays, drawn at random to learn from (Lin, Machine Learning 8, 1992)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatColumn = NDArray[np.float32]


class Replay:
    """A ring of rows with named columns; the oldest rows make room.

    Args:
        capacity: Rows kept.
        columns: Name and width of each column; width 0 is a plain number.
    """

    def __init__(self, capacity: int, columns: dict[str, int]) -> None:
        self.capacity = capacity
        self.columns = {
            name: np.zeros((capacity, width) if width else capacity, dtype=np.float32)
            for name, width in columns.items()
        }
        self.total = 0

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    def add(self, **values: Any) -> None:
        """Store one row."""
        row = self.total % self.capacity
        for name, value in values.items():
            self.columns[name][row] = value
        self.total += 1

    def sample(self, rng: np.random.Generator, count: int, newest: int = 0) -> dict[str, FloatColumn]:
        """Draw rows with replacement; half of them from the `newest` rows when that is given."""
        rows = rng.integers(0, len(self), count)
        if newest:
            recent = rng.integers(0, min(newest, len(self)), count // 2)
            rows[: count // 2] = (self.total - 1 - recent) % self.capacity
        return {name: column[rows] for name, column in self.columns.items()}

    def state(self) -> dict[str, Any]:
        """What is needed to go on: the filled rows, as tensors, and the count."""
        import torch

        rows = len(self)
        return {"total": self.total, "columns": {n: torch.from_numpy(c[:rows].copy()) for n, c in self.columns.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self.total = int(state["total"])
        for name, rows in state["columns"].items():
            self.columns[name][: len(rows)] = rows.numpy()
