"""One task: putting one's own into the race, and looking closely at a finished one."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from fastapi import APIRouter

from hybrid_scheduler.config.world import stored_world
from hybrid_scheduler.server.decision_review import review
from hybrid_scheduler.server.documents import comparative_item
from hybrid_scheduler.server.errors import CHANGING, ApiError, declared
from hybrid_scheduler.server.routes.parameters import TaskNumber
from hybrid_scheduler.server.schemas import TaskAccepted, TaskDetail, TaskRequest
from hybrid_scheduler.server.services import ServicesOf, json_answer
from hybrid_scheduler.store import ComparedTask, Store

router = APIRouter(prefix="/api", tags=["tasks"], responses=CHANGING)

DETAIL_SECONDS = 60.0
"""A finished task does not change; its detail is kept for so long."""


@router.post("/tasks", status_code=201, response_model=TaskAccepted, summary="Put a task into the live race")
async def submit_task(task: TaskRequest, services: ServicesOf) -> Any:
    """Put a task of your own into the live stream; the service gives its id.

    Answers once the task is stored: with every scheduler's decision and its reasons, what each device would have taken,
    and what will come of it if nothing disturbs it. What came of it in the end is in the history.
    """
    return json_answer(orjson.dumps(await services.leader.command("submit", **task.model_dump())), 201)


@router.get(
    "/tasks/{task_id}",
    response_model=TaskDetail,
    responses=declared(404),
    summary="A finished task and every decision about it",
)
async def task_detail(task_id: TaskNumber, services: ServicesOf) -> Any:
    """A finished task with all results, and for each scheduler what every device would have taken.

    Waits follow from the queues stored with the decision, and are null where those are not known (an older version
    stored the task). `regret` is the response time above the best that the oracle's search (every device,
    shares in steps of 5 %) finds for the same task, queues and moment; 0 when the scheduler found something better.
    """

    async def made() -> bytes:
        store = services.store
        latest = await store.comparative(1, before=task_id + 1)
        if not latest or latest[0].task.task_id != task_id:
            raise await _absent(store, task_id)
        detail = await _detail(store, latest[0])
        return TaskDetail.model_validate(detail).model_dump_json().encode()

    return await services.shared_answer(f"task:{task_id}", DETAIL_SECONDS, made)


async def _absent(store: Store, task_id: int) -> ApiError:
    """Why a task is not there: it may only not be finished."""
    if any(task.task_id == task_id for task in await store.submitted()):
        message = f"task {task_id} is in the race; look again when every scheduler has finished it"
        return ApiError(409, message, code="not_finished")
    return ApiError(404, f"there is no finished task {task_id}; a task is here once every scheduler has finished it")


async def _detail(store: Store, compared: ComparedTask) -> dict[str, Any]:
    task = compared.task
    labels = await store.training(1, before=task.task_id + 1)
    label = labels[0] if labels and labels[0].task_id == task.task_id else None
    run = await store.run(task.run_id)
    world = None if run is None else stored_world(run.configuration)
    # A first call loads compiled code; the event loop has better things to do.
    decisions = await asyncio.to_thread(review, compared, label, world)
    return {
        **comparative_item(compared),
        "optimal_gpu_fraction": None if label is None else label.optimal_gpu_fraction,
        "optimal_time": None if label is None else label.optimal_time,
        "decisions": decisions,
    }
