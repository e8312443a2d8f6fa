"""What a scheduler answers: pure data, applied by the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a task for one device.

    Attributes:
        device: Row of the device in the view.
        share: Above 0, at most 1.
        expected: Seconds the scheduler expects this part to run; 0 when it has no idea.
    """

    device: int
    share: float = 1.0
    expected: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a task goes: one part, or a GPU part and a CPU part of the same node that add up to 1."""

    parts: tuple[Part, ...]

    @classmethod
    def whole(cls, device: int, expected: float = 0.0) -> Self:
        """The whole task on one device."""
        return cls((Part(device, 1.0, expected),))

    @classmethod
    def split(
        cls,
        gpu: int,
        cpu: int,
        gpu_fraction: float,
        expected: tuple[float, float] = (0.0, 0.0),
    ) -> Self:
        """`gpu_fraction` on the GPU, the rest on the CPU; 0 and 1 give a whole task. `expected`: GPU, CPU seconds."""
        if gpu_fraction <= 0.0:
            return cls.whole(cpu, expected[1])
        if gpu_fraction >= 1.0:
            return cls.whole(gpu, expected[0])
        return cls((Part(gpu, gpu_fraction, expected[0]), Part(cpu, 1.0 - gpu_fraction, expected[1])))
