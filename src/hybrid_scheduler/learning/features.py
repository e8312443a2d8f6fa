"""The five features of a task that the forest learns from.

One definition in two forms: columns for a batch, and a compiled one for the task at hand inside a kernel.
"""

from __future__ import annotations

from typing import Any, Final

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.task import FloatArray, TaskBatch

FEATURE_NAMES: Final = ("size", "intensity", "memory", "memory_per_size", "intensity_per_memory")
FEATURES: Final = len(FEATURE_NAMES)
LEAST_MEMORY: Final = 1.0
"""Megabytes: less than this counts as this much where memory divides, so that tasks without any have a feature."""
LEAST_SIZE: Final = 1e-6
LARGEST: Final = 1e30
"""No feature is above this, so that none overflows the single precision in which trees compare."""


@nb.njit(cache=True)
def write_features(size: float, intensity: float, memory: float, out: NDArray[Any]) -> None:
    """Write the features of one task into the first places of `out`."""
    out[0] = min(size, LARGEST)
    out[1] = intensity
    out[2] = min(memory, LARGEST)
    out[3] = min(memory / max(size, LEAST_SIZE), LARGEST)
    out[4] = intensity / max(memory, LEAST_MEMORY)


def feature_columns(size: FloatArray, intensity: FloatArray, memory: FloatArray) -> FloatArray:
    """The features of many tasks, one row each, in the order of `FEATURE_NAMES`."""
    ratios = memory / np.maximum(size, LEAST_SIZE), intensity / np.maximum(memory, LEAST_MEMORY)
    return np.minimum(np.column_stack([size, intensity, memory, *ratios]), LARGEST)


def feature_matrix(tasks: TaskBatch) -> FloatArray:
    """The features of a batch, one row per task, in the order of `FEATURE_NAMES`."""
    return feature_columns(tasks.size, tasks.compute_intensity, tasks.memory_required)
