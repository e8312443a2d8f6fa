"""The physics of a run in one frozen object: cost model, split, memory policy, noise, prices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.kernel import FACT_COUNT, MEMORY_POLICY, PENALTY, SPLIT
from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.cost import CostModel, FormulaCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.noise import noise_factors

SplitModel = Literal["concurrent", "serial"]
MemoryPolicy = Literal["fallback", "fail"]
Pricing = Literal["cloud", "electricity"]

DOLLARS_PER_KWH = 0.15
JOULES_PER_KWH = 3.6e6
STRETCHES: Final = Range(0.0, 10.0)
"""What may be set of `coexecution_penalty` and `noise`."""


@dataclass(frozen=True, slots=True)
class Physics:
    """How the simulated node behaves (SPEC section 3).

    Attributes:
        cost: How long a share of a task takes on a device.
        split: Whether the two parts of a split task run at the same time or one after the other.
        coexecution_penalty: Both parts of a concurrent split are stretched by 1 plus this, 0 to 10.
        memory_policy: What happens to a task that does not fit: `fallback` to a CPU, or `fail`.
        noise: Sigma of the log-normal noise on durations, 0 to 10.
        pricing: `cloud` (per busy second) or `electricity` (per kWh).
    """

    cost: CostModel = field(default_factory=FormulaCost)
    split: SplitModel = "concurrent"
    coexecution_penalty: float = 0.05
    memory_policy: MemoryPolicy = "fallback"
    noise: float = 0.0
    pricing: Pricing = "cloud"

    def __post_init__(self) -> None:
        choices = {"split": SplitModel, "memory_policy": MemoryPolicy, "pricing": Pricing}
        for name, choice in choices.items():
            if getattr(self, name) not in get_args(choice):
                options = " or ".join(map(repr, get_args(choice)))
                raise InvalidInputError(f"{name} is {getattr(self, name)!r}, but it must be {options}")
        for name in ("coexecution_penalty", "noise"):
            if not STRETCHES.holds(getattr(self, name)):
                raise InvalidInputError(f"{name} is {getattr(self, name)}, but it must be {STRETCHES}")

    def facts(self) -> FloatArray:
        """The public facts in the form schedulers see."""
        facts = np.zeros(FACT_COUNT)
        facts[SPLIT] = 0.0 if self.split == "concurrent" else 1.0
        facts[PENALTY] = self.coexecution_penalty
        facts[MEMORY_POLICY] = 0.0 if self.memory_policy == "fallback" else 1.0
        return facts

    def nominal_times(self, tasks: TaskBatch, cluster: ClusterSpec) -> FloatArray:
        """What the cost model says, without noise: shape (tasks, 2, devices)."""
        return np.ascontiguousarray(self.cost.times(tasks, cluster))

    def realised_times(self, nominal: FloatArray, tasks: TaskBatch, seed: int) -> FloatArray:
        """What the tasks really take, with this run's noise; the same array when that is what is estimated."""
        if len(tasks.time_factor):
            nominal = nominal * tasks.time_factor[:, None, None]
        if self.noise == 0.0:
            return nominal
        factors = noise_factors(seed, tasks.task_id, nominal.shape[2], self.noise)
        return nominal * factors[:, None, :]

    def busy_price(self, cluster: ClusterSpec) -> FloatArray:
        """Dollars per busy second of each device."""
        if self.pricing == "cloud":
            return cluster.column("dollars_per_second")
        return cluster.column("watts") * (DOLLARS_PER_KWH / JOULES_PER_KWH)

    def idle_price(self, cluster: ClusterSpec) -> FloatArray:
        """Dollars per idle second of each device: only electricity is paid while nothing runs."""
        if self.pricing == "cloud":
            return np.zeros(len(cluster.devices))
        return cluster.column("idle_watts") * (DOLLARS_PER_KWH / JOULES_PER_KWH)
