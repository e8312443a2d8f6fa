"""Where everything stands in the one flat array that compiled code acts on.

The array (`params`): a header, the figures of the devices of the node at hand, then the weights of the two networks.
`Layout` says where each piece stands; compiled code works the offsets out from the header in the same order. Only the
figures of the devices depend on the node: the networks have the same sizes on every one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from hybrid_scheduler.learning.actions import action_count
from hybrid_scheduler.model.task import FloatArray

CPUS: Final = 0
GPUS: Final = 1
FRACTIONS: Final = 2
HIDDEN: Final = 3
TRUST: Final = 4
"""How far the learned part of the value counts: 1 normally, 0 right after drift."""
GOALS: Final = 5
"""The weights of time, energy and money."""
USUAL: Final = 8
"""What is usual for a task on this node: seconds of response, joules, dollars."""
SERVICE: Final = 11
"""Seconds a task usually takes where an idle node is fastest: the unit in which the network sees queues."""
EXCESS: Final = 12
"""Seconds a response usually is above that: the unit of what the network learns."""
SECOND: Final = 13
"""A typical number of seconds, the unit of the time head."""
USE_BACKLOG: Final = 14
COUNT_WAITING: Final = 15
"""Whether the time an action costs includes the waiting before it."""
CHARGE: Final = 16
"""How much a second of work counts for the tasks that will wait behind it, per part queued there, before anything is
learned."""
MEAN: Final = 17
"""Three means of the task features (log size, intensity, log memory), then three deviations."""
FRACTION: Final = 23
"""The GPU fractions, ascending, at most `MAX_FRACTIONS`."""
MAX_FRACTIONS: Final = 8
HEADER: Final = FRACTION + MAX_FRACTIONS

SHOWN_CPUS: Final = 2
SHOWN_GPUS: Final = 8
"""So many devices of a kind, those that would be done first, are options; on a larger node the others are not."""

MOST_OPTIONS: Final = SHOWN_CPUS + SHOWN_GPUS * MAX_FRACTIONS

TASK_FEATURES: Final = 3
BASIS: Final = 4
"""Functions of a task, learned once for all devices, by which devices differ from the average of their kind."""
COEFFICIENTS: Final = 1 + TASK_FEATURES + BASIS
"""Of a device: a constant, and how much of each task feature and of each function it adds to the log of seconds."""
DEVICE_FIGURES: Final = COEFFICIENTS + 1
"""Of a device: its coefficients, and how slow it usually is against the mean of all devices (log)."""
TIME_INPUTS: Final = TASK_FEATURES + 1
TIME_HIDDEN: Final = 32
TIME_OUTPUTS: Final = 1 + BASIS

SOONEST: Final = 4
"""So many of the devices on which a usual task would be done soonest are seen one by one."""
QUEUES: Final = SOONEST + 4
"""Inputs about the queues of a node, as they are or as an option would leave them."""
CONTEXT: Final = 17 + QUEUES
"""Inputs about the task, the goals and the node as a whole."""
OPTION: Final = 19 + QUEUES
"""Inputs about one option."""
FIGURES: Final = 5
"""What is known of one option: seconds of response, joules, dollars, seconds of response on an idle node, and the
seconds that it is charged for what will wait behind it (`CHARGE`)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The devices of a node, and the sizes of the networks."""

    cpus: int
    gpus: int
    fractions: int
    hidden: int

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.cpus + self.gpus

    @property
    def shown(self) -> int:
        """Number of devices among the options."""
        return min(self.cpus, SHOWN_CPUS) + min(self.gpus, SHOWN_GPUS)

    @property
    def options(self) -> int:
        """The shown CPUs whole, then every shown GPU with every fraction."""
        return action_count(min(self.cpus, SHOWN_CPUS), min(self.gpus, SHOWN_GPUS), self.fractions)

    @property
    def time_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Weights of the time head: three layers."""
        h = TIME_HIDDEN
        return (h, TIME_INPUTS), (h,), (h, h), (h,), (TIME_OUTPUTS, h), (TIME_OUTPUTS,)

    @property
    def value_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Weights of the value network.

        The first layer's for the context and for the option, its bias, the second layer, the advantage; then the two
        layers of the state value.
        """
        h, half = self.hidden, second_layer(self.hidden)
        return (h, CONTEXT), (h, OPTION), (h,), (half, h), (half,), (1, half), (half, CONTEXT), (half,), (1, half), (1,)

    @property
    def first_weight(self) -> int:
        """Where the weights of the time head begin; those of the value network follow."""
        return HEADER + self.devices * DEVICE_FIGURES

    def empty(self) -> FloatArray:
        """An array of zeros with the sizes filled in."""
        count = sum(prod(shape) for shape in (*self.time_shapes, *self.value_shapes))
        params = np.zeros(self.first_weight + count)
        params[[CPUS, GPUS, FRACTIONS, HIDDEN]] = self.cpus, self.gpus, self.fractions, self.hidden
        params[[GOALS, SERVICE, EXCESS, SECOND, USE_BACKLOG, COUNT_WAITING]] = 1.0
        params[USUAL : USUAL + 3] = 1.0
        params[MEAN + TASK_FEATURES : MEAN + 2 * TASK_FEATURES] = 1.0
        return params

    def figures(self, params: FloatArray) -> FloatArray:
        """View into the array: a row of `DEVICE_FIGURES` for each device."""
        return params[HEADER : self.first_weight].reshape(self.devices, DEVICE_FIGURES)


def second_layer(hidden: int) -> int:
    """Units of the second layer."""
    return max(1, hidden // 2)
