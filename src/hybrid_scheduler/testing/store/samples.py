"""Runs and rows the checks of a store work with, and how they look at what is stored."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.store import Batch, PartRow, ResultRow, RunRow, Store, TaskRow, TrainingRow

OpenStore = Callable[[], Awaitable[Store]]
"""Opens a store; called again, the same one once more, as another process would."""

StoreCheck = Callable[[OpenStore], Coroutine[Any, Any, None]]

SCHEDULERS = ("greedy", "Größte zuerst 任务")
BEYOND = 2**63
LEASE = 0.3
"""Seconds; long enough that a slow machine does not lose it between two statements of a check."""


async def begin(store: Store, reserve: int = 1000, kind: str = "live") -> RunRow:
    """Begin a run like any other."""
    return await store.begin_run(kind, seed=7, configuration={}, schedulers=SCHEDULERS, reserve=reserve)


def sample(run: RunRow, numbers: Sequence[int], schedulers: Sequence[str] = SCHEDULERS) -> Batch:
    """Tasks of these numbers in the run, with the results of every scheduler and labels; no two figures alike."""
    tasks, results, labels = [], [], []
    for number in numbers:
        task_id = run.first_task_id + number
        parents = (task_id - 1,) if number % 3 == 2 else ()
        known = (None, None) if number % 4 == 3 else (1e-3 / (number + 3), f"Größe {number}")
        tasks.append(TaskRow(task_id, run.id, 100.5 + number, 0.25, 1e-9, number / 7, parents, *known))
        for index, name in enumerate(schedulers):
            gpu = None if index % 2 else 3
            times = (0.1 + number, 0.2, 0.3 + number, 1e9 / 3, 22.5 * number, 1e-7 / (index + 3))
            parts = (
                PartRow("gpu_3", 0.7, number / 3, number / 3 + 0.1, 0.25),
                PartRow("Gerät-ü", 0.3, 0.0, 1e300, None, lost=True),
            )
            reason = f"zu spät ({number})" if number % 2 else None
            queue = (0.0, number / 11, math.inf, *[0.0] * 12, 1 / 3)
            result = ResultRow(task_id, name, 0.7, gpu, *times, bool(number % 2), parts, reason)
            if number % 4 != 3:
                result = result._replace(
                    ready_time=number / 7 + index,
                    queue_seconds=queue[: 3 + 13 * index],
                    decided_time=number / 7 + 2 * index,
                    overtaken=1000 * number + index,
                )
            results.append(result)
        labels.append(TrainingRow(task_id, 100.5 + number, 0.25, 1e-9, 0.9, 0.1, {"cpu_0": 1 / 3, "gpu_0": None}))
    return Batch(tasks, results, labels)


async def stored_numbers(store: Store, run: RunRow) -> list[int]:
    """The numbers of the run's tasks in the store, in order; each must be there with all its results."""
    stored = [entry for entry in await store.comparative(10_000) if entry.task.run_id == run.id]
    for task, results in stored:
        assert len(results) == len(SCHEDULERS), f"task {task.task_id} has {len(results)} of {len(SCHEDULERS)} results"
    return sorted(task.task_id - run.first_task_id for task, _ in stored)


async def refused(call: Callable[[], Awaitable[object]], what: str) -> InvalidInputError:
    """The call must raise `InvalidInputError`, which is given."""
    try:
        await call()
    except InvalidInputError as error:
        return error
    raise AssertionError(f"{what} was accepted, but must raise InvalidInputError")
