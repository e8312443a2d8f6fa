"""Nodes and workloads as vectors of numbers from 0 to 1: what a search can vary, inside ranges that are stated here.

Every instance is a machine one could buy and a load it could carry: devices as in `random_nodes`, features of tasks as
wide as those of the presets, bursts as long as those of the preset `bursty`. Every task fits into every GPU, and the
load is a share of what a perfect assignment of these very tasks could do.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.scenario.random_nodes import BANDWIDTH, CPU_SPEED, CPUS, GPU_SPEED, GPUS, MEMORY
from hybrid_scheduler.scenario.scenario import Scenario
from hybrid_scheduler.scenario.sources import RecordedTasks
from hybrid_scheduler.workloads.arrivals import BurstyArrivals
from hybrid_scheduler.workloads.streams import Streams

CLASSES: Final = (1, 3)
"""Fewest and most kinds of tasks."""
SHARE: Final = Range(0.01, 1.0)
"""Of the tasks that a class has, before the shares are scaled to sum 1."""
SIZE: Final = Range(10.0, 10_000.0)
INTENSITY: Final = Range(0.0, 1.0)
TASK_MEMORY: Final = Range(10.0, MEMORY.low, "a number of megabytes")
SPREAD: Final = Range(0.0, 0.5)
"""Of the logarithm of size and memory within a class."""
LOAD: Final = Range(0.1, 0.9)
BURST: Final = Range(1.0, 20.0)
"""Mean tasks of a burst."""
WITHIN: Final = Range(0.1, 1.0)
"""Mean gap within a burst, in mean gaps of all; 1 is a Poisson process."""
LENGTH: Final = 2 + CPUS[1] + 3 * GPUS[1] + 1 + 5 * CLASSES[1] + 3
"""How many numbers describe an instance."""


@dataclass(frozen=True)
class TaskClass:
    """Tasks that are alike.

    Attributes:
        share: Of all tasks.
        size: The median size.
        intensity: The compute intensity.
        memory: The median memory, in MB.
        spread: Standard deviation of the logarithm of size and memory.
    """

    share: float
    size: float
    intensity: float
    memory: float
    spread: float


@dataclass(frozen=True)
class Instance:
    """A node and a kind of workload for it.

    Attributes:
        world: The node.
        classes: The tasks.
        load: Share of the node's capacity for these tasks.
        arrivals: How they come.
    """

    world: World
    classes: tuple[TaskClass, ...]
    load: float
    arrivals: BurstyArrivals

    @classmethod
    def of(cls, genes: FloatArray, physics: Physics) -> Instance:
        """The instance that `LENGTH` numbers from 0 to 1 stand for; figures are rounded so that people can read them.

        Genes of devices and classes that the instance does not have change nothing.
        """
        read = _Reader(genes)
        cpus, gpus = read.whole(CPUS), read.whole(GPUS)
        cpu_speeds = [round(read.log(CPU_SPEED), 2) for _ in range(CPUS[1])]
        figures = [
            (round(read.log(GPU_SPEED), 2), round(read.log(BANDWIDTH), -2), round(read.log(MEMORY), -2))
            for _ in range(GPUS[1])
        ]
        devices = [Device(f"cpu_{i}", "cpu", speed=speed) for i, speed in enumerate(cpu_speeds[:cpus])]
        devices += [
            Device(f"gpu_{i}", "gpu", speed=speed, bandwidth=bandwidth, memory_mb=memory)
            for i, (speed, bandwidth, memory) in enumerate(figures[:gpus])
        ]
        kinds = read.whole(CLASSES)
        drawn = [
            (
                read.log(SHARE),
                round(read.log(SIZE), 1),
                round(read.linear(INTENSITY), 3),
                round(read.log(TASK_MEMORY), 1),
                round(read.linear(SPREAD), 3),
            )
            for _ in range(CLASSES[1])
        ][:kinds]
        whole = sum(share for share, *_ in drawn)
        classes = tuple(TaskClass(share / whole, *features) for share, *features in drawn)
        load, burst, within = round(read.linear(LOAD), 3), read.log(BURST), read.log(WITHIN)
        arrivals = BurstyArrivals(round(within, 3), round(1 / burst, 3))
        return cls(World(ClusterSpec(tuple(devices)), physics), classes, load, arrivals)

    def scenario(self, seed: int, tasks: int, warmup: int) -> Scenario:
        """So many tasks of this kind, drawn from a seed, for the node."""
        return Scenario(RecordedTasks(self._tasks(Streams(seed), tasks)), self.world, seed=seed, warmup=warmup)

    def words(self) -> str:
        """The instance in words."""
        kinds = [
            f"{each.share:.0%} of size {each.size:,.0f}, intensity {each.intensity:.2f}, {each.memory:,.0f} MB"
            for each in self.classes
        ]
        gap = "" if self.arrivals.within == 1.0 else f", gaps within one {self.arrivals.within:.2f} of the mean"
        bursts = f"in bursts of {1 / self.arrivals.stop:.1f} tasks{gap}"
        return f"{_devices(self.world)}; load {self.load:.2f}, {bursts}; tasks: {'; '.join(kinds)}"

    def _tasks(self, streams: Streams, count: int) -> TaskBatch:
        shares = np.array([each.share for each in self.classes])
        drawn = np.searchsorted(np.cumsum(shares), streams.of("class").random(count))
        kind = np.minimum(drawn, len(shares) - 1)
        size, intensity, memory, spread = (
            np.array([getattr(each, name) for each in self.classes])[kind]
            for name in ("size", "intensity", "memory", "spread")
        )
        size, memory = (
            np.round(np.clip(middle * np.exp(spread * streams.of(name).standard_normal(count)), span.low, span.high), 1)
            for name, middle, span in (("size", size, SIZE), ("memory", memory, TASK_MEMORY))
        )
        gaps = self.arrivals.gaps(streams, count)
        tasks = TaskBatch.from_columns(size, intensity, memory, arrival_time=np.cumsum(gaps) - gaps[0])
        rate = self.load * RecordedTasks(tasks).capacity(self.world)
        # Microseconds and tenths keep the trace short; what is raced is what the trace says.
        return tasks.with_arrivals(np.round(RecordedTasks(tasks).at(rate, 0).arrival_time, 6))


class _Reader:
    """Takes one gene after the other."""

    def __init__(self, genes: FloatArray) -> None:
        self._genes = iter(genes.tolist())

    def linear(self, span: Range) -> float:
        return float(span.low + next(self._genes) * (span.high - span.low))

    def log(self, span: Range) -> float:
        return math.exp(self.linear(Range(math.log(span.low), math.log(span.high))))

    def whole(self, ends: tuple[int, int]) -> int:
        low, high = ends
        return min(high, low + int(next(self._genes) * (high - low + 1)))


def _devices(world: World) -> str:
    devices = world.cluster.devices
    kinds = Counter(device.kind for device in devices)
    words = []
    for kind, count in kinds.items():
        speeds = sorted(device.speed for device in devices if device.kind == kind)
        span = f"{speeds[0]:g}" if speeds[0] == speeds[-1] else f"{speeds[0]:g} to {speeds[-1]:g}"
        words.append(f"{count} {kind.upper()}{'s' if count > 1 else ''} of speed {span}")
    return " and ".join(words)
