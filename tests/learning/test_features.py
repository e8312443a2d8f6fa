from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.features import FEATURE_NAMES, FEATURES, feature_matrix, write_features
from hybrid_scheduler.model import TaskBatch
from hybrid_scheduler.workloads import WorkloadGenerator


def test_the_five_features_of_a_batch() -> None:
    tasks = TaskBatch.from_columns(np.array([200.0]), np.array([0.5]), np.array([50.0]))
    assert FEATURE_NAMES == ("size", "intensity", "memory", "memory_per_size", "intensity_per_memory")
    assert feature_matrix(tasks).tolist() == [[200.0, 0.5, 50.0, 0.25, 0.01]]


def test_no_memory_still_has_finite_features() -> None:
    tasks = TaskBatch.from_columns(np.array([10.0]), np.array([0.4]), np.array([0.0]))
    assert feature_matrix(tasks).tolist() == [[10.0, 0.4, 0.0, 0.0, 0.4]]


def test_the_compiled_form_agrees_with_the_columns() -> None:
    tasks = WorkloadGenerator(3).generate("mixed", 50, 1.0)
    columns, row = feature_matrix(tasks), np.zeros(FEATURES)
    for i, task in enumerate(tasks):
        write_features(task.size, task.compute_intensity, task.memory_required, row)
        assert row.tolist() == columns[i].tolist()
