"""What a scheduler answers: pure data, applied by the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import IntArray


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
    """Where a task goes: one part, or a GPU part and a CPU part of the same node that add up to 1.

    A task of width w goes to w devices of one kind together, a w-th on each; a decision names them all, or only one,
    and the node finds the others: those of the same kind, of the same node if it has enough, that will be free first as
    far as the scheduler's own expectations tell. Of a split of a wide task, which cannot be, the larger share counts.

    A scheduler names devices by their rows and knows nothing else of a decision. One that was carried out and is handed
    back also answers `gpu_id` and `gpu_fraction`; it has no parts when the task was never placed.

    Attributes:
        parts: What goes where.
        gpu_ids: Of a decision that was carried out: for each part the number of its GPU, None for a CPU.
    """

    parts: tuple[Part, ...]
    gpu_ids: tuple[int | None, ...] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def whole(cls, device: int, expected: float = 0.0) -> Self:
        """The whole task on one device."""
        return cls((Part(device, 1.0, expected),))

    @classmethod
    def wide(cls, devices: Sequence[int], expected: float = 0.0) -> Self:
        """A task of several devices on these; `expected`: seconds from their common start to their common end."""
        return cls(tuple(Part(device, 1.0 / len(devices), expected) for device in devices))

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

    def carried_out(self, gpu_id: IntArray) -> Self:
        """The same decision, knowing its GPUs.

        Args:
            gpu_id: For each row the device's number among the GPUs, below 0 for a CPU (`ClusterSpec.gpu_id`).
        """
        numbers = (int(gpu_id[part.device]) for part in self.parts)
        return replace(self, gpu_ids=tuple(number if number >= 0 else None for number in numbers))

    @property
    def gpu_id(self) -> int | None:
        """Number of the GPU that takes part, or None.

        Raises:
            InvalidInputError: The decision was not carried out yet.
        """
        return next((number for number in self._known_ids() if number is not None), None)

    @property
    def gpu_fraction(self) -> float:
        """Share of the task that goes to a GPU.

        Raises:
            InvalidInputError: The decision was not carried out yet.
        """
        ids = self._known_ids()
        return min(1.0, sum(part.share for part, number in zip(self.parts, ids, strict=True) if number is not None))

    def _known_ids(self) -> tuple[int | None, ...]:
        if self.gpu_ids is None:
            raise InvalidInputError(
                f"{self} names devices by rows and was not carried out yet, so it cannot tell which are GPUs; "
                "ask the one that process_queue or observe hands back, or look the row up in the view"
            )
        return self.gpu_ids
