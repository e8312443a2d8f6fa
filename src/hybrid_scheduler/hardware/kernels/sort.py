"""Sorting numbers."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers
from hybrid_scheduler.workloads.kernel_kinds import SORTED


class Sort(Kernel):
    """1000 N numbers in ascending order."""

    kind = "sort"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """The numbers."""
        return (numbers(generator, SORTED * size),)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The sorted numbers."""
        return torch.sort(data[0]).values
