"""Reading much of the history in small pages, so that other requests are not delayed."""

from __future__ import annotations

from hybrid_scheduler.store import ComparedTask, Store

PAGE = 100
"""Tasks read at once: some ten milliseconds of the event loop's time."""


async def read_compared(
    store: Store, limit: int, before: int | None, scheduler: str | None = None, *, run_id: int | None = None
) -> list[ComparedTask]:
    """As `Store.comparative`, in small pages between which other calls get their turn.

    Args:
        store: The store.
        limit: Most tasks to give.
        before: Only tasks with ids below.
        scheduler: Only its results.
        run_id: Only tasks of this run; ids of a run are one stretch and earlier runs have lower ones, so reading ends
            where they begin.
    """
    tasks: list[ComparedTask] = []
    while len(tasks) < limit:
        size = min(PAGE, limit - len(tasks))
        page = await store.comparative(size, before, scheduler)
        tasks += page if run_id is None else [compared for compared in page if compared.task.run_id == run_id]
        if len(page) < size or (run_id is not None and page[-1].task.run_id < run_id):
            break
        before = page[-1].task.task_id
    return tasks
