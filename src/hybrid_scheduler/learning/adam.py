"""Adam in one compiled pass over flat weights (Kingma and Ba, ICLR 2015, algorithm 1)."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.weights import Weights
from hybrid_scheduler.model.task import FloatArray

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8


class Adam:
    """The optimiser of one set of weights.

    Args:
        weights: What it moves.
        memory: The flat memory compiled code acts on; kept up to date.
        start: Where the weights begin there.
    """

    def __init__(self, weights: Weights, memory: FloatArray, start: int) -> None:
        self.weights, self._memory, self._start = weights, memory, start
        self._mean, self._square = (np.zeros(len(weights.flat), dtype=np.float32) for _ in range(2))
        self.steps = 0
        self._look()

    def _look(self) -> None:
        """Bind the views; not part of a copy, whose views must look into its own arrays."""
        self._flat, self._gradient = self.weights.flat.numpy(), self.weights.gradient.numpy()
        self._acted_on = self._memory[self._start : self._start + len(self._flat)]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_flat", "_gradient", "_acted_on")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()

    def squared_norm(self) -> float:
        """Of the gradient."""
        return float(self._gradient @ self._gradient)

    def step(self, rate: float, scale: float = 1.0) -> None:
        """Go along the gradient times `scale`."""
        self.steps += 1
        _step(
            self._flat,
            self._gradient,
            self._mean,
            self._square,
            self._acted_on,
            scale,
            rate / (1.0 - FIRST**self.steps),
            1.0 / (1.0 - SECOND**self.steps) ** 0.5,
        )

    def export(self) -> None:
        """Write the weights where compiled code reads them, when something else than a step has changed them."""
        self._acted_on[:] = self._flat

    def state(self) -> dict[str, Any]:
        """What is needed to go on."""
        import torch

        mean, square = (torch.from_numpy(moment.copy()) for moment in (self._mean, self._square))
        return {"mean": mean, "square": square, "steps": self.steps}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self._mean[:], self._square[:] = state["mean"].numpy(), state["square"].numpy()
        self.steps = int(state["steps"])


Column = NDArray[np.float32]


@nb.njit(cache=True, error_model="numpy")  # a check for division by zero would keep the loop from being vectorised
def _step(
    weights: Column,
    gradient: Column,
    mean: Column,
    square: Column,
    acted_on: FloatArray,
    scale: float,
    rate: float,
    root: float,
) -> None:
    # In single precision throughout, like the weights.
    scale_, rate_, root_, tiny = np.float32(scale), np.float32(rate), np.float32(root), np.float32(TINY)
    keep, rest = np.float32(FIRST), np.float32(1.0 - FIRST)
    keep_square, rest_square = np.float32(SECOND), np.float32(1.0 - SECOND)
    for i in range(len(weights)):
        slope = gradient[i] * scale_
        mean[i] = keep * mean[i] + rest * slope
        square[i] = keep_square * square[i] + rest_square * slope * slope
        weights[i] -= rate_ * mean[i] / (np.sqrt(square[i]) * root_ + tiny)
        acted_on[i] = weights[i]
