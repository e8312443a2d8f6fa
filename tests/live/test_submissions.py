"""Submitted tasks are stored in groups, in order, and each hears of its own fate."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

import pytest

from hybrid_scheduler.live.submissions import Submissions
from hybrid_scheduler.store import StoreError, SubmittedTask


class SlowWriter:
    """Takes groups and finishes them when told."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.futures: list[Future[None]] = []

    def at_once(self, call: Any) -> Future[None]:
        call(self)
        future: Future[None] = Future()
        self.futures.append(future)
        return future

    def submit(self, tasks: list[SubmittedTask]) -> None:
        self.groups.append([task.task_id for task in tasks])


def task(number: int) -> SubmittedTask:
    return SubmittedTask(number, 1, 900.0, 0.5, 40.0, (), datetime.now(UTC))


def test_tasks_gather_while_a_transaction_is_under_way() -> None:
    writer, woken = SlowWriter(), []
    submissions = Submissions(writer, lambda: woken.append(1))  # type: ignore[arg-type]
    stored = [submissions.add(task(number)) for number in range(6)]
    assert writer.groups == [[0]]
    writer.futures[0].set_result(None)
    assert writer.groups == [[0], [1, 2, 3, 4, 5]]
    assert [future.done() for future in stored] == [True] + [False] * 5
    writer.futures[1].set_result(None)
    assert all(future.result(0) for future in stored)
    assert len(woken) == 2
    submissions.add(task(9))
    assert writer.groups[-1] == [9]


def test_a_group_that_cannot_be_stored_is_refused_and_the_next_one_is_tried() -> None:
    writer = SlowWriter()
    submissions = Submissions(writer, lambda: None)  # type: ignore[arg-type]
    first, second = submissions.add(task(1)), submissions.add(task(2))
    writer.futures[0].set_exception(StoreError("no"))
    with pytest.raises(StoreError, match="no"):
        first.result(0)
    writer.futures[1].set_result(None)
    second.result(0)
