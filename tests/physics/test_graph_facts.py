"""What is known of graphs before they are scheduled."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.graph_facts import graph_facts, graph_numbers
from hybrid_scheduler.physics.world import World


@pytest.mark.parametrize("seed", range(8))
def test_graphs_are_what_dependencies_join(seed: int) -> None:
    """Against flooding from task to task."""
    random = np.random.default_rng(seed)
    count = 60
    parents = [random.integers(0, count, random.integers(0, 3)) for _ in range(count)]
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for child, positions in enumerate(parents):
        for parent in positions.tolist():
            neighbours[child].add(parent)
            neighbours[parent].add(child)
    expected = np.full(count, -1)
    graphs = 0
    for start in range(count):
        if expected[start] >= 0:
            continue
        front = [start]
        while front:
            task = front.pop()
            if expected[task] < 0:
                expected[task] = graphs
                front += neighbours[task]
        graphs += 1
    starts = np.concatenate(([0], np.cumsum([len(positions) for positions in parents])))
    assert graph_numbers(starts, np.concatenate(parents)).tolist() == expected.tolist()


def test_paths_and_times_alone() -> None:
    """A chain of two on a CPU and a GPU; what task 0 leaves on the GPU need not be moved there again."""
    gpu = Device("gpu_0", "gpu", bandwidth=100.0, memory_mb=500.0)
    world = World(ClusterSpec((Device("cpu_0", "cpu"), gpu)))
    tasks = TaskBatch.from_tasks(
        [
            Task(0, 1.0, 1.0, 100.0, duration_estimate=40.0),
            Task(1, 1.0, 1.0, 300.0, duration_estimate=40.0, dependencies=((0, 200.0),)),  # type: ignore[arg-type]
            Task(2, 1.0, 0.0, 600.0, duration_estimate=1.0),
        ]
    )
    facts = graph_facts(world.timed(tasks))
    assert (facts.graph.tolist(), facts.graph_tasks.tolist()) == ([0, 0, 1], [2, 2, 1])
    assert facts.alone_seconds == pytest.approx(np.array([[40.0, 11.0], [40.0, 11.0], [1.0, np.inf]]))
    least = world.timed(tasks).least_seconds()
    assert least[1] < 13.0, "a split beats the GPU alone"
    assert facts.path_seconds == pytest.approx([least[0], least[0] + min(least[1], 11.0), least[2]])
    cut = facts.select(np.array([False, True, False]))
    assert (cut.graph.tolist(), cut.graph_tasks.tolist(), len(cut.alone_seconds)) == ([0], [2], 1)
