"""Experiments: start, follow, cancel; and the files of those that are stored."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from hybrid_scheduler.server.errors import CHANGING, ApiError, declared
from hybrid_scheduler.server.openapi import content
from hybrid_scheduler.server.routes.parameters import FileName, JobId, RunNumber
from hybrid_scheduler.server.run_files import PAGE_POLICY, TYPES, run_files
from hybrid_scheduler.server.schemas import ExperimentJob, ExperimentOverview, ExperimentRequest, RunFile
from hybrid_scheduler.server.services import Services, ServicesOf

router = APIRouter(prefix="/api", tags=["experiments"])


@router.post(
    "/experiments", status_code=202, response_model=ExperimentJob, responses=CHANGING, summary="Start an experiment"
)
async def start_experiment(wanted: ExperimentRequest, services: ServicesOf) -> Any:
    """Start a named experiment in the background, one at a time (409 `experiment_running`).

    It writes to a folder of its own in RESULTS_FOLDER, is stored as a run, and ends with the service.
    """
    return await services.experiments.start(wanted.name, wanted.seeds, wanted.tasks)


@router.get("/experiments", response_model=ExperimentOverview, summary="Experiments and latest jobs")
async def experiments(services: ServicesOf) -> Any:
    """The experiments there are, and the latest jobs that this server process started, newest first."""
    available = await asyncio.to_thread(_available)
    return {"available": available, "jobs": await services.experiments.documents()}


@router.get("/experiments/{job_id}", response_model=ExperimentJob, responses=declared(404), summary="One job")
async def experiment_job(job_id: JobId, services: ServicesOf) -> Any:
    """How far an experiment is, and what it wrote."""
    return await services.experiments.document(job_id)


@router.delete(
    "/experiments/{job_id}", response_model=ExperimentJob, responses=declared(404, 503), summary="Cancel a job"
)
async def cancel_experiment(job_id: JobId, services: ServicesOf) -> Any:
    """End an experiment if it runs, and answer when it has ended, with how. Twice is fine.

    The job's own address is gone then (404); the list still shows it, and its run and files stay.
    """
    return await services.experiments.cancel(job_id)


@router.get(
    "/runs/{run_id}/files", response_model=list[RunFile], responses=declared(404, 503), summary="Files of a run"
)
async def files_of_run(run_id: RunNumber, services: ServicesOf) -> Any:
    """What a finished experiment wrote and is still there; other runs have no files."""
    files = await _files(services, run_id)
    return await asyncio.to_thread(
        lambda: [{"name": name, "bytes": path.stat().st_size} for name, path in files.items()]
    )


@router.get(
    "/runs/{run_id}/files/{name}",
    response_class=FileResponse,
    responses=content("The file.", *TYPES.values()) | declared(404, 503),
    summary="One file of a run",
)
async def file_of_run(run_id: RunNumber, name: FileName, services: ServicesOf) -> Response:
    """A table, plot or report. Pages come with a policy that lets them run and load nothing."""
    files = await _files(services, run_id)
    if name not in files:
        raise ApiError(404, f"run {run_id} has no such file; /api/runs/{run_id}/files names those it has")
    kind = TYPES[files[name].suffix]
    headers = {"Content-Security-Policy": PAGE_POLICY} if kind == "text/html" else {}
    return FileResponse(files[name], media_type=kind, headers=headers, filename=name, content_disposition_type="inline")


async def _files(services: Services, run_id: int) -> dict[str, Path]:
    return await asyncio.to_thread(run_files, await services.run(run_id))


def _available() -> list[dict[str, Any]]:
    # Experiments bring much that the web half does without, so it is imported when they are requested.
    from hybrid_scheduler.experiments.registry import experiment_classes

    return [
        {
            "name": name,
            "question": experiment.question,
            "default_seeds": experiment.default_seeds,
            "default_tasks": experiment.tasks,
        }
        for name, experiment in experiment_classes().items()
    ]
