"""`WorkloadGenerator`: synthetic workloads from a seed, whole or as a stream, and the last one's figures and file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.model import InvalidInputError, Task, TaskBatch
from hybrid_scheduler.workloads.csv_trace import read_csv, task_columns, write_csv
from hybrid_scheduler.workloads.graphs.base import GraphPreset
from hybrid_scheduler.workloads.graphs.stream import graph_workload, stream_tasks
from hybrid_scheduler.workloads.kernel_preset import KernelPreset
from hybrid_scheduler.workloads.presets import Preset, WorkloadPreset, find_preset, find_workload
from hybrid_scheduler.workloads.shapes import Range
from hybrid_scheduler.workloads.synthesis import Block, Synthesis, WorkloadSpec

if TYPE_CHECKING:
    import pandas as pd

_BATCH_BLOCK = 65_536
_STREAM_BLOCK = 4096
_DEFAULT_RANGES: tuple[Range, Range, Range] = ((100, 5000), (0.1, 1.0), (10, 500))


class _Load:
    """`WorkloadGenerator.load`: on an object it fills that one, on the class it makes a new one."""

    def __get__(
        self, generator: WorkloadGenerator | None, owner: type[WorkloadGenerator]
    ) -> Callable[[str | Path], WorkloadGenerator]:
        return (owner() if generator is None else generator).read


class WorkloadGenerator:
    """Draws workloads. A workload depends on the seed and the arguments alone: asked twice, it is the same.

    A shorter workload is the beginning of a longer one (except where a drift spans the whole workload).

    Args:
        seed: A whole number, at least 0.
    """

    load = _Load()

    def __init__(self, seed: int = 0) -> None:
        if not (isinstance(seed, int | np.integer) and seed >= 0):
            raise InvalidInputError(f"seed is {seed!r}, but it must be a whole number, at least 0")
        self.seed = int(seed)
        self._last: TaskBatch | None = None

    def generate_workload(
        self,
        num_tasks: int = 1000,
        task_size_range: Range | None = _DEFAULT_RANGES[0],
        compute_intensity_range: Range | None = _DEFAULT_RANGES[1],
        memory_range: Range | None = _DEFAULT_RANGES[2],
        arrival_rate: float = 100.0,
        preset: str | WorkloadPreset = "mixed",
        dependency_prob: float = 0.0,
        max_dependencies: int = 3,
    ) -> TaskBatch:
        """The `mixed` shapes mapped linearly onto the ranges given, so that every value lies in them.

        None for a range is the preset's own. With another preset than `mixed`, so is a range left at its default.
        The other arguments are those of `generate`.
        """
        ranges = (task_size_range, compute_intensity_range, memory_range)
        if preset != "mixed":
            size, intensity, memory = (
                None if given == default else given for given, default in zip(ranges, _DEFAULT_RANGES, strict=True)
            )
        else:
            size, intensity, memory = ranges
        return self.generate(
            preset,
            num_tasks,
            arrival_rate,
            size_range=size,
            intensity_range=intensity,
            memory_range=memory,
            dependency_prob=dependency_prob,
            max_dependencies=max_dependencies,
        )

    def generate(
        self,
        preset: str | WorkloadPreset = "mixed",
        num_tasks: int = 1000,
        arrival_rate: float = 100.0,
        *,
        size_range: Range | None = None,
        intensity_range: Range | None = None,
        memory_range: Range | None = None,
        dependency_prob: float = 0.0,
        max_dependencies: int = 3,
    ) -> TaskBatch:
        """A whole workload.

        Args:
            preset: Name of a preset (`drift:A:B` drifts between two), or one made by hand. One of graphs, such as
                `cholesky` or `cholesky:tiles=10`, gives whole graphs, the first at 0; it has no ranges, nor has
                `kernels` or `kernels:kinds=matmul+sort,sizes=100-2000`.
            num_tasks: From 1 to 10^8; of graphs at least so many.
            arrival_rate: Mean tasks per second.
            size_range: Lowest and highest size to map the preset's own range onto; None keeps the preset's.
            intensity_range: The same for intensity.
            memory_range: The same for memory, in MB.
            dependency_prob: Probability that a task has parents.
            max_dependencies: It then has 1 to this many, among the 100 tasks before it.

        Raises:
            InvalidInputError: An argument breaks its rule.
        """
        ranges = size_range, intensity_range, memory_range
        spec = WorkloadSpec(find_workload(preset), num_tasks, arrival_rate, ranges, dependency_prob, max_dependencies)
        if isinstance(spec.preset, GraphPreset):
            self._last = graph_workload(spec.preset, self.seed, num_tasks, arrival_rate)
            return self._last
        if isinstance(spec.preset, KernelPreset):
            self._last = spec.preset.generate(self.seed, num_tasks, arrival_rate)
            return self._last
        synthesis = Synthesis(spec, self.seed)
        blocks = [synthesis.take(min(_BATCH_BLOCK, num_tasks - i)) for i in range(0, num_tasks, _BATCH_BLOCK)]
        self._last = _whole(Block(*map(np.concatenate, zip(*blocks, strict=True))))
        return self._last

    def stream(
        self,
        preset: str | WorkloadPreset = "mixed",
        arrival_rate: float = 100.0,
        num_tasks: int | None = None,
        *,
        size_range: Range | None = None,
        intensity_range: Range | None = None,
        memory_range: Range | None = None,
        dependency_prob: float = 0.0,
        max_dependencies: int = 3,
    ) -> Iterator[Task]:
        """The tasks of `generate`, bit for bit, one after the other; without `num_tasks` it never ends.

        Holds a few thousand tasks at a time, whatever the length. The arguments are those of `generate`, and are
        checked before the first task is asked for.
        """
        ranges = size_range, intensity_range, memory_range
        spec = WorkloadSpec(find_workload(preset), num_tasks, arrival_rate, ranges, dependency_prob, max_dependencies)
        if isinstance(spec.preset, GraphPreset):
            return stream_tasks(spec.preset, self.seed, num_tasks, arrival_rate)
        if isinstance(spec.preset, KernelPreset):
            return spec.preset.stream(self.seed, num_tasks, arrival_rate)
        return _tasks(Synthesis(spec, self.seed), num_tasks)

    def synthesis(
        self,
        preset: str | Preset,
        *,
        size_range: Range | None = None,
        intensity_range: Range | None = None,
        memory_range: Range | None = None,
    ) -> Synthesis:
        """The endless drawing of a preset at one task per second, to be taken in blocks; ranges as for `generate`."""
        ranges = size_range, intensity_range, memory_range
        return Synthesis(WorkloadSpec(find_preset(preset), None, 1.0, ranges, 0.0, 1), self.seed)

    @property
    def workload(self) -> TaskBatch:
        """The workload generated or loaded last."""
        if self._last is None:
            raise InvalidInputError("there is no workload yet: call generate_workload, generate or load first")
        return self._last

    def get_statistics(self) -> dict[str, float | int | None]:
        """Figures of the last workload; `arrival_rate` is the observed one, None when all tasks arrive at once."""
        return statistics(self.workload)

    def to_dataframe(self) -> pd.DataFrame:
        """The last workload as a pandas table, one row per task, `dependencies` as lists of ids.

        `task_size` is `size` under its earlier name.
        """
        import pandas as pd  # slow to import, and only this method needs it

        table = pd.DataFrame(task_columns(self.workload))
        table.insert(2, "task_size", table["size"])
        return table

    def save_workload(self, path: str | Path) -> None:
        """Write the last workload as CSV (compressed if the name ends in `.gz`); `load` gives back the same bits."""
        write_csv(path, self.workload)

    def read(self, path: str | Path) -> WorkloadGenerator:
        """Read a CSV trace and make it the last workload; returns the generator itself.

        What `load` does on an object; ``WorkloadGenerator.load(path)`` makes a new generator.
        """
        self._last = read_csv(path).tasks
        return self


def statistics(tasks: TaskBatch) -> dict[str, float | int | None]:
    """Figures of a workload; `arrival_rate` is the observed one, None when all tasks arrive at once."""
    span = float(tasks.arrival_time[-1] - tasks.arrival_time[0])
    return {
        "num_tasks": len(tasks),
        "avg_size": float(tasks.size.mean()),
        "min_size": float(tasks.size.min()),
        "max_size": float(tasks.size.max()),
        "avg_intensity": float(tasks.compute_intensity.mean()),
        "avg_memory": float(tasks.memory_required.mean()),
        "avg_duration": float(tasks.duration_estimate.mean()),
        "total_duration": float(tasks.duration_estimate.sum()),
        "arrival_rate": (len(tasks) - 1) / span if span > 0 else None,
        "num_dependencies": len(tasks.parents),
    }


def _batch(block: Block, first: int = 0) -> TaskBatch:
    """The tasks of a block, without their parents."""
    return TaskBatch.from_columns(
        block.size,
        block.compute_intensity,
        block.memory_required,
        task_id=np.arange(first, first + len(block.size), dtype=np.int64),
        arrival_time=block.arrival_time,
    )


def _whole(block: Block) -> TaskBatch:
    """The block of a whole workload: the number of a task is its position too, so the parents need no look-up."""
    start = np.concatenate(([0], np.cumsum(block.parent_counts)))
    return replace(_batch(block), parent_start=start, parents=block.parents, _position={})


def _tasks(synthesis: Synthesis, num_tasks: int | None) -> Iterator[Task]:
    first = 0
    while num_tasks is None or first < num_tasks:
        block = synthesis.take(_STREAM_BLOCK if num_tasks is None else min(_STREAM_BLOCK, num_tasks - first))
        batch = _batch(block, first)
        rows = zip(
            batch.task_id.tolist(),
            batch.size.tolist(),
            batch.compute_intensity.tolist(),
            batch.memory_required.tolist(),
            batch.arrival_time.tolist(),
            batch.duration_estimate.tolist(),
            np.cumsum(block.parent_counts).tolist(),
            strict=True,
        )
        parents = block.parents.tolist()
        start = 0
        for task_id, size, intensity, memory, arrival, duration, end in rows:
            yield Task(task_id, size, intensity, memory, arrival, duration, tuple(parents[start:end]))
            start = end
        first += len(batch)
