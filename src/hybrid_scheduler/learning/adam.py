"""The weights of a small network in one flat tensor, and Adam in one compiled pass over them.

Adam: Kingma and Ba, ICLR 2015, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.task import FloatArray

if TYPE_CHECKING:
    from torch import Tensor

Column = NDArray[np.float32]

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8
VIEWS = ("_flat", "_gradient", "_acting", "_acted_on")


class Weights:
    """One tensor for the optimiser and for copying, a view per layer for the mathematics; the gradient likewise.

    Args:
        shapes: Of the layers and biases.
        generator: He's initialisation for layers (He et al., ICCV 2015), zeros for biases; None: all zeros.
        silent: Pieces that start at zero.
    """

    def __init__(self, shapes: tuple[tuple[int, ...], ...], generator: Any, silent: tuple[int, ...] = ()) -> None:
        import torch

        self.shapes = shapes
        self.flat = torch.zeros(sum(prod(shape) for shape in shapes))
        self.gradient = torch.zeros_like(self.flat)
        self.pieces, self.gradients = self._views(self.flat), self._views(self.gradient)
        if generator is not None:
            for number, (piece, shape) in enumerate(zip(self.pieces, shapes, strict=True)):
                drawn = torch.randn(shape, generator=generator) if len(shape) > 1 else None
                if drawn is not None and number not in silent:
                    piece.copy_(drawn * (2.0 / shape[1]) ** 0.5)

    def __getstate__(self) -> dict[str, Any]:
        return {"shapes": self.shapes, "flat": self.flat, "gradient": self.gradient}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A copy's views must look into its own tensors.
        self.__dict__.update(state)
        self.pieces, self.gradients = self._views(self.flat), self._views(self.gradient)

    def _views(self, flat: Tensor) -> list[Tensor]:
        views, end = [], 0
        for shape in self.shapes:
            start, end = end, end + prod(shape)
            views.append(flat[start:end].view(shape))
        return views

    def state(self) -> list[Tensor]:
        """A copy of every piece."""
        return [piece.clone() for piece in self.pieces]

    def restore(self, state: list[Tensor]) -> None:
        """Go on from `state`."""
        for piece, value in zip(self.pieces, state, strict=True):
            piece.copy_(value)


class Adam:
    """The optimiser of one set of weights.

    Args:
        weights: What it moves.
        params: The flat array compiled code acts on; kept up to date.
        start: Where the weights begin there.
        average: A copy of the weights that follows them and is acted on in their place; None: they are.
    """

    def __init__(self, weights: Weights, params: FloatArray, start: int, average: Weights | None = None) -> None:
        self.weights, self._params, self._start = weights, params, start
        self.average = average
        self._mean, self._square = (np.zeros(len(weights.flat), dtype=np.float32) for _ in range(2))
        self.steps = 0
        self._look()

    def _look(self) -> None:
        """Bind the views; not part of a copy, whose views must look into its own arrays."""
        self._flat, self._gradient = self.weights.flat.numpy(), self.weights.gradient.numpy()
        self._acting = self._flat if self.average is None else self.average.flat.numpy()
        self._acted_on = self._params[self._start : self._start + len(self._flat)]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in VIEWS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()

    def move(self, params: FloatArray, start: int) -> None:
        """Keep another flat array up to date from now on."""
        self._params, self._start = params, start
        self._look()

    def squared_norm(self) -> float:
        """Of the gradient."""
        return float(self._gradient @ self._gradient)

    def step(self, rate: float, scale: float = 1.0, follow: float = 1.0) -> None:
        """Go along the gradient times `scale`; the average goes this share of its difference to the weights."""
        self.steps += 1
        _step(
            self._flat,
            self._gradient,
            self._mean,
            self._square,
            self._acting,
            self._acted_on,
            follow,
            scale,
            rate / (1.0 - FIRST**self.steps),
            1.0 / (1.0 - SECOND**self.steps) ** 0.5,
        )

    def export(self) -> None:
        """Write the weights where compiled code reads them, when something else than a step has changed them."""
        self._acted_on[:] = self._acting

    def state(self) -> dict[str, Any]:
        """What is needed to go on."""
        import torch

        mean, square = (torch.from_numpy(moment.copy()) for moment in (self._mean, self._square))
        return {"mean": mean, "square": square, "steps": self.steps}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self._mean[:], self._square[:] = state["mean"].numpy(), state["square"].numpy()
        self.steps = int(state["steps"])


@nb.njit(cache=True, error_model="numpy")  # a check for division by zero would keep the loop from being vectorised
def _step(
    weights: Column,
    gradient: Column,
    mean: Column,
    square: Column,
    acting: Column,
    acted_on: FloatArray,
    follow: float,
    scale: float,
    rate: float,
    root: float,
) -> None:
    # In single precision throughout, like the weights.
    scale_, rate_, root_, tiny = np.float32(scale), np.float32(rate), np.float32(root), np.float32(TINY)
    keep, rest, follow_ = np.float32(FIRST), np.float32(1.0 - FIRST), np.float32(follow)
    keep_square, rest_square = np.float32(SECOND), np.float32(1.0 - SECOND)
    for i in range(len(weights)):
        slope = gradient[i] * scale_
        mean[i] = keep * mean[i] + rest * slope
        square[i] = keep_square * square[i] + rest_square * slope * slope
        weights[i] -= rate_ * mean[i] / (np.sqrt(square[i]) * root_ + tiny)
        acting[i] += follow_ * (weights[i] - acting[i])
        acted_on[i] = acting[i]


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on one thread, and what was set before afterwards.

    Faster for nets this small (measured on a busy machine of two cores: 20 times), and the same sums in the same order
    on every machine.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
