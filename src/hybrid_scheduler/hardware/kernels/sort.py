"""Sorting numbers."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers, span
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

    def part(self, data: Tensors, begin: float, share: float) -> Tensors:
        """Some of the numbers. Merging the sorted parts is not counted: it is linear, and nobody waits for it here."""
        return (data[0][span(len(data[0]), begin, share)],)
