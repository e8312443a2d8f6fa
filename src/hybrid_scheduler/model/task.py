"""Tasks: one at a time (`Task`) for people and services, many at once (`TaskBatch`) for the compiled core."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.ranges import ARRIVALS, FORMULA_SIZES, INTENSITIES, MEGABYTES, SECONDS, SIZES, Range
from hybrid_scheduler.model.task_columns import TASK_COLUMNS, TASK_WIDTH

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DEFAULT_KIND = "synthetic"


LARGEST_ID = 2**53
"""Ids are whole numbers that a float holds exactly."""
ID_RULE = "an integer from 0 to 2^53"

MOST_WIDTH = 1024
WIDTH_RULE = f"an integer from 1 to {MOST_WIDTH}"
"""A task occupies so many devices of one kind together."""

Dependency = int | tuple[int, float]
"""The id of a parent, or the id and the megabytes that come from it."""

TASK_RANGES: dict[str, Range] = {
    "size": SIZES,
    "compute_intensity": INTENSITIES,
    "memory_required": MEGABYTES,
    "arrival_time": ARRIVALS,
    "duration_estimate": SECONDS,
}
"""The range of each numeric task column; readers of files and the API use the same ones."""
_OTHER_RANGES = tuple((name, legal) for name, legal in TASK_RANGES.items() if name not in ("size", "duration_estimate"))


_FORMULA_HINT = f" where the time follows from it (up to {SIZES.high:g} with a duration_estimate)"


def cpu_base_duration(size: float, compute_intensity: float) -> float:
    """Seconds a task takes on a CPU of speed 1: ``(N / 1000) ** 1.5 / (I + 0.5)``."""
    return float((size / 1000.0) ** 1.5 / (compute_intensity + 0.5))


def cpu_base_durations(size: FloatArray, compute_intensity: FloatArray) -> FloatArray:
    """`cpu_base_duration` of many tasks."""
    durations: FloatArray = (size / 1000.0) ** 1.5 / (compute_intensity + 0.5)
    return durations


def sizes_of(duration: FloatArray, compute_intensity: FloatArray) -> FloatArray:
    """The sizes that `cpu_base_durations` gives these durations for."""
    sizes: FloatArray = 1000.0 * (duration * (compute_intensity + 0.5)) ** (2 / 3)
    return sizes


def size_rule(*, time_given: bool) -> tuple[Range, str]:
    """The legal sizes, and what to add to an error about one: without a time, the size must give a sensible one."""
    return (SIZES, "") if time_given else (FORMULA_SIZES, _FORMULA_HINT)


def split_dependencies(dependencies: Iterable[Dependency]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Ids and megabytes of dependencies, of which some may be pairs; no megabytes at all when none is one."""
    pairs = [each if isinstance(each, tuple | list) else (each, 0.0) for each in dependencies]
    with_data = any(isinstance(each, tuple | list) for each in dependencies)
    return tuple(pair[0] for pair in pairs), tuple(float(pair[1]) for pair in pairs) if with_data else ()


def as_dependencies(entries: Iterable[int | Sequence[float]]) -> tuple[Dependency, ...]:
    """Dependencies as documents have them: ids, and lists of an id and megabytes."""
    return tuple(each if isinstance(each, int) else (int(each[0]), float(each[1])) for each in entries)


def renumbered(dependencies: Iterable[Dependency], number: Callable[[int], int]) -> tuple[Dependency, ...]:
    """The same dependencies with other ids."""
    return tuple((number(each[0]), each[1]) if isinstance(each, tuple) else number(each) for each in dependencies)


def _check_data(task_id: int, dependencies: tuple[int, ...], megabytes: tuple[float, ...]) -> None:
    if megabytes and len(megabytes) != len(dependencies):
        raise InvalidInputError(
            f"task {task_id}: dependency_mb has {len(megabytes)} figures for {len(dependencies)} dependencies"
        )
    for parent, megabyte in zip(dependencies, megabytes, strict=False):
        if not MEGABYTES.holds(megabyte):
            raise InvalidInputError(
                f"task {task_id}: {megabyte!r} MB come from task {parent}, but that must be {MEGABYTES}"
            )


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work; every figure must be in its range (`TASK_RANGES`).

    Attributes:
        task_id: Unique within its workload, at least 0.
        size: Problem size N.
        compute_intensity: How much the task gains from parallel hardware, 0 to 1.
        memory_required: Megabytes that must be moved to run it on a GPU.
        arrival_time: Seconds since the start of the workload.
        duration_estimate: CPU base duration in seconds; derived from size and intensity when not given.
        dependencies: Ids of the tasks that must have finished first; a pair ``(id, MB)`` says how much data comes from
            there, and goes into `dependency_mb`.
        kind: What the task does (`synthetic`, `matmul`, ...).
        dependency_mb: Megabytes that come from each of `dependencies`, in their order; empty when none are said.
        width: How many devices of one kind it occupies, started together.
        upward_rank: In front of a scheduler that ranks tasks: how much work the longest chain from here to the end of
            its graph holds, relative to the longest of the graph; 0 outside graphs. Nobody needs to give it.
    """

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float = 0.0
    duration_estimate: float = math.nan
    dependencies: tuple[int, ...] = ()
    kind: str = DEFAULT_KIND
    dependency_mb: tuple[float, ...] = ()
    width: int = 1
    upward_rank: float = field(default=0.0, compare=False)

    def without_estimate(self) -> Task:
        """The task as schedulers see it that do not use estimates: its duration estimate is NaN."""
        return self._with("duration_estimate", math.nan)

    def ranked(self, upward_rank: float) -> Task:
        """The task with its rank in its graph, as a scheduler sees it that ranks tasks."""
        return self._with("upward_rank", upward_rank)

    def again(self, task_id: int, arrival_time: float) -> Task:
        """The same task under another id, at another time; both are taken as they are."""
        copy = self._with("task_id", task_id)
        object.__setattr__(copy, "arrival_time", arrival_time)
        return copy

    def _with(self, changed: str, value: float) -> Task:
        copy = object.__new__(Task)  # nothing else changes, so nothing needs to be checked again
        for name in Task.__slots__:
            object.__setattr__(copy, name, getattr(self, name))
        object.__setattr__(copy, changed, value)
        return copy

    def __post_init__(self) -> None:
        if not (0 <= self.task_id <= LARGEST_ID and self.task_id == int(self.task_id)):
            raise InvalidInputError(f"task_id is {self.task_id!r}, but it must be {ID_RULE}")
        if not self.kind:
            raise InvalidInputError(f"task {self.task_id}: kind is empty; name one or leave it out")
        if any(isinstance(each, tuple | list) for each in self.dependencies):
            if self.dependency_mb:
                raise InvalidInputError(
                    f"task {self.task_id}: data is given in both dependencies and dependency_mb; give it once"
                )
            parents, megabytes = split_dependencies(self.dependencies)
            object.__setattr__(self, "dependencies", parents)
            object.__setattr__(self, "dependency_mb", megabytes)
        _check_data(self.task_id, self.dependencies, self.dependency_mb)
        if not (1 <= self.width <= MOST_WIDTH and self.width == int(self.width)):
            raise InvalidInputError(f"task {self.task_id}: width is {self.width!r}, but it must be {WIDTH_RULE}")
        time_given = not math.isnan(self.duration_estimate)
        sizes, hint = size_rule(time_given=time_given)
        if not sizes.holds(self.size):
            raise self._outside("size", sizes, hint)
        for name, legal in _OTHER_RANGES:
            if not legal.holds(getattr(self, name)):
                raise self._outside(name, legal)
        if not time_given:
            object.__setattr__(self, "duration_estimate", cpu_base_duration(self.size, self.compute_intensity))
        elif not SECONDS.holds(self.duration_estimate):
            raise self._outside("duration_estimate", SECONDS)

    @property
    def dependencies_with_data(self) -> tuple[Dependency, ...]:
        """The parents' ids or, where data is said, pairs of an id and the megabytes that come from there."""
        if not self.dependency_mb:
            return self.dependencies
        return tuple(zip(self.dependencies, self.dependency_mb, strict=True))

    def _outside(self, name: str, legal: Range, hint: str = "") -> InvalidInputError:
        return InvalidInputError(
            f"task {self.task_id}: {name} is {getattr(self, name)!r}, but it must be {legal}{hint}"
        )


def kind_code(kind: str) -> float:
    """A stable number for a kind's name, the form in which compiled policies see it."""
    return float(zlib.crc32(kind.encode()))


@dataclass(frozen=True)
class TaskBatch(Sequence[Task]):
    """Many tasks as columns, in order of (arrival time, id).

    Build one with `from_columns` or `from_tasks`, which sort and check. `parents` holds, for every task, the
    *positions* of its parents in this batch, as a compressed sparse row pair: the parents of task i are
    ``parents[parent_start[i]:parent_start[i + 1]]``. `parent_mb` holds the megabytes that come from each of them,
    empty when none are said; `width` the devices each task occupies together, empty when that is one for all.
    `time_factor` is what each task really takes over its estimate, empty when all take what is estimated: a task itself
    does not carry it, so that no scheduler sees it.
    """

    task_id: IntArray
    size: FloatArray
    compute_intensity: FloatArray
    memory_required: FloatArray
    arrival_time: FloatArray
    duration_estimate: FloatArray
    parent_start: IntArray
    parents: IntArray
    kind_index: IntArray
    kinds: tuple[str, ...] = (DEFAULT_KIND,)
    parent_mb: FloatArray = field(default_factory=lambda: np.zeros(0))
    width: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    time_factor: FloatArray = field(default_factory=lambda: np.zeros(0))
    _position: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def from_columns(
        size: FloatArray,
        compute_intensity: FloatArray,
        memory_required: FloatArray,
        *,
        task_id: IntArray | None = None,
        arrival_time: FloatArray | None = None,
        duration_estimate: FloatArray | None = None,
        dependencies: Sequence[Sequence[Dependency]] | None = None,
        kind: Sequence[str] | None = None,
        width: IntArray | None = None,
    ) -> TaskBatch:
        """Sort, check and pack columns; what is not given is derived (ids 0, 1, ..., arrivals 0, no parents, width 1).

        A dependency is the id of a parent, or a pair of it and the megabytes that come from there.

        Raises:
            InvalidInputError: A figure is outside its range, an id occurs twice, a parent is unknown, or the
                dependencies form a cycle.
        """
        n = len(size)
        ids = np.arange(n, dtype=np.int64) if task_id is None else np.asarray(task_id, dtype=np.int64)
        arrival = np.zeros(n) if arrival_time is None else np.asarray(arrival_time, dtype=np.float64)
        order = np.lexsort((ids, arrival))
        sorted_ids = np.sort(ids)
        twice = np.flatnonzero(sorted_ids[1:] == sorted_ids[:-1])
        if len(twice):
            raise InvalidInputError(f"task id {sorted_ids[twice[0]]} occurs twice; ids must be unique")
        ids = ids[order]
        arrival, memory = arrival[order], np.asarray(memory_required, dtype=np.float64)[order]
        size, intensity = np.asarray(size, dtype=np.float64)[order], np.asarray(compute_intensity, np.float64)[order]
        given = {"size": size, "compute_intensity": intensity, "memory_required": memory, "arrival_time": arrival}
        if duration_estimate is None:
            _refuse_outside(ids, given)
            duration = cpu_base_durations(size, intensity)
        else:
            duration = np.asarray(duration_estimate, dtype=np.float64)[order]
            _refuse_outside(ids, {**given, "duration_estimate": duration})
        if dependencies is None or not any(map(len, dependencies)):
            parent_start, parents = np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
            parent_mb = np.zeros(0)
        else:
            parent_start, parents, parent_mb = _pack_parents(ids, [dependencies[i] for i in order])
            _refuse_cycle(ids, parent_start, parents)
        names = [DEFAULT_KIND] if kind is None else sorted(set(kind))
        index = {name: i for i, name in enumerate(names)}
        kind_index = (
            np.zeros(n, dtype=np.int64) if kind is None else np.array([index[kind[i]] for i in order], dtype=np.int64)
        )
        return TaskBatch(
            ids,
            size,
            intensity,
            memory,
            arrival,
            duration,
            parent_start,
            parents,
            kind_index,
            tuple(names),
            parent_mb,
            _packed_width(ids, width, order),
        )

    @staticmethod
    def from_tasks(tasks: Iterable[Task]) -> TaskBatch:
        """Pack task objects; a batch is returned as it is."""
        if isinstance(tasks, TaskBatch):
            return tasks
        rows = list(tasks)
        return TaskBatch.from_columns(
            np.array([t.size for t in rows], dtype=np.float64),
            np.array([t.compute_intensity for t in rows], dtype=np.float64),
            np.array([t.memory_required for t in rows], dtype=np.float64),
            task_id=np.array([t.task_id for t in rows], dtype=np.int64),
            arrival_time=np.array([t.arrival_time for t in rows], dtype=np.float64),
            duration_estimate=np.array([t.duration_estimate for t in rows], dtype=np.float64),
            dependencies=[t.dependencies_with_data for t in rows],
            kind=[t.kind for t in rows],
            width=np.array([t.width for t in rows], dtype=np.int64),
        )

    @property
    def has_dependencies(self) -> bool:
        """Whether any task has a parent."""
        return len(self.parents) > 0

    def dependencies_of(self, position: int) -> tuple[int, ...]:
        """The ids of the parents of the task at this position."""
        span = self.parents[self.parent_start[position] : self.parent_start[position + 1]]
        return tuple(int(i) for i in self.task_id[span])

    def dependency_mb_of(self, position: int) -> tuple[float, ...]:
        """Megabytes that come from each parent of the task at this position; empty when none are said."""
        if not len(self.parent_mb):
            return ()
        return tuple(self.parent_mb[self.parent_start[position] : self.parent_start[position + 1]].tolist())

    def with_arrivals(self, arrival_time: FloatArray) -> TaskBatch:
        """The same tasks arriving at other times; the new times must keep the order."""
        if len(arrival_time) and np.any(np.diff(arrival_time) < 0):
            raise InvalidInputError("new arrival times must not change the order of the tasks")
        return replace(self, arrival_time=np.ascontiguousarray(arrival_time, dtype=np.float64), _position={})

    def feature_rows(self) -> FloatArray:
        """What a scheduler may see of each task, one row each (the `TASK_*` columns of `model.view`)."""
        codes = np.array([kind_code(k) for k in self.kinds])
        rows = np.zeros((len(self), TASK_COLUMNS))
        rows[:, 0] = self.size
        rows[:, 1] = self.compute_intensity
        rows[:, 2] = self.memory_required
        rows[:, 3] = codes[self.kind_index]
        rows[:, 4] = np.diff(self.parent_start)
        rows[:, TASK_WIDTH] = self.width if len(self.width) else 1.0
        return rows

    def position_of(self, task_id: int) -> int:
        """Where the task with this id stands in the batch."""
        if not self._position:
            self._position.update((int(t), i) for i, t in enumerate(self.task_id))
        return self._position[task_id]

    def __len__(self) -> int:
        return len(self.task_id)

    def __getitem__(self, position):  # type: ignore[no-untyped-def]
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        i = range(len(self))[position]
        return Task(
            int(self.task_id[i]),
            float(self.size[i]),
            float(self.compute_intensity[i]),
            float(self.memory_required[i]),
            float(self.arrival_time[i]),
            float(self.duration_estimate[i]),
            self.dependencies_of(i),
            self.kinds[self.kind_index[i]],
            self.dependency_mb_of(i),
            int(self.width[i]) if len(self.width) else 1,
        )

    def __iter__(self) -> Iterator[Task]:
        return (self[i] for i in range(len(self)))


def _refuse_outside(ids: IntArray, columns: dict[str, FloatArray]) -> None:
    """Refuse columns with a value outside its range."""
    sizes, hint = size_rule(time_given="duration_estimate" in columns)
    for name, values in columns.items():
        legal = sizes if name == "size" else TASK_RANGES[name]
        at = legal.first_outside(values)
        if at is not None:
            more = hint if name == "size" else ""
            raise InvalidInputError(f"task {ids[at]}: {name} is {values[at]}, but it must be {legal}{more}")


def _pack_parents(ids: IntArray, dependencies: Sequence[Sequence[Dependency]]) -> tuple[IntArray, IntArray, FloatArray]:
    position = {int(t): i for i, t in enumerate(ids)}
    start = np.zeros(len(ids) + 1, dtype=np.int64)
    parents: list[int] = []
    data: list[float] = []
    said = False
    for i, wanted in enumerate(dependencies):
        named, megabytes = split_dependencies(wanted)
        _check_data(int(ids[i]), named, megabytes)
        said = said or bool(megabytes)
        # A parent that is named twice counts once, with the data of both.
        total: dict[int, float] = {}
        for parent, megabyte in zip(named, megabytes or (0.0,) * len(named), strict=True):
            total[parent] = total.get(parent, 0.0) + megabyte
        for parent, megabyte in total.items():
            if parent not in position:
                raise InvalidInputError(
                    f"task {ids[i]} depends on task {parent}, which does not exist; remove the dependency or add it"
                )
            parents.append(position[parent])
            data.append(megabyte)
        start[i + 1] = len(parents)
    return start, np.array(parents, dtype=np.int64), np.array(data if said else (), dtype=np.float64)


def _packed_width(ids: IntArray, width: IntArray | None, order: IntArray) -> IntArray:
    """The widths in this order; empty when all are 1."""
    if width is None or (width == 1).all():
        return np.zeros(0, dtype=np.int64)
    outside = np.flatnonzero((width < 1) | (width > MOST_WIDTH))
    if len(outside):
        at = int(outside[0])
        task = ids[np.flatnonzero(order == at)[0]]
        raise InvalidInputError(f"task {task}: width is {width[at]}, but it must be {WIDTH_RULE}")
    return np.asarray(width, dtype=np.int64)[order]


def _refuse_cycle(ids: IntArray, start: IntArray, parents: IntArray) -> None:
    """Kahn's algorithm; what is left over contains a cycle, which is walked so that the error can name it."""
    n = len(ids)
    waiting = np.diff(start).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    for child in range(n):
        for parent in parents[start[child] : start[child + 1]]:
            children[parent].append(child)
    ready = [i for i in range(n) if waiting[i] == 0]
    for i in ready:
        for child in children[i]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    if len(ready) == n:
        return
    left = {i for i in range(n) if waiting[i] > 0}
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(next(int(p) for p in parents[start[path[-1]] : start[path[-1] + 1]] if int(p) in left))
    loop = path[path.index(path[-1]) :]
    chain = " -> ".join(str(ids[i]) for i in loop)
    raise InvalidInputError(f"dependency cycle: {chain}; a task cannot wait for itself")
