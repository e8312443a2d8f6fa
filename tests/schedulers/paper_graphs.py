"""The examples of the papers on HEFT and PEFT, and graphs as planners take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.task_graph import TaskGraph, task_graph

Edges = Sequence[tuple[int, int, float]]

# Topcuoglu, Hariri and Wu (2002), figure 2: computation costs of ten tasks on three processors, and the edges.
HEFT_TIMES: list[list[float]] = [
    [14, 16, 9],
    [13, 19, 18],
    [11, 13, 19],
    [13, 8, 17],
    [12, 13, 10],
    [13, 16, 9],
    [7, 15, 11],
    [5, 11, 14],
    [18, 12, 20],
    [21, 7, 16],
]
HEFT_EDGES: Edges = [
    (1, 2, 18), (1, 3, 12), (1, 4, 9), (1, 5, 11), (1, 6, 14),
    (2, 8, 19), (2, 9, 16), (3, 7, 23), (4, 8, 27), (4, 9, 23), (5, 9, 13), (6, 8, 15),
    (7, 10, 17), (8, 10, 11), (9, 10, 13),
]  # fmt: skip

# Arabnejad and Barbosa (2014), figure 1.
PEFT_TIMES: list[list[float]] = [
    [22, 21, 36],
    [22, 18, 18],
    [32, 27, 43],
    [7, 10, 4],
    [29, 27, 35],
    [26, 17, 24],
    [14, 25, 30],
    [29, 23, 36],
    [15, 21, 8],
    [13, 16, 33],
]
PEFT_EDGES: Edges = [
    (1, 2, 17), (1, 3, 31), (1, 4, 29), (1, 5, 13), (1, 6, 7),
    (2, 8, 3), (2, 9, 30), (3, 7, 16), (4, 8, 11), (4, 9, 7), (5, 9, 57), (6, 8, 5),
    (7, 10, 9), (8, 10, 42), (9, 10, 7),
]  # fmt: skip


def graph_of(
    times: Sequence[Sequence[float]] | FloatArray,
    edges: Edges,
    links: FloatArray | None = None,
    arrival: FloatArray | None = None,
) -> tuple[TaskGraph, list[IntArray]]:
    """Tasks numbered from 1 whose data takes a second a megabyte between unlike devices, unless told otherwise."""
    table = np.array(times, dtype=np.float64)
    by_child = sorted((child - 1, parent - 1, megabytes) for parent, child, megabytes in edges)
    counts = np.bincount([child for child, _, _ in by_child], minlength=len(table))
    return task_graph(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([parent for _, parent, _ in by_child], dtype=np.int64),
        np.array([megabytes for _, _, megabytes in by_child], dtype=np.float64),
        table,
        1.0 - np.eye(table.shape[1]) if links is None else links,
        arrival=arrival,
    )


def world_of(times: Sequence[Sequence[float]], edges: Edges) -> tuple[TaskBatch, World]:
    """The same as a race: one CPU to a node, a megabyte a second between nodes."""
    table = np.array(times, dtype=np.float64)
    names = tuple(f"cpu_{d}" for d in range(table.shape[1]))
    devices = tuple(Device(name, "cpu", node=d) for d, name in enumerate(names))
    tasks = [
        Task(i, 1.0, 1.0, 1.0, dependencies=tuple((a, mb) for a, b, mb in edges if b == i))  # type: ignore[misc]
        for i in range(1, len(table) + 1)
    ]
    cost = TableCost(table, tuple(range(1, len(table) + 1)), names)
    return TaskBatch.from_tasks(tasks), World(ClusterSpec(devices, network_bandwidth=1.0), Physics(cost))
