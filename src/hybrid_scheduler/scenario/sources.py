"""Where the tasks of a scenario come from: a preset of single tasks or of graphs, or a file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, TaskBatch, sizes_of
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.cost import CostModel
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.workloads.arrivals import PoissonArrivals
from hybrid_scheduler.workloads.capacity import SAMPLE_SEED, capacity, capacity_of_tasks
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from hybrid_scheduler.workloads.graphs.base import GraphPreset
from hybrid_scheduler.workloads.graphs.stream import graph_workload, graphs_for
from hybrid_scheduler.workloads.kernel_preset import KernelDrawing, KernelPreset
from hybrid_scheduler.workloads.presets import find_preset, find_workload
from hybrid_scheduler.workloads.readers.registry import read_workload
from hybrid_scheduler.workloads.recorded import Assumption, RecordedFile, TableFile
from hybrid_scheduler.workloads.shapes import FeatureRanges, Range
from hybrid_scheduler.workloads.streams import Streams
from hybrid_scheduler.workloads.synthesis import RATE_LIMITS

DEFAULT_PARENTS = 3
UNTIMED_RATE = 100.0
"""Tasks per second where arrivals mean nothing."""
REQUESTED = (
    "schedulers are told the time that users asked for, and a size that follows from it; tasks take their recorded time"
)
Estimates = Literal["requested", "nominal"]
"""What schedulers are told of the times of a trace: what its users asked for, or what the cost model says."""
RANGES = ("size_range", "intensity_range", "memory_range")
FIXED_SAMPLE = 20_000
"""Tasks of the fixed sample of graphs, or of kernels, whose capacity counts."""


@dataclass(frozen=True)
class PresetTasks:
    """Tasks drawn from a preset.

    Attributes:
        preset: Its name.
        size_range: Lowest and highest size to map the preset's sizes onto; None keeps the preset's own.
        intensity_range: The same for intensity.
        memory_range: The same for memory, in MB.
        dependency_prob: Probability that a task waits for earlier ones.
        max_dependencies: Most parents of such a task.
    """

    preset: str = "mixed"
    size_range: Range | None = None
    intensity_range: Range | None = None
    memory_range: Range | None = None
    dependency_prob: float = 0.0
    max_dependencies: int = DEFAULT_PARENTS

    def __post_init__(self) -> None:
        for name, own in zip(RANGES, find_preset(self.preset).shapes.ranges, strict=True):
            wanted = getattr(self, name)
            if wanted is not None:
                object.__setattr__(self, name, None if tuple(wanted) == own else tuple(wanted))

    @property
    def ranges(self) -> FeatureRanges:
        """The ranges by name."""
        return {
            "size_range": self.size_range,
            "intensity_range": self.intensity_range,
            "memory_range": self.memory_range,
        }

    def capacity(self, world: World) -> float:
        """Tasks per second that a node can do at most."""
        return capacity(self.preset, world, **self.ranges)

    def draw(self, seed: int, count: int, rate: float | None) -> TaskBatch:
        """So many tasks; without a rate their arrivals mean nothing."""
        return WorkloadGenerator(seed).generate(
            self.preset,
            count,
            UNTIMED_RATE if rate is None else rate,
            **self.ranges,
            dependency_prob=self.dependency_prob,
            max_dependencies=self.max_dependencies,
        )

    def facts(self) -> dict[str, object]:
        """For a document: what is not as the preset has it."""
        ranges = {name: getattr(self, name) for name in RANGES}
        facts: dict[str, object] = {name: list(wanted) for name, wanted in ranges.items() if wanted is not None}
        if self.dependency_prob:
            facts |= {"dependency_prob": self.dependency_prob, "max_dependencies": self.max_dependencies}
        return facts


@dataclass(frozen=True)
class GraphTasks:
    """Whole graphs of one kind, one after the other.

    Attributes:
        preset: Its name and parameters, e.g. `cholesky:tiles=10`.
    """

    preset: str

    @property
    def graph(self) -> GraphPreset:
        """The kind of graph."""
        found = find_workload(self.preset)
        if not isinstance(found, GraphPreset):
            raise InvalidInputError(f"preset {self.preset!r} makes single tasks; here it must be one of whole graphs")
        return found

    def capacity(self, world: World) -> float:
        """Tasks per second that a node can do at most, whatever waits for whatever."""
        return capacity_of_tasks(graph_workload(self.graph, SAMPLE_SEED, FIXED_SAMPLE, UNTIMED_RATE), world)

    def graphs(self, count: int | None) -> int:
        """How many graphs have at least so many tasks; one when nobody says how many."""
        return 1 if count is None else graphs_for(self.graph, count)

    def draw(self, seed: int, count: int, rate: float | None) -> TaskBatch:
        """At least so many tasks; without a rate their arrivals mean nothing."""
        return WorkloadGenerator(seed).generate(self.graph, count, UNTIMED_RATE if rate is None else rate)

    def facts(self) -> dict[str, object]:
        """For a document: the parameters of a graph and its tasks."""
        return {"graph": {**self.graph.parameters, "tasks": self.graph.tasks}}


@dataclass(frozen=True)
class KernelTasks:
    """Kernels drawn from a preset.

    Attributes:
        kernels: Kinds and sizes.
    """

    kernels: KernelPreset = KernelPreset()

    @classmethod
    def known_to(cls, kernels: KernelPreset, cost: CostModel) -> KernelTasks:
        """Kernels of a node; on a calibrated one, where nobody names kinds or sizes, those that were measured."""
        if isinstance(cost, CalibratedCost):
            kinds = kernels.kinds if "kinds" in kernels.given else cost.kinds
            low, high = cost.size_range(kinds)
            sizes = kernels.sizes if "sizes" in kernels.given else (float(math.ceil(low)), float(math.floor(high)))
            return cls(replace(kernels, kinds=kinds, sizes=sizes))
        return cls(kernels)

    @property
    def preset(self) -> str:
        """Its name and parameters."""
        return self.kernels.text

    def capacity(self, world: World) -> float:
        """Tasks per second that a node can do at most."""
        return capacity_of_tasks(KernelDrawing(self.kernels, SAMPLE_SEED).take(FIXED_SAMPLE), world)

    def draw(self, seed: int, count: int, rate: float | None) -> TaskBatch:
        """So many tasks; without a rate their arrivals mean nothing."""
        return WorkloadGenerator(seed).generate(self.kernels, count, UNTIMED_RATE if rate is None else rate)

    def facts(self) -> dict[str, object]:
        """For a document: kinds and sizes."""
        return {"kernels": {"kinds": list(self.kernels.kinds), "sizes": list(self.kernels.sizes)}}


@dataclass(frozen=True, eq=False)
class RecordedTasks:
    """Tasks of a file, or any given ones.

    Attributes:
        tasks: The tasks.
        name: Where they come from.
        kind: `trace`, or `table` for tasks that have times only on the devices of their file.
        format: The format of the file; None: the tasks come from none.
        derived: The columns the file does not have.
        assumed: What else the reader of the file had to decide.
        requested_time: What users said their tasks would take, NaN where unknown: schedulers are told this, and not the
            time that was recorded (`estimated`). None: they are told the recorded time.
    """

    tasks: TaskBatch
    name: str = "given tasks"
    kind: Literal["trace", "table"] = "trace"
    format: str | None = None
    derived: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    requested_time: FloatArray | None = None
    _capacity: dict[int, tuple[World, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, path: str | Path, seed: int, format: str | None = None) -> RecordedTasks:
        """The tasks of a trace in any registered format.

        Args:
            path: The file.
            seed: Of what is drawn where the file says nothing.
            format: The format; None: recognised by content.

        Raises:
            InvalidInputError: Something is wrong in the file, or it has times per device, which need a node of its own.
        """
        name, file = read_workload(path, seed, format)
        if isinstance(file, TableFile):
            raise InvalidInputError(
                f"{path} ({name}) has times for its own devices only, which `hms compare` can race; give a trace here"
            )
        return cls.of(file, path, name)

    @classmethod
    def of(
        cls, file: RecordedFile, path: str | Path, format: str, estimates: Estimates | None = "nominal"
    ) -> RecordedTasks:
        """The tasks of a file that was read from this path.

        Args:
            file: What was read.
            path: From where.
            format: Its format.
            estimates: Whether schedulers are told what users asked for or what was recorded; None: the former where the
                file has it.

        Raises:
            InvalidInputError: The file does not say what users asked for.
        """
        if isinstance(file, TableFile):
            return cls(file.tasks, str(path), "table", format, file.derived, file.assumed)
        requested = None if estimates == "nominal" else file.requested_time
        if estimates == "requested" and requested is None:
            raise InvalidInputError(f"{path} does not say what users asked for, so estimates cannot be 'requested'")
        assumed = file.assumed
        if requested is not None:
            known = int((~np.isnan(requested)).sum())
            assumed = (*assumed, Assumption("estimates_requested", REQUESTED, tasks=known))
        return cls(file.tasks, str(path), "trace", format, file.derived, assumed, requested)

    def estimated(self, tasks: TaskBatch) -> TaskBatch:
        """These tasks of the file as schedulers are told of them: estimate and size follow from what users asked for.

        What they really take stays what was recorded (`TaskBatch.time_factor`).
        """
        if self.requested_time is None:
            return tasks
        recorded = tasks.duration_estimate
        told = np.where(np.isnan(self.requested_time), recorded, self.requested_time)
        size = np.where(told == recorded, tasks.size, sizes_of(told, tasks.compute_intensity))
        return replace(tasks, size=size, duration_estimate=told, time_factor=recorded / told, _position={})

    @property
    def notes(self) -> list[Assumption]:
        """What the file does not say and how that was filled, for people and documents."""
        derived = Assumption("derived", f"{self.name} has no {', '.join(self.derived)}: derived")
        return [*([derived] if self.derived else []), *self.assumed]

    def facts(self) -> dict[str, object]:
        """For a document: the format of the file and what had to be assumed."""
        return {} if self.format is None else {"format": self.format, "assumed": [a.to_json() for a in self.notes]}

    def capacity(self, world: World) -> float:
        """Tasks per second of this kind that a node can do at most."""
        if id(world) not in self._capacity:
            self._capacity[id(world)] = world, capacity_of_tasks(self.tasks, world)
        return self._capacity[id(world)][1]

    def first(self, count: int) -> RecordedTasks:
        """The tasks that arrive first.

        Raises:
            InvalidInputError: There are fewer, or one waits for a task that would be left out.
        """
        tasks = self.tasks
        if count > len(tasks):
            raise InvalidInputError(f"{count} tasks are wanted, but {self.name} has only {len(tasks)} tasks")
        inside = slice(0, tasks.parent_start[count])
        late = np.flatnonzero(tasks.parents[inside] >= count)
        if len(late):
            child = int(np.searchsorted(tasks.parent_start, late[0], side="right")) - 1
            raise InvalidInputError(
                f"the first {count} tasks of {self.name} hold task {tasks.task_id[child]} but not task "
                f"{tasks.task_id[tasks.parents[late[0]]]}, which it waits for; keep more tasks"
            )
        columns = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate")
        head = {name: getattr(tasks, name)[:count] for name in (*columns, "kind_index", "width")}
        requested = None if self.requested_time is None else self.requested_time[:count]
        start, parents = tasks.parent_start[: count + 1], tasks.parents[inside]
        few = replace(
            tasks, **head, parent_start=start, parents=parents, parent_mb=tasks.parent_mb[inside], _position={}
        )
        return replace(self, tasks=few, requested_time=requested, _capacity={})

    def at(self, rate: float, seed: int) -> TaskBatch:
        """The same tasks with all gaps stretched alike; Poisson arrivals where there were no gaps.

        Raises:
            InvalidInputError: There can be no such rate.
        """
        low, high = RATE_LIMITS
        if not low <= rate <= high:
            raise InvalidInputError(
                f"the arrival rate is {rate:g}, but it must be from {low:g} to {high:g} tasks per second"
            )
        tasks, observed = self.tasks, observed_rate(self.tasks)
        if observed is None:
            gaps = PoissonArrivals().gaps(Streams(seed), len(tasks))
            return tasks.with_arrivals(np.cumsum(gaps) / rate)
        first = tasks.arrival_time[0]
        return tasks.with_arrivals(first + (tasks.arrival_time - first) * (observed / rate))


Source = PresetTasks | GraphTasks | KernelTasks | RecordedTasks


def observed_rate(tasks: TaskBatch) -> float | None:
    """Tasks per second between the first and the last; None when all arrive at once."""
    span = float(tasks.arrival_time[-1] - tasks.arrival_time[0])
    return (len(tasks) - 1) / span if span > 0 else None


def drawn_again(tasks: TaskBatch, count: int, seed: int) -> TaskBatch:
    """So many tasks drawn from these at random, each with the gap before it; dependencies are left out."""
    rows = np.random.default_rng(seed).integers(0, len(tasks), count)
    gaps = np.diff(tasks.arrival_time, prepend=tasks.arrival_time[0])
    drawn = TaskBatch.from_columns(
        tasks.size[rows],
        tasks.compute_intensity[rows],
        tasks.memory_required[rows],
        arrival_time=np.cumsum(gaps[rows]),
        duration_estimate=tasks.duration_estimate[rows],
        kind=[tasks.kinds[tasks.kind_index[row]] for row in rows],
        width=tasks.width[rows] if len(tasks.width) else None,
    )
    return replace(drawn, time_factor=tasks.time_factor[rows]) if len(tasks.time_factor) else drawn
