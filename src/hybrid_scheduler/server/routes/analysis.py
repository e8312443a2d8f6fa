"""How it went over time and across runs: means, learning curves, retrainings, and what was collected."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from hybrid_scheduler.server.documents import means_point, page_of, run_means
from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.openapi import content
from hybrid_scheduler.server.routes.parameters import PageOf, RunFilter, RunNumber, SchedulerFilter
from hybrid_scheduler.server.schemas import (
    CollectedData,
    HistoryMark,
    LearningCurve,
    MeansOverTime,
    MeansPoint,
    RetrainingPage,
    RunMeans,
)
from hybrid_scheduler.server.services import Services, ServicesOf
from hybrid_scheduler.store.analysis import stretch_for

router = APIRouter(prefix="/api", tags=["history"], responses=declared(503))

KEPT_SECONDS = 10.0
"""All callers share one answer for so long: years of hours are added up, results are counted one by one."""
LATEST = 4_102_444_800
"""The year 2100."""

Since = Annotated[int | None, Query(ge=0, le=LATEST, description="Seconds since 1970; without it, from the beginning.")]
Until = Annotated[int | None, Query(ge=0, le=LATEST, description="Seconds since 1970; without it, up to now.")]
Points = Annotated[int, Query(ge=2, le=2000, description="About so many points per learner.")]


@router.get("/history/means", response_model=MeansOverTime, summary="Means per scheduler over time")
async def means(
    services: ServicesOf, since: Since = None, until: Until = None, scheduler: SchedulerFilter = None
) -> Any:
    """Mean response, energy and cost, and the share of wins, over all live runs, also of tasks that were pruned since.

    The stretch of time of one point follows from the range. Marks say where learners were retrained and saved.
    """

    async def made() -> bytes:
        first, last, seconds = await _range(services, since, until)
        analysis = services.store.analysis
        found = MeansOverTime(
            since=first,
            until=last,
            stretch_seconds=seconds,
            items=[MeansPoint(**means_point(row)) for row in await analysis.means(first, last, seconds, scheduler)],
            marks=[HistoryMark(**row._asdict()) for row in await analysis.marks(first, last, seconds)],
        )
        return found.model_dump_json().encode()

    return await services.shared_answer(f"means {since} {until} {scheduler}", KEPT_SECONDS, made)


@router.get(
    "/history/means.csv",
    response_class=Response,
    responses=content("A table with a head.", "text/csv"),
    summary="The same as a table",
)
async def means_table(
    services: ServicesOf, since: Since = None, until: Until = None, scheduler: SchedulerFilter = None
) -> Response:
    """The points of `/api/history/means` as CSV."""
    first, last, seconds = await _range(services, since, until)
    rows = await services.store.analysis.means(first, last, seconds, scheduler)
    columns = ["start", *(name for name in MeansPoint.model_fields if name != "start")]
    file = io.StringIO()
    table = csv.DictWriter(file, columns, lineterminator="\n")
    table.writeheader()
    table.writerows({**point, "start": point["start"].isoformat()} for point in map(means_point, rows))
    headers = {"Content-Disposition": 'attachment; filename="history.csv"'}
    return Response(file.getvalue(), media_type="text/csv", headers=headers)


async def _range(services: Services, since: int | None, until: int | None) -> tuple[datetime, datetime, int]:
    """The range in question and the stretch of time of one point."""
    now = datetime.now(UTC)
    last = _moment(until) or now
    first = _moment(since) or await services.store.analysis.first_hour() or last
    return first, last, stretch_for(first, last, now)


def _moment(second: int | None) -> datetime | None:
    return None if second is None else datetime.fromtimestamp(second, UTC)


@router.get("/history/retrainings", response_model=RetrainingPage, summary="Refreshes that changed a model")
async def retrainings(page: PageOf, services: ServicesOf) -> Any:
    """What each replaced and what that did to the error, newest first, in pages. Saved models are in `/api/models`."""
    found = await services.store.analysis.retrainings(page.limit, page.before, page.scheduler, page.run_id)
    return page_of(found, page.limit)


@router.get("/history/learning", response_model=list[LearningCurve], summary="Learning curves")
async def learning(
    services: ServicesOf,
    run_id: RunFilter = None,
    scheduler: SchedulerFilter = None,
    since: Since = None,
    until: Until = None,
    points: Points = 500,
) -> Any:
    """The learners' own figures over time, of one run or across all, oldest first, thinned evenly."""
    rows = await services.store.analysis.learning(run_id, scheduler, _moment(since), _moment(until), points)
    names = sorted({row.scheduler_name for row in rows})
    return [
        {"scheduler_name": name, "points": [row._asdict() for row in rows if row.scheduler_name == name]}
        for name in names
    ]


@router.get("/history/collected", response_model=CollectedData, summary="The data collected over all runs")
async def collected(services: ServicesOf) -> Any:
    """How much there is of what, and since when; at most some seconds old."""

    async def made() -> bytes:
        found = CollectedData.model_validate((await services.store.analysis.collected())._asdict())
        return found.model_dump_json().encode()

    return await services.shared_answer("collected", KEPT_SECONDS, made)


@router.get(
    "/runs/{run_id}/figures",
    response_model=list[RunMeans],
    responses=declared(404),
    summary="What the tasks of one run came to",
)
async def figures_of_run(run_id: RunNumber, services: ServicesOf) -> Any:
    """Means per scheduler over the stored tasks of a run, pruned ones included; two runs are compared by asking twice.

    A run that was stored before such means were kept gives those of its summary.
    """
    return run_means(await services.run(run_id), await services.store.analysis.run_means([run_id]))
