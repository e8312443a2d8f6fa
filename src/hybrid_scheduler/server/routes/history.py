"""What is stored: labelled tasks, results of every scheduler, and clearing it all."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import TypeAdapter

from hybrid_scheduler.server.compared_pages import read_compared
from hybrid_scheduler.server.documents import comparative_item
from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.routes.parameters import PageOf
from hybrid_scheduler.server.schemas import Cleared, ComparativePage, TrainingRecord
from hybrid_scheduler.server.services import ServicesOf, json_answer

router = APIRouter(prefix="/api", tags=["history"], responses=declared(503))

FULL_HISTORY = 1000
FULL_HISTORY_SECONDS = 1.0
"""All callers share one answer for so long."""
_RECORDS = TypeAdapter(list[TrainingRecord])


@router.get("/full_history", response_model=list[TrainingRecord], summary="The latest 1000 training records")
async def full_history(services: ServicesOf) -> Any:
    """The latest 1000 labelled tasks, newest first: features, best GPU share, best time, whole-task time per device."""

    async def made() -> bytes:
        rows = await services.store.training(FULL_HISTORY)
        return _RECORDS.dump_json(_RECORDS.validate_python([row._asdict() for row in rows]))

    return await services.shared_answer("full_history", FULL_HISTORY_SECONDS, made)


@router.get(
    "/history/comparative",
    response_model=ComparativePage,
    responses=declared(404),
    summary="Results of every scheduler, task by task",
)
async def comparative(page: PageOf, services: ServicesOf) -> Any:
    """Finished tasks with the result of every scheduler in their race, newest first, in pages."""
    before = page.before
    if page.run_id is not None:
        before = (await services.run(page.run_id)).tasks_before(before)
    rows = await read_compared(services.store, page.limit, before, page.scheduler, run_id=page.run_id)
    cursor = rows[-1].task.task_id if len(rows) == page.limit else None
    return json_answer(orjson.dumps({"items": [comparative_item(row) for row in rows], "next_cursor": cursor}))


@router.delete(
    "/history",
    response_model=Cleared,
    responses={
        202: {"model": Cleared, "description": "It takes long and goes on; this much is gone so far."},
        **declared(409),
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
