"""Product of two square matrices."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers, span


class Matmul(Kernel):
    """``A @ B``, both N x N."""

    kind = "matmul"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """Two matrices."""
        return numbers(generator, size, size), numbers(generator, size, size)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The product."""
        left, right = data
        return left @ right

    def part(self, data: Tensors, begin: float, share: float) -> Tensors:
        """Rows of the left factor, and the right one."""
        left, right = data
        return left[span(len(left), begin, share)], right
