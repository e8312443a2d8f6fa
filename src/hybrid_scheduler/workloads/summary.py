"""What a workload is like: figures of a file of any size, from its chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_scheduler.model import FloatArray, IntArray, InvalidInputError
from hybrid_scheduler.workloads.chunks import NO_IDS, TaskChunk
from hybrid_scheduler.workloads.cycles import find_cycle
from hybrid_scheduler.workloads.graph import GraphShape, shape_of
from hybrid_scheduler.workloads.recorded import Assumption
from hybrid_scheduler.workloads.streams import Streams

SAMPLE_TASKS = 100_000
"""Quantiles are exact up to so many tasks, and from a sample of so many beyond."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
SPANS = 100
"""Equal spans of time among which the busiest is looked for."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How a figure is distributed; values that are unknown (NaN) are left out.

    Attributes:
        known: How many tasks have it.
        mean: Of all of them.
        low: The least.
        high: The greatest.
        quantiles: Values at the shares `QUANTILES`, in that order.
    """

    known: int
    mean: float
    low: float
    high: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ArrivalPattern:
    """How tasks arrive.

    Attributes:
        span: Seconds from the first arrival to the last.
        rate: Tasks per second in between.
        variation: Coefficient of variation of the gaps; 1 for a Poisson process.
        burstiness: ``(cv - 1) / (cv + 1)`` of it: -1 regular, 0 Poisson, towards 1 bursty (Goh, Barabasi, EPL 81(4),
            2008).
        peak: Tasks in the busiest of 100 equal spans, as a multiple of the mean.
    """

    span: float
    rate: float
    variation: float
    burstiness: float
    peak: float


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """The figures of a workload.

    Attributes:
        tasks: How many there are.
        figures: The distribution of each figure that the file has, by name.
        kinds: Tasks of each kind, the most frequent first; empty where the file does not tell.
        arrivals: How they arrive; None: all at once.
        graph: How they depend on each other; None: not at all.
        derived: The columns the file does not have.
        assumed: What else had to be decided.
        sample: Figures of some tasks by name, all of them up to `SAMPLE_TASKS`, else drawn at random.
        arrival_time: When they all arrive, ascending; empty when they arrive at once.
    """

    tasks: int
    figures: dict[str, Distribution]
    kinds: dict[str, int]
    arrivals: ArrivalPattern | None
    graph: GraphShape | None
    derived: tuple[str, ...]
    assumed: tuple[Assumption, ...]
    sample: dict[str, FloatArray]
    arrival_time: FloatArray

    @property
    def is_sampled(self) -> bool:
        """Whether quantiles come from a sample."""
        return self.tasks > SAMPLE_TASKS


def summarise_chunks(chunks: Iterable[TaskChunk], seed: int) -> WorkloadSummary:
    """Summarise a workload while it is read.

    Of every task only the arrival and the id (unless they are 0, 1, 2, ...) are kept, and of every dependency two ids:
    16 bytes each.

    Args:
        chunks: The tasks, at least one.
        seed: Of the sample.

    Raises:
        InvalidInputError: An id occurs twice, a parent is unknown, or tasks wait for each other.
    """
    running: dict[str, _Running] = {}
    sample = _Sample(seed)
    kinds: Counter[str] = Counter()
    arrivals: list[FloatArray] = []
    ids: list[IntArray] = []
    children: list[IntArray] = []
    parents: list[IntArray] = []
    megabytes = 0.0
    chunk = None
    for chunk in chunks:
        for name, values in chunk.figures.items():
            running.setdefault(name, _Running()).add(values)
        _collect_ids(ids, chunk.task_id, sample.seen)
        sample.add(np.column_stack(list(chunk.figures.values())))
        kinds.update(chunk.kinds)
        if chunk.arrival_time is not None:
            arrivals.append(chunk.arrival_time.copy())  # a view would hold more than itself
        if len(chunk.child):
            children.append(chunk.child)
            parents.append(chunk.parent.copy())
            megabytes += float(chunk.megabytes.sum())
    if chunk is None:
        raise InvalidInputError("there is no task to summarise; give at least one")
    columns = dict(zip(running, sample.rows.T, strict=True))
    graph = _graph(_joined(ids) if ids else None, _joined(children), _joined(parents), sample.seen, megabytes)
    arrived: FloatArray = _joined(arrivals).astype(np.float64, copy=False)
    arrived.sort()
    return WorkloadSummary(
        sample.seen,
        {name: of.distribution(columns[name]) for name, of in running.items()},
        dict(kinds.most_common()),
        _pattern(arrived),
        graph,
        chunk.derived,
        chunk.assumed,
        columns,
        arrived,
    )


def _collect_ids(ids: list[IntArray], more: IntArray | None, seen: int) -> None:
    """Keep the ids of the next tasks; none are kept as long as all are 0, 1, 2, ..."""
    if more is None or (not ids and more[0] == seen and bool((np.diff(more) == 1).all())):
        return
    if not ids:
        ids.append(np.arange(seen))
    ids.append(more.copy())


def _joined(pieces: list[Any]) -> Any:
    """The pieces in one array of its own; the list is emptied, so that only one copy is held."""
    whole = np.concatenate(pieces) if pieces else NO_IDS.copy()
    pieces.clear()
    return whole


class _Running:
    """Count, sum and extremes of a figure."""

    def __init__(self) -> None:
        self.known, self.total, self.low, self.high = 0, 0.0, np.inf, -np.inf

    def add(self, values: FloatArray) -> None:
        if np.isnan(values.sum()):
            values = values[~np.isnan(values)]
        if len(values):
            self.known += len(values)
            self.total += float(values.sum())
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))

    def distribution(self, sample: FloatArray) -> Distribution:
        known = sample[~np.isnan(sample)]
        if not (self.known and len(known)):
            return Distribution(self.known, np.nan, np.nan, np.nan, (np.nan,) * len(QUANTILES))
        quantiles = tuple(np.quantile(known, QUANTILES).tolist())
        return Distribution(self.known, self.total / self.known, self.low, self.high, quantiles)


class _Sample:
    """A uniform sample of rows without replacement, as they pass by (algorithm R: Vitter, ACM TOMS 11(1), 1985)."""

    def __init__(self, seed: int) -> None:
        self.seen = 0
        self._random = Streams(seed).of("sample")
        self._rows: FloatArray | None = None

    def add(self, rows: FloatArray) -> None:
        if self._rows is None:
            self._rows = np.empty((SAMPLE_TASKS, rows.shape[1]))
        free = rows[: max(0, SAMPLE_TASKS - self.seen)]
        self._rows[self.seen : self.seen + len(free)] = free
        rest = rows[len(free) :]
        numbers = np.arange(self.seen + len(free), self.seen + len(rows))
        place = (self._random.random(len(rest)) * (numbers + 1)).astype(np.int64)
        taken = place < SAMPLE_TASKS
        self._rows[place[taken]] = rest[taken]  # of two rows for one place the later stays, as one at a time
        self.seen += len(rows)

    @property
    def rows(self) -> FloatArray:
        assert self._rows is not None
        return self._rows[: min(self.seen, SAMPLE_TASKS)]


def _pattern(arrivals: FloatArray) -> ArrivalPattern | None:
    span = float(arrivals[-1] - arrivals[0]) if len(arrivals) else 0.0
    if span <= 0:
        return None
    gaps = np.diff(arrivals)
    variation = float(gaps.std() / gaps.mean())
    counts, _ = np.histogram(arrivals, bins=SPANS)
    return ArrivalPattern(
        span,
        (len(arrivals) - 1) / span,
        variation,
        (variation - 1.0) / (variation + 1.0),
        float(counts.max() / counts.mean()),
    )


def _graph(ids: IntArray | None, child: IntArray, parent: IntArray, tasks: int, megabytes: float) -> GraphShape | None:
    """The shape of the graph and its data; without ids, the tasks are numbered from 0."""
    if ids is not None:
        known = np.sort(ids)
        twice = np.flatnonzero(known[1:] == known[:-1])
        if len(twice):
            one, two = (np.flatnonzero(ids == known[twice[0]])[:2] + 1).tolist()
            raise InvalidInputError(f"task id {known[twice[0]]} occurs twice, in rows {one} and {two}; ids are unique")
    if not len(child):
        return None
    place = parent if ids is None else np.minimum(np.searchsorted(known, parent), tasks - 1)
    strange = np.flatnonzero(parent >= tasks if ids is None else known[place] != parent)
    if len(strange):
        raise InvalidInputError(
            f"task {child[strange[0]]} depends on task {parent[strange[0]]}, which does not exist; remove the "
            "dependency or add the task"
        )
    shape = shape_of(child if ids is None else np.searchsorted(known, child), place, tasks, megabytes)
    if shape is None:
        raise InvalidInputError(f"the tasks {_cycle(child, parent)} wait for each other; break the cycle")
    return shape


def _cycle(child: IntArray, parent: IntArray) -> str:
    parents: dict[int, list[int]] = {}
    for one, other in zip(child.tolist(), parent.tolist(), strict=True):
        parents.setdefault(one, []).append(other)
    loop: list[Any] = find_cycle(parents) or []
    return " -> ".join(map(str, loop))
