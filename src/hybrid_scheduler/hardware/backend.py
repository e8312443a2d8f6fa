"""What the profiler needs of a device, and of a machine: a real one or one made up with known times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

Buffer = Any
"""A block of float32 numbers in the memory of some device; only the backends look inside."""


class Backend(ABC):
    """One device.

    What it starts may still be running when a call returns; `synchronize` waits for it. A buffer belongs to whoever
    allocated it and is freed when nobody holds it. Not thread-safe: one measurement at a time.

    Attributes:
        kind: `cpu`, `cuda` or `mps`.
        name: What the maker calls it.
        memory_mb: Its memory in MB (10⁶ bytes); None when it has none of its own or does not tell.
        pins_memory: Whether there is host memory it reads and writes directly (page-locked).
    """

    kind: str
    name: str
    memory_mb: float | None = None
    pins_memory: bool = False

    def describe(self) -> dict[str, object]:
        """Kind, name and memory, for the profile."""
        return {"kind": self.kind, "name": self.name, "memory_mb": self.memory_mb}

    @abstractmethod
    def allocate(self, rows: int, columns: int) -> Buffer:
        """A buffer in the device's memory, its content undefined.

        Raises:
            InvalidInputError: There is not enough memory.
        """

    @abstractmethod
    def allocate_pinned(self, rows: int, columns: int) -> Buffer:
        """The same in page-locked host memory; only where `pins_memory` holds."""

    @abstractmethod
    def fill(self, buffer: Buffer, seed: int) -> None:
        """Fill a buffer, on this device or the host, with random numbers."""

    @abstractmethod
    def multiply(self, left: Buffer, right: Buffer, out: Buffer) -> None:
        """Start `out = left @ right`, all three on this device."""

    @abstractmethod
    def copy(self, source: Buffer, target: Buffer) -> None:
        """Start a copy between two buffers, each on this device or the host."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything started has ended."""


class ProfiledMachine(ABC):
    """The devices to compare.

    Attributes:
        cpu: The CPU; its buffers are the host's.
        accelerator: The other device; None when there is none, or none was asked for.
        note: Why there is no accelerator; None when there is one.
    """

    cpu: Backend
    accelerator: Backend | None = None
    note: str | None = None

    @abstractmethod
    def held_steady(self, threads: int | None) -> AbstractContextManager[None]:
        """Hold what changes timings (threads of the CPU, precision) as the profile says, and put it back after."""

    @abstractmethod
    def threads(self) -> int:
        """How many threads the CPU computes with now."""

    @abstractmethod
    def processor_seconds(self) -> float:
        """The processor time this process has used so far, all threads together."""

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """Facts about the machine as it stands, for the profile."""
