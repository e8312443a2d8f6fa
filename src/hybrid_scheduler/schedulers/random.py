"""Random placement, seeded."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.order.gangs import devices_up
from hybrid_scheduler.model.device_columns import ANY_NODE, GPU
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.noise import uniform
from hybrid_scheduler.schedulers.base import CompiledScheduler, kernel
from hybrid_scheduler.schedulers.choose import in_turn, shared


@kernel
def _policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    seed = np.int64(state[0])
    gpu = in_turn(devices, GPU, int(uniform(seed, number, 0) * devices_up(devices, GPU, ANY_NODE)))
    return shared(out, devices, gpu, uniform(seed, number, 1))


class Random(CompiledScheduler):
    """Draws a uniform GPU fraction and a uniform GPU.

    The draw is a hash of the seed and the number of the decision, so `decide` is pure and needs no generator.
    """

    kernel = _policy

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def kernel_state(self) -> FloatArray:
        """The seed, kept within the integers a float holds exactly."""
        return np.array([float(self.seed % 2**53)])
