"""Whole graphs one after the other: all tasks of a graph arrive together, graphs as a Poisson process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hybrid_scheduler.model import FloatArray, Task, TaskBatch
from hybrid_scheduler.workloads.arrivals import PoissonArrivals
from hybrid_scheduler.workloads.graphs.base import GraphPreset, TaskGraph
from hybrid_scheduler.workloads.streams import Streams


def graphs_for(preset: GraphPreset, num_tasks: int) -> int:
    """How many whole graphs have at least so many tasks."""
    return max(1, -(-num_tasks // preset.tasks))


def draw_graphs(preset: GraphPreset, seed: int) -> Iterator[tuple[float, TaskGraph]]:
    """Graphs without an end, each with the gap before it in units of the mean gap between graphs."""
    streams = Streams(seed)
    while True:
        yield float(PoissonArrivals().gaps(streams, 1)[0]), preset.draw(streams)


def graph_workload(preset: GraphPreset, seed: int, num_tasks: int, rate: float) -> TaskBatch:
    """At least so many tasks, as whole graphs; the first arrives at 0.

    Args:
        preset: The kind of graph.
        seed: Same seed, same tasks; a shorter workload is the beginning of a longer one.
        num_tasks: As many graphs are drawn as hold at least so many tasks.
        rate: Mean tasks per second: a graph of n tasks comes every n / rate seconds on average.
    """
    drawn = draw_graphs(preset, seed)
    gaps, graphs = zip(*(next(drawn) for _ in range(graphs_for(preset, num_tasks))), strict=True)
    return joined(graphs, np.concatenate(([0.0], np.cumsum(gaps[1:]))) * (preset.tasks / rate))


def joined(graphs: Sequence[TaskGraph], arrivals: FloatArray) -> TaskBatch:
    """The tasks of some graphs of one kind, numbered from 0, each graph arriving at its time."""
    sizes = np.array([len(graph) for graph in graphs])
    first_task = np.cumsum(sizes) - sizes
    counts = np.concatenate([np.diff(graph.parent_start) for graph in graphs])
    tasks = TaskBatch.from_columns(
        *(
            np.concatenate([getattr(graph, name) for graph in graphs])
            for name in ("size", "compute_intensity", "memory_required")
        ),
        arrival_time=np.repeat(arrivals, sizes),
    )
    return replace(
        tasks,
        parent_start=np.concatenate(([0], np.cumsum(counts))),
        parents=np.concatenate([graph.parents + first for graph, first in zip(graphs, first_task, strict=True)]),
        parent_mb=np.concatenate([graph.parent_mb for graph in graphs]),
        kinds=graphs[0].kinds,
        kind_index=np.concatenate([graph.kind_index for graph in graphs]),
    )


def stream_tasks(preset: GraphPreset, seed: int, num_tasks: int | None, rate: float) -> Iterator[Task]:
    """The tasks of `graph_workload` one after the other; without `num_tasks` there is no end."""
    clock, first = 0.0, 0
    for number, (gap, graph) in enumerate(draw_graphs(preset, seed)):
        if num_tasks is not None and number == graphs_for(preset, num_tasks):
            return
        clock += gap if number else 0.0
        for task in joined([graph], np.array([clock * (preset.tasks / rate)])):
            parents = tuple(parent + first for parent in task.dependencies)
            yield replace(task, task_id=task.task_id + first, dependencies=parents)
        first += len(graph)
