"""Cost models: how long does this share of this task take on this device?

A model answers with two figures per task and device, in one array of shape (tasks, 2, devices): the seconds every part
pays whatever its share (`FIXED`) and the seconds that scale with the share (`SHARED`). A part takes
``FIXED + share * SHARED``, so ``time(f) >= f * time(1)`` holds for every model, which the lower bounds rely on.
Queues, splits, energy, the oracle and the bounds are written once, on top of this array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from hybrid_scheduler.compiled import hot
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import SECONDS
from hybrid_scheduler.model.task import FloatArray, TaskBatch
from hybrid_scheduler.model.task_columns import FIXED, SHARED
from hybrid_scheduler.physics.device import ClusterSpec

Speedup = Literal["linear", "amdahl"]
MAX_SPEEDUP = 4.0


def gpu_speedup(intensity: FloatArray, model: Speedup = "linear") -> FloatArray:
    """How much faster a GPU of speed 1 computes than a CPU of speed 1.

    `linear` is ``1 + 3 I``; `amdahl` is ``1 / ((1 - I) + I / 4)`` (Amdahl 1967, with a parallel part I on 4 lanes).
    """
    if model == "linear":
        return 1.0 + (MAX_SPEEDUP - 1.0) * intensity
    if model == "amdahl":
        return 1.0 / ((1.0 - intensity) + intensity / MAX_SPEEDUP)
    raise InvalidInputError(f"speedup is {model!r}, but it must be 'linear' or 'amdahl'")


class CostModel(Protocol):
    """The one question, asked for many tasks at once."""

    @property
    def moves_memory(self) -> bool:
        """Whether the times have the way of `memory_required` to a GPU in them; else they are of computing alone."""

    def times(self, tasks: TaskBatch, cluster: ClusterSpec) -> FloatArray:
        """`FIXED` and `SHARED` seconds of every task on every device: shape (tasks, 2, devices)."""
        ...


@dataclass(frozen=True, slots=True)
class FormulaCost:
    """The default physics: CPU ``d / speed``; GPU ``d / (speed * s(I)) + memory / bandwidth``, plus link latency."""

    speedup: Speedup = "linear"

    @property
    def moves_memory(self) -> bool:
        """See `CostModel.moves_memory`."""
        return True

    def times(self, tasks: TaskBatch, cluster: ClusterSpec) -> FloatArray:
        """See `CostModel.times`."""
        result = np.zeros((len(tasks), 2, len(cluster.devices)))
        gain = gpu_speedup(tasks.compute_intensity, self.speedup)
        for i, device in enumerate(cluster.devices):
            result[:, FIXED, i] = device.latency
            if device.kind == "cpu":
                result[:, SHARED, i] = tasks.duration_estimate / device.speed
            else:
                compute = tasks.duration_estimate / (device.speed * gain)
                result[:, SHARED, i] = compute + tasks.memory_required / device.bandwidth
        return result


@dataclass(frozen=True, slots=True)
class TableCost:
    """Explicit whole-task seconds per task and device: measured kernels, published matrices.

    Attributes:
        seconds: One row per task, one column per device.
        task_ids: The task of each row.
        device_names: The device of each column.
    """

    seconds: FloatArray
    task_ids: tuple[int, ...]
    device_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.seconds.shape != (len(self.task_ids), len(self.device_names)):
            raise InvalidInputError(
                f"the table has shape {self.seconds.shape}, but {len(self.task_ids)} tasks and "
                f"{len(self.device_names)} devices are named"
            )
        outside = SECONDS.first_outside(self.seconds.ravel())
        if outside is not None:
            row, column = divmod(outside, len(self.device_names))
            raise InvalidInputError(
                f"task {self.task_ids[row]} on {self.device_names[column]} takes {self.seconds[row, column]} s, "
                f"but a time must be {SECONDS}"
            )

    @property
    def moves_memory(self) -> bool:
        """See `CostModel.moves_memory`."""
        return False

    def times(self, tasks: TaskBatch, cluster: ClusterSpec) -> FloatArray:
        """See `CostModel.times`."""
        missing = [name for name in cluster.names if name not in self.device_names]
        if missing:
            raise InvalidInputError(
                f"the table has no column for device {missing[0]!r}; it has: {', '.join(self.device_names)}"
            )
        columns = [self.device_names.index(name) for name in cluster.names]
        position = {task: row for row, task in enumerate(self.task_ids)}
        try:
            rows = [position[int(task)] for task in tasks.task_id]
        except KeyError as error:
            raise InvalidInputError(f"the table has no row for task {error.args[0]}; add one") from error
        result = np.zeros((len(tasks), 2, len(columns)))
        result[:, SHARED, :] = self.seconds[np.ix_(rows, columns)]
        return result


@hot
def part_seconds(times: FloatArray, device: int, share: float, stretch: float) -> float:
    """Seconds a part runs: `times` holds the `FIXED` and `SHARED` rows of its task."""
    return (times[FIXED, device] + share * times[SHARED, device]) * stretch  # type: ignore[no-any-return]
