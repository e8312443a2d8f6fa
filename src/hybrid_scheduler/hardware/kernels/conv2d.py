"""Convolution of images."""

from __future__ import annotations

import torch

from hybrid_scheduler.hardware.kernels.base import Kernel, Tensors, numbers, span
from hybrid_scheduler.workloads.kernel_kinds import CHANNELS, FILTER, FILTERS, IMAGE, images


class Conv2d(Kernel):
    """Images of 16 channels through 32 filters of 3 x 3, with padding."""

    kind = "conv2d"

    def make(self, size: int, generator: torch.Generator) -> Tensors:
        """Images and filters."""
        return (
            numbers(generator, images(size), CHANNELS, IMAGE, IMAGE),
            numbers(generator, FILTERS, CHANNELS, FILTER, FILTER),
        )

    def run(self, *data: torch.Tensor) -> torch.Tensor:
        """The filtered images."""
        pictures, filters = data
        return torch.nn.functional.conv2d(pictures, filters, padding=FILTER // 2)

    def part(self, data: Tensors, begin: float, share: float) -> Tensors:
        """Some of the images, and the filters."""
        pictures, filters = data
        return pictures[span(len(pictures), begin, share)], filters
