"""Random nodes: what a policy that claims to fit any node is trained on and, with other seeds, judged by."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hybrid_scheduler.model.ranges import Range
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.world import World

CPUS: Final = (1, 2)
"""Fewest and most CPUs of a node."""
GPUS: Final = (1, 8)
CPU_SPEED: Final = Range(0.5, 2.0)
GPU_SPEED: Final = Range(0.5, 4.0)
BANDWIDTH: Final = Range(4_000.0, 32_000.0, "a number of MB/s")
MEMORY: Final = Range(4_000.0, 24_000.0, "a number of megabytes")


def random_world(seed: int) -> World:
    """One node with default physics; numbers of devices are drawn uniformly, their figures log-uniformly.

    Args:
        seed: Decides the node; the same seed is the same node everywhere.
    """
    rng = np.random.default_rng([seed, *b"node"])
    cpus, gpus = (int(rng.integers(low, high + 1)) for low, high in (CPUS, GPUS))
    devices = [Device(f"cpu_{i}", "cpu", speed=_drawn(rng, CPU_SPEED)) for i in range(cpus)]
    for i in range(gpus):
        speed, bandwidth, memory = (_drawn(rng, span) for span in (GPU_SPEED, BANDWIDTH, MEMORY))
        devices.append(Device(f"gpu_{i}", "gpu", speed=speed, bandwidth=bandwidth, memory_mb=memory))
    return World(ClusterSpec(tuple(devices)))


def _drawn(rng: np.random.Generator, span: Range) -> float:
    return float(math.exp(rng.uniform(math.log(span.low), math.log(span.high))))
