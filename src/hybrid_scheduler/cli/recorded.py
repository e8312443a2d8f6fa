"""Tasks of a trace or a table: as they were recorded, or with their arrivals stretched to a rate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from hybrid_scheduler.cli.stream import Stream, StreamOptions, rate_notes, refuse_beyond_memory, refuse_rate_and_load
from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.physics.cost import CostModel, TableCost
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.workloads import TableFile, TraceFile
from hybrid_scheduler.workloads.arrivals import PoissonArrivals
from hybrid_scheduler.workloads.capacity import capacity_of_tasks
from hybrid_scheduler.workloads.streams import Streams
from hybrid_scheduler.workloads.synthesis import RATE_LIMITS


def recorded_stream(
    options: StreamOptions, file: TraceFile | TableFile, path: Path, seed: int, cluster: ClusterSpec, cost: CostModel
) -> Stream:
    """The tasks of a trace or table that was read from `path`; their own arrivals unless a rate or load is wanted.

    Raises:
        InvalidInputError: An option breaks its rule, or does not go with a file.
    """
    refuse_rate_and_load(options)
    for name in ("preset", "dependency_prob", "max_dependencies"):
        if getattr(options, name) is not None:
            flag = "--" + name.replace("_", "-")
            raise InvalidInputError(f"{flag} is for generated tasks, but these come from {path}; leave one out")
    tasks = file.tasks if options.tasks is None else _first(file.tasks, options.tasks, path)
    refuse_beyond_memory(len(tasks), len(cluster.devices))
    kind = "trace" if isinstance(file, TraceFile) else "table"
    notes = list(rate_notes(options))
    if file.derived:
        notes.append(f"{path} has no {', '.join(file.derived)}: derived")
    source: dict[str, object] = {kind: str(path), "arrival_rate": None, "load": None}
    if not options.isolated:
        most = capacity_of_tasks(tasks, cluster, cost)
        wanted = options.load * most if options.load is not None else options.rate
        if wanted is not None:
            tasks = _rescaled(tasks, wanted, seed)
        rate = _observed_rate(tasks)
        if rate is not None:
            source.update(arrival_rate=rate, load=rate / most)
        elif "arrival_time" in file.derived:
            notes.append("without arrival times all tasks arrive at once; --rate or --load spreads them")
    # A table gives times for its own tasks only, so there are no others of its kind to train on.
    more = partial(_drawn_again, tasks) if kind == "trace" and not isinstance(cost, TableCost) else None
    return Stream(tasks, source, tuple(notes), more=more)


def _drawn_again(tasks: TaskBatch, count: int, seed: int) -> TaskBatch:
    """So many tasks drawn from these at random, each with the gap before it; dependencies are left out."""
    rows = np.random.default_rng(seed).integers(0, len(tasks), count)
    gaps = np.diff(tasks.arrival_time, prepend=tasks.arrival_time[0])
    return TaskBatch.from_columns(
        tasks.size[rows],
        tasks.compute_intensity[rows],
        tasks.memory_required[rows],
        arrival_time=np.cumsum(gaps[rows]),
        duration_estimate=tasks.duration_estimate[rows],
        kind=[tasks.kinds[tasks.kind_index[row]] for row in rows],
    )


def _first(tasks: TaskBatch, count: int, path: Path) -> TaskBatch:
    """The tasks that arrive first."""
    if count > len(tasks):
        raise InvalidInputError(f"--tasks is {count}, but {path} has only {len(tasks)} tasks")
    inside = slice(0, tasks.parent_start[count])
    late = np.flatnonzero(tasks.parents[inside] >= count)
    if len(late):
        child = int(np.searchsorted(tasks.parent_start, late[0], side="right")) - 1
        raise InvalidInputError(
            f"--tasks {count} keeps task {tasks.task_id[child]} of {path} but not task "
            f"{tasks.task_id[tasks.parents[late[0]]]}, which it waits for; keep more tasks"
        )
    columns = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate")
    head = {name: getattr(tasks, name)[:count] for name in (*columns, "kind_index")}
    return replace(
        tasks, **head, parent_start=tasks.parent_start[: count + 1], parents=tasks.parents[inside], _position={}
    )


def _observed_rate(tasks: TaskBatch) -> float | None:
    span = float(tasks.arrival_time[-1] - tasks.arrival_time[0])
    return (len(tasks) - 1) / span if span > 0 else None


def _rescaled(tasks: TaskBatch, rate: float, seed: int) -> TaskBatch:
    """The same tasks with all gaps stretched alike; Poisson arrivals where there were no gaps."""
    low, high = RATE_LIMITS
    if not low <= rate <= high:
        raise InvalidInputError(
            f"the arrival rate is {rate:g}, but it must be from {low:g} to {high:g} tasks per second"
        )
    observed = _observed_rate(tasks)
    if observed is None:
        gaps = PoissonArrivals().gaps(Streams(seed), len(tasks))
        return tasks.with_arrivals(np.cumsum(gaps) / rate)
    first = tasks.arrival_time[0]
    return tasks.with_arrivals(first + (tasks.arrival_time - first) * (observed / rate))
