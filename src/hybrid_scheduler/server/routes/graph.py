"""Tasks that depend on each other, as a graph."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query

from hybrid_scheduler.config.world import stored_world
from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.routes.parameters import Before, RunFilter
from hybrid_scheduler.server.schemas import TaskGraph
from hybrid_scheduler.server.services import ServicesOf
from hybrid_scheduler.server.task_graph import critical_path, graph_tasks
from hybrid_scheduler.store import ConnectedTasks, RunRow, Store

router = APIRouter(prefix="/api", tags=["tasks"], responses=declared(503))

KEPT_SECONDS = 1.0
"""All callers share one answer for so long: thousands of tasks are looked through."""
NEWEST_RUNS = 100

MostTasks = Annotated[int, Query(ge=1, le=500, description="Most tasks to send.", examples=[200])]
Placer = Annotated[
    str, Query(min_length=1, max_length=100, description="Whose placements to show.", examples=["greedy"])
]


@router.get(
    "/graph",
    response_model=TaskGraph,
    responses=declared(404),
    summary="Tasks that depend on each other, and the critical path",
)
async def graph(
    services: ServicesOf, scheduler: Placer, limit: MostTasks = 200, before: Before = None, run_id: RunFilter = None
) -> Any:
    """The newest finished tasks that have parents, with these parents, where and when a scheduler ran each, in pages.

    Of one run, because simulated clocks of different runs do not compare: the one asked for, or the newest that the
    scheduler raced in and that has stored tasks. The critical path says why the last of them ended when it did: going
    back from that task, each waited for its last parent or for the task before it on its device, whichever ended later.
    """

    async def made() -> bytes:
        store = services.store
        run = await _newest_run(store, scheduler) if run_id is None else await services.run(run_id)
        found = ConnectedTasks((), 0, None)
        if run is not None:
            found = await store.analysis.connected(run, scheduler, limit, before)
        return orjson.dumps(_document(run, scheduler, found))

    return await services.shared_answer(f"graph {run_id} {before} {limit} {scheduler}", KEPT_SECONDS, made)


async def _newest_run(store: Store, scheduler: str) -> RunRow | None:
    """The newest run with tasks that a scheduler races in, of the latest ones."""
    latest = await store.runs(NEWEST_RUNS)
    return next((run for run in latest if run.tasks > 0 and scheduler in run.schedulers), None)


def _document(run: RunRow | None, scheduler: str, found: ConnectedTasks) -> dict[str, Any]:
    """A `TaskGraph`."""
    world = None if run is None else stored_world(run.configuration)
    tasks = graph_tasks(found.tasks)
    in_use = sorted({part["device"] for task in tasks for part in task["parts"]})
    return {
        "run_id": None if run is None else run.id,
        "scheduler_name": scheduler,
        "devices": in_use if world is None else list(world.cluster.names),
        "searched": found.searched,
        "tasks": tasks,
        "critical_path": [step._asdict() for step in critical_path(found.tasks)],
        "next_cursor": found.next_before,
    }
