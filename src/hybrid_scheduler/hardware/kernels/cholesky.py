"""Cholesky factor of a matrix."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers


class Cholesky(Kernel):
    """The lower factor of a symmetric N x N matrix with a dominant diagonal."""

    kind = "cholesky"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """The matrix: symmetric, and so heavy on its diagonal that it is positive definite (Gershgorin)."""
        drawn = numbers(generator, size, size)
        return ((drawn + drawn.T) / 2 + size * torch.eye(size),)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The factor."""
        factor: torch.Tensor = torch.linalg.cholesky(data[0])
        return factor
