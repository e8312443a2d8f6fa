"""Device descriptions: the default figures of speed, memory, link, power and price, and their ranges, live here.

The ranges are wide enough for any machine and narrow enough that every figure derived from them, sums over millions of
tasks included, is a number a computer can hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from hybrid_scheduler.model.device_columns import (
    AVAILABLE,
    CPU,
    DEVICE_COLUMNS,
    GPU,
    KIND,
    MEMORY,
    NODE,
    PRICE,
    SINCE,
    WATTS,
)
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import Range, within
from hybrid_scheduler.model.task import FloatArray, IntArray

DeviceKind = Literal["cpu", "gpu"]

GPU_MEMORY_MB = 8000.0
PCIE_MB_PER_SECOND = 16_000.0
NETWORK_MB_PER_SECOND = 1250.0
"""Between nodes: 10 Gbit/s."""
CPU_WATTS, GPU_WATTS = 30.0, 50.0
CPU_DOLLARS_PER_SECOND, GPU_DOLLARS_PER_SECOND = 0.00002, 0.0001

MOST_GPUS: Final = 1024
MOST_CPUS: Final = 1024
MOST_DEVICES: Final = 1 + MOST_GPUS
LONGEST_NAME: Final = 100
SPEEDS: Final = Range(1e-6, 1e6)
FIGURES: Final = {
    "speed": SPEEDS,
    "memory_mb": Range(1e-6, 1e12, "unlimited (infinity) or a number of megabytes"),
    "bandwidth": Range(1e-3, 1e9, "a number of MB/s"),
    "latency": Range(0.0, 1e6, "a number of seconds"),
    "watts": Range(0.0, 1e6, "a number of watts"),
    "idle_watts": Range(0.0, 1e6, "a number of watts"),
    "dollars_per_second": Range(0.0, 1e6, "a number of dollars"),
    "node": Range(0, 1e6, "a whole number"),
}
"""The range of every figure of a device."""
DISTURBANCE_TIMES: Final = Range(0.0, 1e12, "a number of seconds")


@dataclass(frozen=True, slots=True)
class Device:
    """One CPU or GPU.

    Attributes:
        name: Unique in the cluster, e.g. `gpu_0`; at most 100 printable characters.
        kind: `cpu` or `gpu`.
        speed: Relative to the default device of its kind, 1e-6 to 1e6.
        memory_mb: Memory of a GPU that a part must fit into, up to 1e12; a CPU has no limit.
        bandwidth: Link to main memory in MB/s (GPUs), 1e-3 to 1e9.
        latency: Seconds every part pays before it can run, e.g. for launch and link set-up, up to 1e6.
        watts: Power while busy, up to 1e6.
        idle_watts: Power while idle, up to 1e6.
        dollars_per_second: Price of a busy second, up to 1e6.
        node: Number of the node the device sits in, up to 1e6; a split stays within one node.
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
        if not (0 < len(self.name) <= LONGEST_NAME and self.name.isprintable()):
            raise InvalidInputError(
                f"a device is called {self.name[:LONGEST_NAME]!r}, but a name must have 1 to {LONGEST_NAME} printable "
                "characters"
            )
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
        for name, legal in FIGURES.items():
            value = getattr(self, name)
            if not (legal.holds(value) or (name == "memory_mb" and value == math.inf)):
                raise InvalidInputError(f"device {self.name!r}: {name} is {value}, but it must be {legal}")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """From `time` on, `device` runs at `speed` times its normal speed; 0 means it has failed, 1 that it is back.

    Times go up to 1e12 seconds, speeds other than 0 from 1e-6 to 1e6.
    """

    time: float
    device: str
    speed: float

    def __post_init__(self) -> None:
        if not DISTURBANCE_TIMES.holds(self.time):
            raise InvalidInputError(
                f"disturbance of {self.device!r}: time is {self.time}, but it must be {DISTURBANCE_TIMES}"
            )
        if not (self.speed == 0 or SPEEDS.holds(self.speed)):
            raise InvalidInputError(
                f"disturbance of {self.device!r}: speed is {self.speed}, but it must be 0 (failed) or {SPEEDS}"
            )


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The devices of one node or several, and what will happen to them.

    Attributes:
        devices: The devices.
        disturbances: What will happen to them.
        network_bandwidth: MB/s between two nodes, for data that one task hands to another.
    """

    devices: tuple[Device, ...]
    disturbances: tuple[Disturbance, ...] = ()
    network_bandwidth: float = NETWORK_MB_PER_SECOND

    def __post_init__(self) -> None:
        legal = FIGURES["bandwidth"]
        if not legal.holds(self.network_bandwidth):
            raise InvalidInputError(f"network_bandwidth is {self.network_bandwidth}, but it must be {legal}")
        if not self.devices:
            raise InvalidInputError("a cluster needs at least one device")
        if len(self.devices) > MOST_DEVICES:
            raise InvalidInputError(f"there are {len(self.devices)} devices, but a cluster has at most {MOST_DEVICES}")
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(f"two devices are called {name!r}; names must be unique")
        for disturbance in self.disturbances:
            if disturbance.device not in names:
                known = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
                raise InvalidInputError(f"disturbance of {disturbance.device!r}: no such device; known: {known}")

    @classmethod
    def default(cls, num_gpus: int = 4, memory_per_gpu: float = GPU_MEMORY_MB, *, num_cpus: int = 1) -> ClusterSpec:
        """One CPU, or several, and `num_gpus` GPUs of the default kind."""
        within("num_gpus", num_gpus, 0, MOST_GPUS)
        within("num_cpus", num_cpus, 1, MOST_CPUS)
        gpus = (Device(f"gpu_{i}", "gpu", memory_mb=memory_per_gpu) for i in range(num_gpus))
        return cls((*(Device(f"cpu_{i}", "cpu") for i in range(num_cpus)), *gpus))

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

    def seconds_per_mb(self) -> FloatArray:
        """For each device the seconds a megabyte takes over its own link, to or from main memory; 0 for a CPU."""
        return np.where(self.is_gpu, 1.0 / self.column("bandwidth"), 0.0)

    def public_table(self) -> FloatArray:
        """The idle, undisturbed device table (`model.view` columns); what schedulers see is `World.public_table`."""
        table = np.zeros((len(self.devices), DEVICE_COLUMNS))
        table[:, KIND] = np.where(self.is_gpu, GPU, CPU)
        table[:, NODE] = self.column("node")
        table[:, MEMORY] = self.column("memory_mb")
        table[:, WATTS] = self.column("watts")
        table[:, PRICE] = self.column("dollars_per_second")
        table[:, AVAILABLE] = 1.0
        table[:, SINCE] = np.nan
        return table
