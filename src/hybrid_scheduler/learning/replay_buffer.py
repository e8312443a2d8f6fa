"""The replay buffer: past rows in one plain array, drawn at random to learn from (Lin, Machine Learning 8, 1992)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatColumn = NDArray[np.float32]


class ReplayBuffer:
    """A ring of rows with named columns; the oldest rows make room.

    Args:
        capacity: Rows kept.
        columns: Name and width of each column; width 0 is a plain number.
    """

    def __init__(self, capacity: int, columns: dict[str, int]) -> None:
        self.capacity = capacity
        self._places: dict[str, slice | int] = {}
        total = 0
        for name, width in columns.items():
            self._places[name] = slice(total, total + width) if width else total
            total += width or 1
        # One row holds everything of a transition, so that drawing one is one copy.
        self.rows = np.zeros((capacity, total), dtype=np.float32)
        self.total = 0

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    def add(self, **values: Any) -> None:
        """Store one row; a column may be given fewer values than it is wide, and keeps others behind them."""
        row = self.rows[self.total % self.capacity]
        for name, value in values.items():
            place = self._places[name]
            row[slice(place.start, place.start + len(value)) if isinstance(place, slice) else place] = value
        self.total += 1

    def sample(self, rng: np.random.Generator, count: int, newest: int = 0) -> dict[str, FloatColumn]:
        """Draw rows with replacement; half of them from the `newest` rows when that is given."""
        chosen = rng.integers(0, len(self), count)
        if newest:
            recent = rng.integers(0, min(newest, len(self)), count // 2)
            chosen[: count // 2] = (self.total - 1 - recent) % self.capacity
        return self.columns(chosen)

    def columns(self, rows: NDArray[np.int64]) -> dict[str, FloatColumn]:
        """The columns of some rows."""
        drawn = self.rows[rows]
        return {name: drawn[:, place] for name, place in self._places.items()}

    def widened(self, columns: dict[str, int]) -> ReplayBuffer:
        """The same rows with the same columns, some of them wider; the new places are 0."""
        wider = ReplayBuffer(self.capacity, columns)
        wider.total, count = self.total, len(self)
        for name, place in self._places.items():
            target = wider._places[name]
            if isinstance(place, slice) and isinstance(target, slice):
                target = slice(target.start, target.start + place.stop - place.start)
            wider.rows[:count, target] = self.rows[:count, place]
        return wider

    def state(self) -> dict[str, Any]:
        """What is needed to go on: the filled rows, as a tensor, and the count."""
        import torch

        return {"total": self.total, "rows": torch.from_numpy(self.rows[: len(self)].copy())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        rows = state["rows"].numpy()
        if rows.shape[1] != self.rows.shape[1]:
            raise ValueError(f"its rows have {rows.shape[1]} columns, not {self.rows.shape[1]}")
        self.total = int(state["total"])
        self.rows[: len(rows)] = rows
