"""The weights of a small network as one flat tensor with views into it, and their gradient likewise."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


class Weights:
    """One tensor for the optimiser and for copying, a view per layer for the mathematics.

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
