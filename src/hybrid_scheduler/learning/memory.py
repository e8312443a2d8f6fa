"""The agent's memory as one flat array, so that compiled code can act on it without a framework.

Header first, then the constants of the devices, then the weights of the two networks. `Layout` says where each piece
stands; the compiled side works the offsets out from the header in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from hybrid_scheduler.model.task import FloatArray

CPUS: Final = 0
GPUS: Final = 1
FRACTIONS: Final = 2
HIDDEN: Final = 3
TRUST: Final = 4
"""How far the learned part of the value counts: 1 normally, 0 right after a surprise."""
TIME_WEIGHT: Final = 5
"""Value of a second of response: (1 - energy weight) / mean response."""
ENERGY_WEIGHT: Final = 6
"""Value of a joule: energy weight / mean energy."""
SECOND: Final = 7
"""A typical number of seconds, the unit in which the networks see times."""
USE_BACKLOG: Final = 8
MEAN: Final = 9
"""Three means of the task features (log size, intensity, log memory), then three deviations."""
FRACTION: Final = 15
"""The GPU fractions, ascending, at most `MAX_FRACTIONS`."""
MAX_FRACTIONS: Final = 8
COUNT_WAITING: Final = FRACTION + MAX_FRACTIONS
"""Whether the time an action costs includes the waiting before it; last, so that older files can be read."""
HEADER: Final = COUNT_WAITING + 1

TASK_FEATURES: Final = 3
EMBEDDING: Final = 4
TIME_INPUTS: Final = TASK_FEATURES + EMBEDDING + 1
TIME_HIDDEN: Final = 32


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of one agent's networks and where their weights stand in the flat array."""

    cpus: int
    gpus: int
    fractions: int
    hidden: int

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.cpus + self.gpus

    @property
    def actions(self) -> int:
        """The CPUs whole, then every GPU with every fraction."""
        return self.cpus + self.gpus * self.fractions

    @property
    def inputs(self) -> int:
        """Task features, then backlog and expected time of every device."""
        return TASK_FEATURES + 2 * self.devices

    @property
    def time_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Weights of the time head: device embeddings, then three layers."""
        h = TIME_HIDDEN
        return (self.devices, EMBEDDING), (h, TIME_INPUTS), (h,), (h, h), (h,), (1, h), (1,)

    @property
    def value_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Weights of the value network: two layers, then the state value and the advantages."""
        h = self.hidden
        return (h, self.inputs), (h,), (h, h), (h,), (1 + self.actions, h), (1 + self.actions,)

    def empty(self) -> FloatArray:
        """A memory of zeros with the sizes filled in."""
        count = sum(int(np.prod(s)) for s in (*self.time_shapes, *self.value_shapes))
        memory = np.zeros(HEADER + self.devices + count)
        memory[[CPUS, GPUS, FRACTIONS, HIDDEN]] = self.cpus, self.gpus, self.fractions, self.hidden
        memory[[TIME_WEIGHT, SECOND, USE_BACKLOG, COUNT_WAITING]] = 1.0
        memory[MEAN + TASK_FEATURES : MEAN + 2 * TASK_FEATURES] = 1.0
        return memory

    def pieces(self, memory: FloatArray) -> tuple[FloatArray, list[FloatArray], list[FloatArray]]:
        """Views into a memory: the devices' bias, the weights of the time head, the weights of the value network."""
        bias = memory[HEADER : HEADER + self.devices]
        offset = HEADER + self.devices
        groups: list[list[FloatArray]] = []
        for shapes in (self.time_shapes, self.value_shapes):
            weights = []
            for shape in shapes:
                size = int(np.prod(shape))
                weights.append(memory[offset : offset + size].reshape(shape))
                offset += size
            groups.append(weights)
        return bias, groups[0], groups[1]
