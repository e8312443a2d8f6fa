"""Where the live race's tasks come from: an endless preset, or a trace over and over, at a rate that can change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import Dependency, FloatArray, TaskBatch
from hybrid_scheduler.scenario.sources import GraphTasks, KernelTasks, PresetTasks, Source
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.graphs.stream import draw_graphs, joined
from hybrid_scheduler.workloads.kernel_preset import KernelDrawing

BLOCK = 4096


@dataclass(frozen=True)
class Arrivals:
    """Tasks that have arrived, and by their ids the tasks they must wait for: ids, or pairs of an id and megabytes."""

    tasks: TaskBatch
    parents: dict[int, tuple[Dependency, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Block:
    """Some consecutive tasks: their gaps are in mean gaps, their parents are positions in the block."""

    tasks: TaskBatch
    gaps: FloatArray


class LiveSource:
    """Hands out tasks in order of arrival.

    Args:
        source: Where they come from; recorded ones are repeated without an end.
        seed: Of the drawing.
        rate: Mean tasks per simulated second.
        start: The first task arrives after this time.
    """

    def __init__(self, source: Source, seed: int, rate: float, *, start: float = 0.0) -> None:
        self._blocks = _blocks(source, seed)
        self._block, self._used = next(self._blocks), 0
        self._ids = np.zeros(len(self._block.gaps), dtype=np.int64)
        self._schedule(start, rate)

    def _schedule(self, start: float, rate: float) -> None:
        """Arrivals of what is left of the block. All at once: a sum in pieces would depend on how it is cut."""
        self.rate = rate
        self._last = start
        self._arrivals = start + np.cumsum(self._block.gaps[self._used :]) / rate

    def until(self, time: float, most: int, first_id: int) -> Arrivals | None:
        """What arrives up to a time, at most so many tasks, numbered from `first_id`; None when nothing does."""
        taken = min(most, int(np.searchsorted(self._arrivals, time, side="right")))
        if taken == 0:
            return None
        tasks, rows = self._block.tasks, slice(self._used, self._used + taken)
        ids = np.arange(first_id, first_id + taken, dtype=np.int64)
        self._ids[rows] = ids
        batch = TaskBatch.from_columns(
            tasks.size[rows],
            tasks.compute_intensity[rows],
            tasks.memory_required[rows],
            task_id=ids,
            arrival_time=self._arrivals[:taken],
            duration_estimate=tasks.duration_estimate[rows],
            kind=[tasks.kinds[index] for index in tasks.kind_index[rows]],
            width=tasks.width[rows] if len(tasks.width) else None,
        )
        arrived = Arrivals(batch, self._parents(rows))
        self._last, self._arrivals = float(self._arrivals[taken - 1]), self._arrivals[taken:]
        self._used += taken
        if self._used == len(self._block.gaps):
            self._block, self._used = next(self._blocks), 0
            self._schedule(self._last, self.rate)
        return arrived

    def next_arrival(self) -> float:
        """When the next task arrives."""
        return float(self._arrivals[0])

    def go_on_from(self, time: float) -> None:
        """Have the next task arrive its whole gap after a time: the stream stood still until then."""
        self._schedule(time, self.rate)

    def change_rate(self, rate: float, now: float) -> None:
        """Go on at another rate from now on: what is left of the present gap shrinks or grows with it."""
        passed = min(max(now - self._last, 0.0), self.next_arrival() - self._last)
        self._schedule(now - passed * self.rate / rate, rate)

    def _parents(self, rows: slice) -> dict[int, tuple[Dependency, ...]]:
        """The parents of these tasks; they came before, which is checked when the trace is opened."""
        tasks = self._block.tasks
        if not tasks.has_dependencies:
            return {}
        parent_ids: dict[int, tuple[Dependency, ...]] = {}
        for row in range(rows.start, rows.stop):
            parents = tasks.parents[tasks.parent_start[row] : tasks.parent_start[row + 1]]
            if len(parents):
                named, data = self._ids[parents].tolist(), tasks.dependency_mb_of(row)
                parent_ids[int(self._ids[row])] = tuple(zip(named, data, strict=True)) if data else tuple(named)
        return parent_ids


def _blocks(source: Source, seed: int) -> Iterator[_Block]:
    if isinstance(source, GraphTasks):
        return _graphs(source, seed)
    if isinstance(source, KernelTasks):
        return _kernels(source, seed)
    return _drawn(source, seed) if isinstance(source, PresetTasks) else _repeated(source.tasks)


def _graphs(source: GraphTasks, seed: int) -> Iterator[_Block]:
    """One graph after the other; its tasks come together, after a gap that is longer by their number."""
    for gap, graph in draw_graphs(source.graph, seed):
        gaps = np.zeros(len(graph))
        gaps[0] = gap * len(graph)
        yield _Block(joined([graph], np.zeros(1)), gaps)


def _drawn(source: PresetTasks, seed: int) -> Iterator[_Block]:
    """The tasks `WorkloadGenerator(seed)` draws of a preset, in blocks."""
    synthesis = WorkloadGenerator(seed).synthesis(source.preset, **source.ranges)
    clock = 0.0
    while True:
        block = synthesis.take(BLOCK)
        tasks = TaskBatch.from_columns(
            block.size, block.compute_intensity, block.memory_required, arrival_time=block.arrival_time
        )
        yield _Block(tasks, np.diff(block.arrival_time, prepend=clock))
        clock = float(block.arrival_time[-1])


def _kernels(source: KernelTasks, seed: int) -> Iterator[_Block]:
    """The tasks a preset of kernels draws, in blocks."""
    drawing, clock = KernelDrawing(source.kernels, seed), 0.0
    while True:
        tasks = drawing.take(BLOCK)
        yield _Block(tasks, np.diff(tasks.arrival_time, prepend=clock))
        clock = float(tasks.arrival_time[-1])


def _repeated(trace: TaskBatch) -> Iterator[_Block]:
    span = float(trace.arrival_time[-1] - trace.arrival_time[0]) if len(trace) else 0.0
    if span <= 0:
        raise InvalidInputError("a trace for the live race needs at least two tasks that arrive at different times")
    _refuse_late_parents(trace)
    mean = span / (len(trace) - 1)
    gaps = np.diff(trace.arrival_time, prepend=trace.arrival_time[0] - mean) / mean
    while True:
        yield _Block(trace, gaps)


def _refuse_late_parents(trace: TaskBatch) -> None:
    """Live, a task can wait only for what has arrived."""
    child = np.repeat(np.arange(len(trace)), np.diff(trace.parent_start))
    late = np.flatnonzero(trace.parents >= child)
    if len(late):
        task, parent = trace.task_id[child[late[0]]], trace.task_id[trace.parents[late[0]]]
        raise InvalidInputError(
            f"task {task} waits for task {parent}, which arrives after it; in the live race parents come first: change "
            f"the arrival_time of one (at equal times, the lower id comes first)"
        )
