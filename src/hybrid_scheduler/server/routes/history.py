"""What is stored: labelled tasks, results of every scheduler, and clearing it all."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import TypeAdapter

from hybrid_scheduler.server.compared_pages import read_compared
from hybrid_scheduler.server.documents import comparative_item, training_record
from hybrid_scheduler.server.errors import ApiError, declared
from hybrid_scheduler.server.routes.parameters import Before, Limit, RunFilter, SchedulerFilter
from hybrid_scheduler.server.schemas import Cleared, ComparativePage, TrainingRecord
from hybrid_scheduler.server.services import ServicesOf
from hybrid_scheduler.store import Store

router = APIRouter(prefix="/api", tags=["history"])

FULL_HISTORY = 1000
FULL_HISTORY_SECONDS = 1.0
"""All callers share one answer for so long."""
_RECORDS = TypeAdapter(list[TrainingRecord])


@router.get(
    "/full_history",
    response_model=list[TrainingRecord],
    responses=declared(429, 503),
    summary="The latest 1000 training records",
)
async def full_history(services: ServicesOf) -> Any:
    """The latest 1000 labelled tasks, newest first: features, best GPU share, best time, whole-task time per device."""
    kept = await services.cache.get("full_history")
    if kept is None:
        rows = await services.store.training(FULL_HISTORY)
        kept = _RECORDS.dump_json(_RECORDS.validate_python([training_record(row) for row in rows]))
        await services.cache.set("full_history", kept, FULL_HISTORY_SECONDS)
    return Response(kept, media_type="application/json")


@router.get(
    "/history/comparative",
    response_model=ComparativePage,
    responses=declared(404, 422, 429, 503),
    summary="Results of every scheduler, task by task",
)
async def comparative(
    services: ServicesOf,
    limit: Limit = 100,
    before: Before = None,
    scheduler: SchedulerFilter = None,
    run_id: RunFilter = None,
) -> Any:
    """Finished tasks with the result of every scheduler in their race, newest first, in pages."""
    store = services.store
    if run_id is not None:
        before = await _end_of_run(store, run_id, before)
    rows = await read_compared(store, limit, before, scheduler, run_id=run_id)
    cursor = rows[-1].task.task_id if len(rows) == limit else None
    # Encoded here: a large page through the model would cost as much again as reading it.
    document = {"items": [comparative_item(row) for row in rows], "next_cursor": cursor}
    return Response(orjson.dumps(document), media_type="application/json")


async def _end_of_run(store: Store, run_id: int, before: int | None) -> int:
    """Where the page of a run starts: at the end of its ids, or where the caller wants it before that."""
    run = await store.run(run_id)
    if run is None:
        raise ApiError(404, f"there is no run {run_id}")
    end = run.first_task_id if run.last_task_id is None else run.last_task_id + 1
    return end if before is None else min(before, end)


@router.delete(
    "/history",
    response_model=Cleared,
    responses={
        202: {"model": Cleared, "description": "It takes long and goes on; this much is gone so far."},
        **declared(401, 403, 409, 413, 429, 503),
    },
    summary="Clear the history",
)
async def clear_history(services: ServicesOf, response: Response) -> Any:
    """Forget all stored tasks, results, labels, means, learning curves, measured times, and the runs that are over.

    What is stored meanwhile stays, and so do models; ids go on growing.
    """
    cleared = await services.leader.command("clear")
    await services.cache.clear()
    response.status_code = 200 if cleared["done"] else 202
    return cleared
