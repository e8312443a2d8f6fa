"""A comparison that is kept in the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.api.result import CompareResult
from hybrid_scheduler.cli.output import progress_bar
from hybrid_scheduler.config.store import store_room, store_url
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import IntArray, TaskBatch

if TYPE_CHECKING:
    from hybrid_scheduler.store import Batch, RunRow, Store

BLOCK = 10_000
"""Tasks whose outcomes become rows at a time; a multiple of `BATCH`."""
BATCH = 2_000
"""Tasks that are written at once: a fraction of a second, so that nobody else waits long."""


class KeptRun:
    """Stores a comparison when it is over.

    A store that cannot be used is refused before the race, not after it.
    """

    def __init__(self) -> None:
        self._url = store_url()
        self._started = datetime.now(UTC)
        asyncio.run(self._try_store())

    def save(self, result: CompareResult) -> str:
        """Store the run; gives where, in words."""
        return asyncio.run(self._save(result))

    async def _try_store(self) -> None:
        store = await store_room().open_store(self._url)
        await store.close()

    async def _save(self, result: CompareResult) -> str:
        document, comparison = result.to_json(), result.race.comparison
        tasks = comparison.tasks
        async with await store_room().open_store(self._url) as store:
            run: RunRow = await store.begin_run(
                "compare",
                seed=comparison.seed,
                configuration={name: document[name] for name in ("workload", "cluster", "node") if name in document},
                schedulers=list(result),
                reserve=len(tasks),
                started=self._started,
            )
            try:
                with progress_bar(["storing"], len(tasks)) as progress:
                    async for done in _write(store, run, tasks, result):
                        if progress is not None:
                            progress("storing", done)
            except asyncio.CancelledError:
                await store.end_run(run.id, "interrupted")
                raise
            except Exception:
                await store.end_run(run.id, "failed")
                raise
            await store.end_run(run.id, "finished", document["schedulers"])
            return f"run {run.id} in {store.address}"


async def _write(store: Store, run: RunRow, tasks: TaskBatch, result: CompareResult) -> AsyncIterator[int]:
    """Write batch by batch, every task with the results of all schedulers; tells how many tasks are written."""
    ids = run.first_task_id + _numbers(tasks)
    for start in range(0, len(tasks), BLOCK):
        inside = np.zeros(len(tasks), dtype=np.bool_)
        inside[start : start + BLOCK] = True
        outcomes = {name: iter(result.outcomes(name).batch.select(inside)) for name in result}
        for first in range(start, min(start + BLOCK, len(tasks)), BATCH):
            last = min(first + BATCH, len(tasks))
            await store.write(_batch(run, tasks, ids, range(first, last), outcomes))
            yield last


def _numbers(tasks: TaskBatch) -> IntArray:
    """The number of every task in the run: its id, unless a file numbers its tasks in some other way."""
    count = len(tasks)
    counted = bool(tasks.task_id.max() == count - 1)  # ids are unique and at least 0
    return tasks.task_id if counted else np.arange(count, dtype=np.int64)


def _batch(
    run: RunRow, tasks: TaskBatch, ids: IntArray, positions: range, outcomes: dict[str, Iterator[Outcome]]
) -> Batch:
    from hybrid_scheduler.store import Batch, result_row, task_row

    stored = ids[positions.start : positions.stop].tolist()
    rows = []
    for position, task_id in zip(positions, stored, strict=True):
        parents = tasks.parents[tasks.parent_start[position] : tasks.parent_start[position + 1]]
        named, data = ids[parents].tolist(), tasks.dependency_mb_of(position)
        dependencies = tuple(zip(named, data, strict=True)) if data else named
        rows.append(task_row(tasks[position], run.id, task_id, dependencies))
    by_name = {name: list(islice(batch, len(stored))) for name, batch in outcomes.items()}
    results = [
        result_row(by_name[name][index], name, task_id) for index, task_id in enumerate(stored) for name in outcomes
    ]
    return Batch(rows, results)
