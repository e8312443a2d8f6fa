"""A vector times a number plus a vector."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers, span
from hybrid_scheduler.workloads.kernel_kinds import SCALED

FACTOR = 1.5


class Axpy(Kernel):
    """``a x + y`` of 4000 N numbers: bound by memory everywhere."""

    kind = "axpy"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """Two vectors."""
        return numbers(generator, SCALED * size), numbers(generator, SCALED * size)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The sum."""
        x, y = data
        return torch.add(y, x, alpha=FACTOR)

    def part(self, data: Tensors, begin: float, share: float) -> Tensors:
        """A stretch of both vectors."""
        x, y = data
        stretch = span(len(x), begin, share)
        return x[stretch], y[stretch]
