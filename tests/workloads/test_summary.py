"""Figures of workloads: distributions, arrivals and graphs against plain computations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_scheduler.model import InvalidInputError, TaskBatch
from hybrid_scheduler.workloads import WorkloadGenerator, summary
from hybrid_scheduler.workloads.chunks import TaskChunk, chunk_of
from hybrid_scheduler.workloads.graph import shape_of
from hybrid_scheduler.workloads.recorded import TraceFile
from hybrid_scheduler.workloads.summary import QUANTILES, summarise_chunks


def cut(values: TaskChunk, size: int) -> Iterator[TaskChunk]:
    for first in range(0, len(values), size):
        rows = slice(first, first + size)
        yield TaskChunk(
            {name: column[rows] for name, column in values.figures.items()},
            None if values.arrival_time is None else values.arrival_time[rows],
        )


def test_figures_of_a_workload() -> None:
    tasks = WorkloadGenerator(1).generate("mixed", 5000, 4.0)
    found = summarise_chunks(cut(chunk_of(TraceFile(tasks, ())), 700), 1)
    assert found.tasks == 5000
    assert not found.is_sampled
    of = found.figures["size"]
    assert (of.known, of.low, of.high) == (5000, tasks.size.min(), tasks.size.max())
    assert of.mean == pytest.approx(tasks.size.mean())
    assert of.quantiles == pytest.approx(tuple(np.quantile(tasks.size, QUANTILES)))
    assert found.arrivals is not None
    assert found.arrivals.rate == pytest.approx(4.0, rel=0.1)
    assert found.arrivals.variation == pytest.approx(1.0, abs=0.1)
    assert found.arrivals.burstiness == pytest.approx(0.0, abs=0.05)
    assert found.graph is None


def test_burstiness_tells_presets_apart_and_a_clock() -> None:
    bursty = WorkloadGenerator(1).generate("bursty", 5000)
    found = summarise_chunks([chunk_of(TraceFile(bursty, ()))], 1).arrivals
    assert found is not None
    assert found.burstiness > 0.2
    assert found.peak > 2
    clock = TaskChunk({"size": np.ones(101)}, np.arange(101.0))
    regular = summarise_chunks([clock], 1).arrivals
    assert regular is not None
    assert regular.burstiness == pytest.approx(-1.0)


def test_unknown_values_are_left_out() -> None:
    found = summarise_chunks([TaskChunk({"width": np.array([1.0, np.nan, 3.0]), "none": np.full(3, np.nan)})], 1)
    assert (found.figures["width"].known, found.figures["width"].mean) == (2, 2.0)
    assert found.figures["none"].known == 0
    assert np.isnan(found.figures["none"].mean)


def test_large_workloads_are_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "SAMPLE_TASKS", 2000)
    whole = TaskChunk({"size": np.arange(40_000.0)})
    found = summarise_chunks(cut(whole, 999), 5)
    assert found.is_sampled
    sample = found.sample["size"]
    assert len(set(sample.tolist())) == 2000
    # Uniform over 40 000: the mean of 2000 lies within four standard errors.
    assert abs(sample.mean() - 20_000) < 4 * 40_000 / np.sqrt(12 * 2000)
    assert np.histogram(sample, bins=4, range=(0, 40_000))[0].min() > 400
    again = summarise_chunks(cut(whole, 7777), 5)
    assert again.sample["size"].tolist() == sample.tolist()
    assert summarise_chunks(cut(whole, 999), 6).sample["size"].tolist() != sample.tolist()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60))
def test_depth_and_width_of_any_graph(pairs: list[tuple[int, int]]) -> None:
    edges = sorted({(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1]})
    level = [0] * 31
    for child, parent in edges:
        level[child] = max(level[child], level[parent] + 1)
    names = np.random.default_rng(len(edges)).permutation(31)  # depth and width do not depend on the order
    children, parents = names[[c for c, _ in edges]], names[[p for _, p in edges]]
    found = shape_of(children.astype(np.int64), parents.astype(np.int64), 31)
    assert found is not None
    widest = max(level.count(depth) for depth in level)
    assert (found.dependencies, found.depth, found.width, found.roots) == (
        len(edges),
        max(level) + 1,
        widest,
        level.count(0),
    )


def test_a_cycle_has_no_shape() -> None:
    assert shape_of(np.array([0, 1, 2]), np.array([1, 0, 0]), 3) is None


def chunk(ids: list[int], edges: list[tuple[int, int]]) -> TaskChunk:
    child, parent = (np.array(side, dtype=np.int64) for side in zip(*edges, strict=True))
    return TaskChunk({"size": np.ones(len(ids))}, task_id=np.array(ids), child=child, parent=parent)


def test_ids_in_any_order() -> None:
    found = summarise_chunks([chunk([9, 4, 7], [(4, 7), (9, 4)])], 1).graph
    assert found is not None
    assert (found.depth, found.width) == (3, 1)


def test_ids_that_stop_being_positions() -> None:
    pieces = [chunk([0, 1, 2], [(1, 0)]), chunk([9, 7], [(7, 9), (9, 2)])]
    found = summarise_chunks(pieces, 1).graph
    assert found is not None
    assert (found.dependencies, found.depth, found.roots) == (3, 3, 2)
    with pytest.raises(InvalidInputError, match="task id 1 occurs twice, in rows 2 and 5"):
        summarise_chunks([pieces[0], chunk([9, 1], [(1, 0)])], 1)
    with pytest.raises(InvalidInputError, match="task 2 depends on task 3, which does not exist"):
        summarise_chunks([chunk([0, 1, 2], [(2, 3)])], 1)


@pytest.mark.parametrize(
    ("ids", "edges", "message"),
    [
        ([5, 3, 5], [(3, 5)], "task id 5 occurs twice, in rows 1 and 3; ids are unique"),
        ([5, 3], [(3, 4)], "task 3 depends on task 4, which does not exist"),
        ([5, 3], [(3, 9)], "task 3 depends on task 9, which does not exist"),
        ([5, 3], [(3, 5), (5, 3)], r"the tasks (\d) -> \d -> \1 wait for each other; break the cycle"),
    ],
)
def test_broken_graphs(ids: list[int], edges: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        summarise_chunks([chunk(ids, edges)], 1)


def test_nothing_to_summarise() -> None:
    with pytest.raises(InvalidInputError, match="there is no task"):
        summarise_chunks([], 1)


def test_a_batch_with_parents_later_in_the_file() -> None:
    tasks = TaskBatch.from_columns(np.ones(3), np.ones(3), np.ones(3), dependencies=[[2], [0], []])
    found = summarise_chunks([chunk_of(TraceFile(tasks, ()))], 1).graph
    assert found is not None
    assert (found.dependencies, found.depth, found.width, found.roots) == (2, 3, 1, 1)
