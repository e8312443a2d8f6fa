"""The contract of a kernel: data from a seed, and the work, on whatever device the data is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch

from hybrid_scheduler.model.errors import InvalidInputError

Tensors = tuple[torch.Tensor, ...]


class Kernel(ABC):
    """One kernel. The CPU's form and an accelerator's are the vendors' libraries behind the same calls of PyTorch.

    Attributes:
        kind: The `kind` of its tasks; `workloads.kernel_kinds` says what a size of it means.
    """

    kind: ClassVar[str]

    @abstractmethod
    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """The data of a task in main memory; the same generator state gives the same data."""

    @abstractmethod
    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """Do the work where the data is; it may still be running when this returns."""

    def part(self, data: Tensors, begin: float, share: float) -> Tensors:
        """The data of that share of the work which begins at `begin` (0 to 1), to be run alone.

        Shares that meet leave nothing out and do nothing twice.

        Raises:
            InvalidInputError: This kernel cannot be divided (`KernelKind.divisible`).
        """
        raise InvalidInputError(f"{self.kind} cannot be divided; run the whole of it on one device")


def span(count: int, begin: float, share: float) -> slice:
    """That share of so many rows, to the nearest whole row."""
    return slice(round(begin * count), round((begin + share) * count))


def numbers(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Uniform in -1 to 1: zeros would make a device draw less power and run faster than work does."""
    return torch.empty(*shape).uniform_(-1.0, 1.0, generator=generator)
