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


@nb.njit(cache=True)
def write_features(size: float, intensity: float, memory: float, out: NDArray[Any]) -> None:
    """Write the features of one task into the first places of `out`."""
    out[0] = size
    out[1] = intensity
    out[2] = memory
    out[3] = memory / size
    out[4] = intensity / max(memory, LEAST_MEMORY)


def feature_columns(size: FloatArray, intensity: FloatArray, memory: FloatArray) -> FloatArray:
    """The features of many tasks, one row each, in the order of `FEATURE_NAMES`."""
    return np.column_stack([size, intensity, memory, memory / size, intensity / np.maximum(memory, LEAST_MEMORY)])


def feature_matrix(tasks: TaskBatch) -> FloatArray:
    """The features of a batch, one row per task, in the order of `FEATURE_NAMES`."""
    return feature_columns(tasks.size, tasks.compute_intensity, tasks.memory_required)
