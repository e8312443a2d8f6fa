"""Graph presets: their names and parameters, shapes of the random ones, and streams of whole graphs."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.physics.device import PCIE_MB_PER_SECOND
from hybrid_scheduler.testing import check_workload
from hybrid_scheduler.workloads import GRAPH_PRESETS, PRESETS, WorkloadGenerator, find_graph, find_preset
from hybrid_scheduler.workloads.graph import GraphShape, shape_of
from hybrid_scheduler.workloads.graphs.cholesky import Cholesky
from hybrid_scheduler.workloads.graphs.drawn import MEAN_SECONDS
from hybrid_scheduler.workloads.graphs.layered import Layered


def shape(tasks: TaskBatch) -> GraphShape:
    found = shape_of(np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start)), tasks.parents, len(tasks))
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(GRAPH_PRESETS))
def test_they_are_workloads_like_others(name: str) -> None:
    assert name not in PRESETS
    preset = find_graph(name)
    assert preset is not None
    assert (preset.name, preset.text) == (name, name)
    assert preset.summary
    check_workload(lambda seed: WorkloadGenerator(seed).stream(name))


@pytest.mark.parametrize("name", sorted(GRAPH_PRESETS))
def test_whole_graphs_one_after_the_other(name: str) -> None:
    size = GRAPH_PRESETS[name]().tasks
    for wanted, graphs in ((1, 1), (size, 1), (size + 1, 2), (3 * size - 1, 3)):
        tasks = WorkloadGenerator(5).generate(name, wanted, 40.0)
        assert len(tasks) == graphs * size
        times = tasks.arrival_time.reshape(graphs, size)
        assert (times == times[:, :1]).all(), "the tasks of a graph arrive together"
        assert times[0, 0] == 0.0
        assert len(np.unique(times[:, 0])) == graphs
        child = np.repeat(np.arange(len(tasks)), np.diff(tasks.parent_start))
        assert (child // size == tasks.parents // size).all(), "nothing joins two graphs"
        assert len(tasks.parent_mb) == len(tasks.parents)
    assert list(WorkloadGenerator(5).stream(name, 40.0, 3 * size - 1)) == list(tasks)


def test_graphs_come_at_the_rate_of_tasks() -> None:
    tasks = WorkloadGenerator(1).generate("fork_join:stages=1,width=2", 4 * 4000, 8.0)
    gaps = np.diff(tasks.arrival_time[::4])
    assert gaps.mean() == pytest.approx(4 / 8.0, rel=0.06)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.06), "a Poisson process"
    faster = WorkloadGenerator(1).generate("fork_join:stages=1,width=2", 4 * 4000, 16.0)
    assert faster.arrival_time == pytest.approx(tasks.arrival_time / 2)


@pytest.mark.parametrize(("edges", "ccr"), [(0.0, 0.5), (0.3, 2.0), (1.0, 0.0)])
def test_layered_is_as_deep_wide_and_dense_as_asked(edges: float, ccr: float) -> None:
    preset = Layered(layers=12, width=40, edges=edges, ccr=ccr)
    tasks = WorkloadGenerator(2).generate(preset, 1)
    found = shape(tasks)
    assert (found.depth, found.width, found.roots) == (12, 40, 40)
    possible = 11 * 40 * 40
    alone = 11 * 40 * (1 - edges) ** 40  # tasks that were given one parent
    assert found.dependencies == pytest.approx(edges * possible + alone, rel=0.05)
    seconds = tasks.duration_estimate
    assert seconds.mean() == pytest.approx(MEAN_SECONDS, rel=0.05)
    assert tasks.parent_mb.mean() / PCIE_MB_PER_SECOND == pytest.approx(ccr * MEAN_SECONDS, rel=0.06)
    received = np.add.reduceat(tasks.parent_mb, tasks.parent_start[40:-1])
    assert tasks.memory_required[40:] == pytest.approx(received), "what comes from parents is what a task works on"


def test_fork_join_and_map_reduce_have_their_shapes() -> None:
    fork_join = WorkloadGenerator().generate("fork_join:stages=4,width=7", 1)
    assert shape(fork_join) == GraphShape(4 * 14, 9, 7, 1)
    assert fork_join.dependencies_of(8) == tuple(range(1, 8))
    map_reduce = WorkloadGenerator().generate("map_reduce:maps=6,reduces=4,split_mb=32", 1)
    assert shape(map_reduce) == GraphShape(24, 2, 6, 6)
    assert [task.kind for task in map_reduce] == ["map"] * 6 + ["reduce"] * 4
    assert [task.memory_required for task in map_reduce] == pytest.approx([32.0] * 6 + [48.0] * 4)
    assert map_reduce.parent_mb == pytest.approx(np.full(24, 8.0))


def test_parameters() -> None:
    assert find_graph("cholesky:tiles=4,tile=96") == Cholesky(tiles=4, tile=96)
    assert find_graph("layered:ccr=2") == Layered(ccr=2.0)
    assert Layered(width=3, ccr=0.25).text == "layered:width=3,ccr=0.25"
    assert find_graph(Layered(width=3, ccr=0.25).text) == Layered(width=3, ccr=0.25)
    assert find_graph("mixed") is None
    assert find_graph("drift:mixed:uniform") is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cholesky:tile=0", "tile of preset cholesky is 0, but it must be a whole number from 16"),
        ("cholesky:tiles=2.5", r"'tiles=2.5' of preset cholesky must be a whole number from 1 to 100, e.g. tiles=10"),
        ("qr:tles=3", "unknown parameter of preset qr 'tles': did you mean 'tiles'"),
        ("lu:tiles", "'tiles' of preset lu must be a whole number"),
        ("layered:edges=nan", "edges of preset layered is nan"),
        ("layered:layers=100000,width=1000", "has 100000000 tasks in a graph, but it must be at most 1000000"),
        ("layered:layers=1000,width=200", "has 39960000 possible edges .* at most 20000000"),
        ("choleski", "unknown preset 'choleski': did you mean 'cholesky'"),
    ],
)
def test_what_is_wrong_is_said(name: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        WorkloadGenerator().generate(name, 1)


def test_graphs_have_tasks_of_their_own() -> None:
    with pytest.raises(InvalidInputError, match=r"a memory range is for presets of single tasks, but lu:tiles=2 makes"):
        WorkloadGenerator().generate("lu:tiles=2", 1, memory_range=(1.0, 2.0))
    with pytest.raises(InvalidInputError, match=r"dependency_prob is for presets of single tasks"):
        WorkloadGenerator().stream("lu", dependency_prob=0.5)
    with pytest.raises(InvalidInputError, match=r"preset 'lu' makes whole graphs, but here it must be one of mixed"):
        find_preset("lu")
    with pytest.raises(InvalidInputError, match=r"unknown preset to drift between 'lu'"):
        find_preset("drift:lu:mixed")
