"""A serial chain of tiny operations: hostile to an accelerator."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers
from hybrid_scheduler.workloads.kernel_kinds import CHAIN, chain_length


class Loop(Kernel):
    """A hundred steps ``x <- x x + c``, each waiting for the last, on a handful of numbers."""

    kind = "loop"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """The numbers, small enough that the chain stays bounded."""
        return (numbers(generator, chain_length(size)) / 4,)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The end of the chain."""
        x = start = data[0]
        for _ in range(CHAIN):
            x = torch.addcmul(start, x, x)
        return x
