"""What happened: pure data. Metrics, store, dashboard and learners all read outcomes; nobody recomputes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.decision import Decision, Part
from hybrid_scheduler.model.task import FloatArray, IntArray

ROUNDING = 1e-9
"""What the shares of a task may lack of 1."""


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One part as it ran.

    Attributes:
        device: The device's name.
        gpu_id: Number of the GPU among the node's GPUs, None for a CPU.
        share: Share of the task.
        start: Seconds.
        end: Seconds.
        expected: Seconds the scheduler expected when it placed the part.
        lost: True when the part was in vain: its device, or its sibling's, failed and the task started over.
    """

    device: str
    gpu_id: int | None
    share: float
    start: float
    end: float
    expected: float
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """One finished (or failed) task under one scheduler. Times in seconds, energy in joules, cost in dollars.

    `energy` is NaN where a real machine does not tell it; whoever sums energies then knows no sum either.

    `ready_time` is when it could be decided (after a device failed under it: the last time), `decided_time` when it
    was, or when it failed if nobody decided it: later than `ready_time` only where the scheduler lets tasks wait.
    `overtaken` counts the decisions, while it waited, on tasks that were ready after it.

    `queue_seconds` is the queue of every device at the decision: seconds, since the task was ready, after which the
    device could start it, as things stood; infinite while it is down. None where queues were not recorded or nothing
    was decided.
    """

    task_id: int
    arrival_time: float
    ready_time: float
    decided_time: float
    finish_time: float
    actual_time: float
    energy: float
    cost: float
    failed: bool
    overtaken: int
    parts: tuple[PartRecord, ...]
    queue_seconds: tuple[float, ...] | None = None

    @property
    def response_time(self) -> float:
        """From arrival to finish."""
        return self.finish_time - self.arrival_time

    @property
    def wait_time(self) -> float:
        """Response time less execution time."""
        return self.response_time - self.actual_time

    @property
    def gpu_fraction(self) -> float:
        """Share of the task that ran on GPUs."""
        return min(1.0, sum(p.share for p in self.parts if p.gpu_id is not None and not p.lost))

    @property
    def gpu_id(self) -> int | None:
        """Number of the GPU that took part, or None."""
        return next((p.gpu_id for p in self.parts if p.gpu_id is not None and not p.lost), None)

    def decision(self, names: Sequence[str]) -> Decision:
        """The decision as it was carried out; of several, because parts were lost, the last.

        Args:
            names: The devices' names, in row order.
        """
        counted = tuple(p for p in self.parts if not p.lost) or _last_attempt(self.parts)
        parts = tuple(Part(names.index(p.device), p.share, p.expected) for p in counted)
        return Decision(parts, tuple(p.gpu_id for p in counted))


def _last_attempt(parts: tuple[PartRecord, ...]) -> tuple[PartRecord, ...]:
    """The parts that were placed together last: the shares that add up to one task."""
    first, placed = len(parts), 0.0
    while first > 0 and placed < 1.0 - ROUNDING:
        first -= 1
        placed += parts[first].share
    return parts[first:]


@dataclass(frozen=True, eq=False)
class GraphFacts:
    """Beside the outcomes of tasks that depend on each other, one row per task: what graphs are measured by.

    Attributes:
        graph: Number of its graph; a graph is tasks that dependencies join.
        graph_tasks: How many tasks that graph has.
        path_seconds: The longest chain of least times, on an idle node, that ends with the task.
        alone_seconds: Its seconds on each device if all tasks ran there, infinite where it does not fit.
    """

    graph: IntArray
    graph_tasks: IntArray
    path_seconds: FloatArray
    alone_seconds: FloatArray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphFacts) and all(
            np.array_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]  # what is equal by content is no key

    def select(self, keep: NDArray[np.bool_]) -> GraphFacts:
        """The rows where `keep` is true."""
        return GraphFacts(self.graph[keep], self.graph_tasks[keep], self.path_seconds[keep], self.alone_seconds[keep])


@dataclass(frozen=True)
class OutcomeBatch(Sequence[Outcome]):
    """Many outcomes as columns: one row per task, and one row per part (`part_*`, in the order they were decided).

    `part_task` points into the task columns. A task that failed has no part that is not lost. `device_gpu_id` is the
    number of a device among the GPUs, -1 for a CPU. `queue_seconds` has one row per task and one column per device
    (see `Outcome`), rows of NaN for tasks that were never decided; it is None where queues were not recorded.
    `least_seconds` is the best time of each task on an idle node, any fraction allowed, None where nobody knows it.
    `graphs` is None where no task depends on another, or nobody knows their times.
    """

    task_id: IntArray
    arrival_time: FloatArray
    ready_time: FloatArray
    decided_time: FloatArray
    finish_time: FloatArray
    actual_time: FloatArray
    energy: FloatArray
    cost: FloatArray
    failed: NDArray[np.bool_]
    overtaken: IntArray
    part_task: IntArray
    part_device: IntArray
    part_share: FloatArray
    part_start: FloatArray
    part_end: FloatArray
    part_expected: FloatArray
    part_lost: NDArray[np.bool_]
    device_names: tuple[str, ...]
    device_gpu_id: IntArray
    device_idle_watts: FloatArray
    device_idle_price: FloatArray
    queue_seconds: FloatArray | None = None
    least_seconds: FloatArray | None = None
    graphs: GraphFacts | None = None

    @property
    def response_time(self) -> FloatArray:
        """From arrival to finish, per task."""
        return self.finish_time - self.arrival_time

    def select(self, keep: NDArray[np.bool_]) -> OutcomeBatch:
        """The outcomes where `keep` is true, with their parts."""
        if keep.all():
            return self
        position = np.cumsum(keep) - 1
        parts = keep[self.part_task]
        return OutcomeBatch(
            self.task_id[keep],
            self.arrival_time[keep],
            self.ready_time[keep],
            self.decided_time[keep],
            self.finish_time[keep],
            self.actual_time[keep],
            self.energy[keep],
            self.cost[keep],
            self.failed[keep],
            self.overtaken[keep],
            position[self.part_task[parts]],
            self.part_device[parts],
            self.part_share[parts],
            self.part_start[parts],
            self.part_end[parts],
            self.part_expected[parts],
            self.part_lost[parts],
            self.device_names,
            self.device_gpu_id,
            self.device_idle_watts,
            self.device_idle_price,
            None if self.queue_seconds is None else self.queue_seconds[keep],
            None if self.least_seconds is None else self.least_seconds[keep],
            None if self.graphs is None else self.graphs.select(keep),
        )

    def __len__(self) -> int:
        return len(self.task_id)

    @overload
    def __getitem__(self, position: int) -> Outcome: ...
    @overload
    def __getitem__(self, position: slice) -> list[Outcome]: ...
    def __getitem__(self, position: int | slice) -> Outcome | list[Outcome]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        i = range(len(self))[position]
        return self._row(i, np.flatnonzero(self.part_task == i))

    def __iter__(self) -> Iterator[Outcome]:
        by_task: list[list[int]] = [[] for _ in range(len(self))]
        for part, task in enumerate(self.part_task):
            by_task[task].append(part)
        return (self._row(i, by_task[i]) for i in range(len(self)))

    def _row(self, i: int, parts: Sequence[int] | IntArray) -> Outcome:
        return Outcome(
            int(self.task_id[i]),
            float(self.arrival_time[i]),
            float(self.ready_time[i]),
            float(self.decided_time[i]),
            float(self.finish_time[i]),
            float(self.actual_time[i]),
            float(self.energy[i]),
            float(self.cost[i]),
            bool(self.failed[i]),
            int(self.overtaken[i]),
            tuple(
                PartRecord(
                    self.device_names[self.part_device[p]],
                    gpu_id if (gpu_id := int(self.device_gpu_id[self.part_device[p]])) >= 0 else None,
                    float(self.part_share[p]),
                    float(self.part_start[p]),
                    float(self.part_end[p]),
                    float(self.part_expected[p]),
                    bool(self.part_lost[p]),
                )
                for p in parts
            ),
            self._queue(i),
        )

    def _queue(self, i: int) -> tuple[float, ...] | None:
        if self.queue_seconds is None or np.isnan(self.queue_seconds[i]).any():
            return None
        return tuple(self.queue_seconds[i].tolist())
