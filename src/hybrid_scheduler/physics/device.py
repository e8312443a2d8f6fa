"""Device descriptions: the default figures of speed, memory, link, power and price live here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.view import AVAILABLE, CPU, DEVICE_COLUMNS, GPU, KIND, MEMORY, NODE, PRICE, SINCE, WATTS

DeviceKind = Literal["cpu", "gpu"]

GPU_MEMORY_MB = 8000.0
PCIE_MB_PER_SECOND = 16_000.0
CPU_WATTS, GPU_WATTS = 30.0, 50.0
CPU_DOLLARS_PER_SECOND, GPU_DOLLARS_PER_SECOND = 0.00002, 0.0001


@dataclass(frozen=True, slots=True)
class Device:
    """One CPU or GPU.

    Attributes:
        name: Unique in the cluster, e.g. `gpu_0`.
        kind: `cpu` or `gpu`.
        speed: Relative to the default device of its kind.
        memory_mb: Memory of a GPU that a part must fit into; a CPU has no limit.
        bandwidth: Link to main memory in MB/s (GPUs).
        latency: Seconds every part pays before it can run, e.g. for launch and link set-up.
        watts: Power while busy.
        idle_watts: Power while idle.
        dollars_per_second: Price of a busy second.
        node: Number of the node the device sits in; a split stays within one node.
    """

    name: str
    kind: DeviceKind
    speed: float = 1.0
    memory_mb: float = math.nan
    bandwidth: float = PCIE_MB_PER_SECOND
    latency: float = 0.0
    watts: float = math.nan
    idle_watts: float = 0.0
    dollars_per_second: float = math.nan
    node: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("cpu", "gpu"):
            raise InvalidInputError(f"device {self.name!r}: kind is {self.kind!r}, but it must be 'cpu' or 'gpu'")
        is_gpu = self.kind == "gpu"
        defaults = {
            "memory_mb": GPU_MEMORY_MB if is_gpu else math.inf,
            "watts": GPU_WATTS if is_gpu else CPU_WATTS,
            "dollars_per_second": GPU_DOLLARS_PER_SECOND if is_gpu else CPU_DOLLARS_PER_SECOND,
        }
        for name, value in defaults.items():
            if math.isnan(getattr(self, name)):
                object.__setattr__(self, name, value)
        for name in ("speed", "memory_mb", "bandwidth"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(f"device {self.name!r}: {name} is {getattr(self, name)}, but must be above 0")
        if not math.isfinite(self.speed):
            raise InvalidInputError(f"device {self.name!r}: speed is {self.speed}, but it must be finite")
        for name in ("latency", "watts", "idle_watts", "dollars_per_second", "node"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InvalidInputError(
                    f"device {self.name!r}: {name} is {getattr(self, name)}, but it must be finite and at least 0"
                )


@dataclass(frozen=True, slots=True)
class Disturbance:
    """From `time` on, `device` runs at `speed` times its normal speed; 0 means it has failed, 1 that it is back."""

    time: float
    device: str
    speed: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.time) and self.time >= 0):
            raise InvalidInputError(f"disturbance of {self.device!r}: time is {self.time}, but it must be at least 0")
        if not (math.isfinite(self.speed) and self.speed >= 0):
            raise InvalidInputError(f"disturbance of {self.device!r}: speed is {self.speed}, but it must be at least 0")


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The devices of one node or several, and what will happen to them."""

    devices: tuple[Device, ...]
    disturbances: tuple[Disturbance, ...] = ()

    def __post_init__(self) -> None:
        if not self.devices:
            raise InvalidInputError("a cluster needs at least one device")
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(f"two devices are called {name!r}; names must be unique")
        for disturbance in self.disturbances:
            if disturbance.device not in names:
                raise InvalidInputError(
                    f"disturbance of {disturbance.device!r}: no such device; known: {', '.join(names)}"
                )

    @classmethod
    def default(cls, num_gpus: int = 4, memory_per_gpu: float = GPU_MEMORY_MB) -> ClusterSpec:
        """One CPU and `num_gpus` GPUs of the default kind."""
        if not 0 <= num_gpus <= 1024:
            raise InvalidInputError(f"num_gpus is {num_gpus}, but it must be from 0 to 1024")
        gpus = (Device(f"gpu_{i}", "gpu", memory_mb=memory_per_gpu) for i in range(num_gpus))
        return cls((Device("cpu_0", "cpu"), *gpus))

    @property
    def names(self) -> tuple[str, ...]:
        """The devices' names, in order."""
        return tuple(d.name for d in self.devices)

    @property
    def is_gpu(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For each device, whether it is a GPU."""
        return np.array([d.kind == "gpu" for d in self.devices])

    @property
    def gpu_id(self) -> IntArray:
        """For each device its number among the GPUs, -1 for CPUs."""
        return np.where(self.is_gpu, np.cumsum(self.is_gpu) - 1, -1).astype(np.int64)

    def with_disturbances(self, disturbances: Sequence[Disturbance]) -> ClusterSpec:
        """The same devices with other disturbances."""
        return replace(self, disturbances=tuple(disturbances))

    def best_speed(self) -> FloatArray:
        """For each device the largest factor on its speed that ever holds; bounds need it."""
        best = np.ones(len(self.devices))
        for d in self.disturbances:
            i = self.names.index(d.device)
            best[i] = max(best[i], d.speed)
        return best

    def column(self, name: str) -> FloatArray:
        """One figure of every device, in order."""
        return np.array([getattr(d, name) for d in self.devices], dtype=np.float64)

    def public_table(self) -> FloatArray:
        """The idle, undisturbed device table schedulers see (`model.view` columns)."""
        table = np.zeros((len(self.devices), DEVICE_COLUMNS))
        table[:, KIND] = np.where(self.is_gpu, GPU, CPU)
        table[:, NODE] = self.column("node")
        table[:, MEMORY] = self.column("memory_mb")
        table[:, WATTS] = self.column("watts")
        table[:, PRICE] = self.column("dollars_per_second")
        table[:, AVAILABLE] = 1.0
        table[:, SINCE] = np.nan
        return table
