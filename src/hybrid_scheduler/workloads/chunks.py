"""Some tasks of a file at a time, as columns: what statistics of large files are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray
from hybrid_scheduler.workloads.recorded import Assumption, RecordedFile, TableFile

NO_IDS = np.zeros(0, dtype=np.int64)
NO_DATA = np.zeros(0)


@dataclass(frozen=True, slots=True)
class TaskChunk:
    """Consecutive tasks of a file.

    Attributes:
        figures: Numbers by name, one value per task: `size`, `duration_estimate`, `width`, ...
        arrival_time: When they arrive; None: all at once.
        task_id: Their ids; None: numbered from 0 in the order of the file.
        kinds: How many there are of each kind.
        child: Ids of tasks that wait, one for each dependency.
        parent: Ids of the tasks they wait for.
        derived: The columns the file does not have; the same in every chunk.
        assumed: What else had to be decided; the same in every chunk.
        megabytes: What each child gets from its parent, one for each dependency; empty when none are said.
    """

    figures: Mapping[str, FloatArray]
    arrival_time: FloatArray | None = None
    task_id: IntArray | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    child: IntArray = field(default_factory=lambda: NO_IDS)
    parent: IntArray = field(default_factory=lambda: NO_IDS)
    derived: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    megabytes: FloatArray = field(default_factory=lambda: NO_DATA)

    def __len__(self) -> int:
        return len(next(iter(self.figures.values())))


def chunk_of(file: RecordedFile) -> TaskChunk:
    """A whole file that was read."""
    tasks = file.tasks
    names = ("size", "compute_intensity", "memory_required", "duration_estimate")
    figures = {name: getattr(tasks, name) for name in names}
    if file.width is not None:
        figures["width"] = file.width.astype(np.float64)
    if isinstance(file, TableFile):
        figures |= {f"seconds on {name}": file.seconds[:, i] for i, name in enumerate(file.device_names)}
    elif file.requested_time is not None:
        figures["requested_time"] = file.requested_time
    count = np.bincount(tasks.kind_index, minlength=len(tasks.kinds))
    return TaskChunk(
        figures,
        tasks.arrival_time if tasks.arrival_time.any() else None,
        tasks.task_id,
        dict(zip(tasks.kinds, count.tolist(), strict=True)),
        np.repeat(tasks.task_id, np.diff(tasks.parent_start)),
        tasks.task_id[tasks.parents],
        file.derived,
        file.assumed,
        tasks.parent_mb,
    )
