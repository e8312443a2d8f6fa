"""What the tasks of random graphs have in common: how long they take, and how much data goes along an edge."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.model import FloatArray
from hybrid_scheduler.model.task import sizes_of
from hybrid_scheduler.physics.device import PCIE_MB_PER_SECOND
from hybrid_scheduler.workloads.streams import Streams

MEAN_SECONDS = 0.005
"""Mean time of a task on a CPU of speed 1."""
SPREAD = 0.9
"""Times and data are uniform between 1 - SPREAD and 1 + SPREAD of their mean."""


def around_one(streams: Streams, name: str, count: int) -> FloatArray:
    """So many factors of mean 1."""
    return 1.0 + SPREAD * (2.0 * streams.of(name).random(count) - 1.0)


def draw_tasks(streams: Streams, count: int, work: FloatArray | float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Size and intensity of tasks whose CPU times are uniform around the mean and whose intensities are uniform.

    Args:
        streams: Where random numbers come from.
        count: How many.
        work: Factor on the mean time.
    """
    intensity = streams.of("graph intensity").random(count)
    seconds = MEAN_SECONDS * work * around_one(streams, "graph seconds", count)
    return sizes_of(np.asarray(seconds), intensity), intensity


def draw_data(streams: Streams, count: int, ccr: float) -> FloatArray:
    """Megabytes along so many edges: over a link of the usual speed they take `ccr` times a task's mean CPU time."""
    return ccr * MEAN_SECONDS * PCIE_MB_PER_SECOND * around_one(streams, "graph data", count)
