"""What the oracle says about a task afterwards: how long it would have taken everywhere, and the best split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch


@dataclass(frozen=True, slots=True)
class Label:
    """One labelled task, on an idle node.

    Attributes:
        task: The task.
        seconds: Whole-task seconds on every device, in the order of the view's rows, as they really would have been.
        gpu_fraction: The best share for a GPU.
        optimal_seconds: Seconds with that share.
    """

    task: Task
    seconds: FloatArray
    gpu_fraction: float
    optimal_seconds: float


@dataclass(frozen=True)
class LabelBatch:
    """Many labelled tasks as columns; `seconds` has one row per task and one column per device."""

    tasks: TaskBatch
    seconds: FloatArray
    gpu_fraction: FloatArray
    optimal_seconds: FloatArray

    def __len__(self) -> int:
        return len(self.tasks)

    def row(self, position: int) -> Label:
        """The label of the task at this position."""
        return Label(
            self.tasks[position],
            self.seconds[position],
            float(self.gpu_fraction[position]),
            float(self.optimal_seconds[position]),
        )

    def __iter__(self) -> Iterator[Label]:
        return (self.row(i) for i in range(len(self)))
