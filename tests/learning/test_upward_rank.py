"""Upward ranks on graphs small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.learning.upward_rank import upward_ranks
from hybrid_scheduler.model.task import FloatArray, TaskBatch


def ranks(dependencies: list[list[int]], seconds: list[float] | None = None) -> FloatArray:
    n = len(dependencies)
    tasks = TaskBatch.from_columns(np.full(n, 500.0), np.full(n, 0.5), np.full(n, 10.0), dependencies=dependencies)
    return upward_ranks(tasks.parent_start, tasks.parents, np.array(seconds or [1.0] * n))


def test_a_chain_falls_by_the_work_of_each_task() -> None:
    assert ranks([[], [0], [1], [2]]).tolist() == [1.0, 0.75, 0.5, 0.25]
    assert ranks([[], [0], [1]], [1.0, 2.0, 5.0]).tolist() == [1.0, 7 / 8, 5 / 8]


def test_the_longest_way_counts_not_the_one_with_most_tasks() -> None:
    """Task 0 leads to 3 through 1, which takes long, and through 2, which does not."""
    assert ranks([[], [0], [0], [1, 2]], [1.0, 6.0, 2.0, 1.0]) == pytest.approx([1.0, 7 / 8, 3 / 8, 1 / 8])


def test_parents_may_have_any_position() -> None:
    """The last task is the first to run."""
    assert ranks([[1], [2], []]) == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_each_graph_is_measured_by_itself_and_a_task_alone_has_no_rank() -> None:
    """0 -> 1 takes four seconds; 2 -> 4 and 3 -> 4 forty; 5 is in no graph."""
    found = ranks([[], [0], [], [], [2, 3], []], [3.0, 1.0, 10.0, 30.0, 10.0, 100.0])
    assert found == pytest.approx([1.0, 0.25, 0.5, 1.0, 0.25, 0.0])


def test_the_ranks_of_the_heft_paper_without_its_data() -> None:
    """Its ten tasks (table and graph of the paper's figure 3), mean seconds, no communication."""
    mean = [13.0, 50 / 3, 43 / 3, 38 / 3, 35 / 3, 38 / 3, 11.0, 10.0, 50 / 3, 44 / 3]
    parents: list[list[int]] = [[], [0], [0], [0], [0], [0], [2], [1, 3, 5], [1, 3, 4], [6, 7, 8]]
    last = mean[9]
    ninth, through_ninth = mean[8] + last, mean[1] + mean[8] + last
    found = ranks(parents, mean) * (mean[0] + through_ninth)
    assert found[[9, 8, 1]] == pytest.approx([last, ninth, through_ninth])
    assert found[6] == pytest.approx(mean[6] + last)
    assert found[5] == pytest.approx(mean[5] + mean[7] + last)
