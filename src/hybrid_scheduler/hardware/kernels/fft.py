"""Fourier transform of real numbers."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers
from hybrid_scheduler.workloads.kernel_kinds import SORTED


class Fft(Kernel):
    """The spectrum of 1000 N real numbers."""

    kind = "fft"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """The numbers."""
        return (numbers(generator, SORTED * size),)

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The spectrum."""
        spectrum: torch.Tensor = torch.fft.rfft(data[0])
        return spectrum
