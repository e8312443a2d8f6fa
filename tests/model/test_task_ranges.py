"""One range for each figure of a task, wherever it comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch
from hybrid_scheduler.model.ranges import FORMULA_SIZES, SECONDS
from hybrid_scheduler.model.task import TASK_RANGES, cpu_base_duration

GOOD = {"size": 500.0, "compute_intensity": 0.5, "memory_required": 40.0, "arrival_time": 3.0}
OUTSIDE = [
    ("size", 0.0, "size is 0.0, but it must be a number from 0.002 to 1e+08 where the time follows"),
    ("size", 1e-30, "size is 1e-30"),
    ("size", 1e9, "size is 1000000000.0"),
    ("size", float("nan"), "size is nan"),
    ("compute_intensity", 1.1, "compute_intensity is 1.1, but it must be a number from 0 to 1"),
    ("memory_required", -1.0, "memory_required is -1.0, but it must be a number of megabytes from 0 to 1e+09"),
    ("memory_required", 2e9, "memory_required is 2000000000.0"),
    ("arrival_time", 1e11, "arrival_time is 100000000000.0, but it must be a number of seconds from 0 to 1e+10"),
    ("duration_estimate", 1e10, "duration_estimate is 10000000000.0, but it must be a number of seconds from 1e-09"),
]


@pytest.mark.parametrize(("name", "value", "message"), OUTSIDE)
def test_tasks_and_batches_refuse_the_same_values(name: str, value: float, message: str) -> None:
    figures: dict[str, Any] = GOOD | {name: value}
    with pytest.raises(InvalidInputError) as single:
        Task(7, **figures)
    columns: dict[str, Any] = {key: np.array([GOOD.get(key, 1.0), figure]) for key, figure in figures.items()}
    with pytest.raises(InvalidInputError) as batch:
        TaskBatch.from_columns(**columns, task_id=np.array([6, 7]))
    assert str(single.value).startswith(f"task 7: {message}")
    assert str(batch.value) == str(single.value)


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_the_ranges_are_legal_together(end: str) -> None:
    figures = {name: getattr(legal, end) for name, legal in TASK_RANGES.items()}
    columns: dict[str, Any] = {name: np.array([value]) for name, value in figures.items()}
    assert Task(0, **figures).size == TaskBatch.from_columns(**columns)[0].size


@pytest.mark.parametrize("intensity", [0.0, 1.0])
@pytest.mark.parametrize("size", [FORMULA_SIZES.low, FORMULA_SIZES.high])
def test_the_formula_keeps_its_sizes_near_the_range_of_seconds(size: float, intensity: float) -> None:
    assert SECONDS.low / 2 < cpu_base_duration(size, intensity) < SECONDS.high
    Task(0, size, intensity, 0.0)
