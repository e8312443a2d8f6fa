"""The live race: control, status, settings."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from hybrid_scheduler.server.errors import declared
from hybrid_scheduler.server.routes.parameters import Limit, RacerQuery, WaitingTaskId
from hybrid_scheduler.server.schemas import (
    ControlAnswer,
    LiveSettings,
    PresetInfo,
    PulseHistory,
    SettingsChange,
    Status,
    WaitingRoom,
)
from hybrid_scheduler.server.services import ServicesOf
from hybrid_scheduler.workloads.graphs.registry import GRAPH_PRESETS
from hybrid_scheduler.workloads.kernel_preset import KernelPreset
from hybrid_scheduler.workloads.presets import PRESETS

router = APIRouter(prefix="/api", tags=["simulation"])

CHANGING = declared(409, 503)


@router.post("/simulation/start", response_model=ControlAnswer, responses=CHANGING, summary="Start the live race")
async def start_simulation(services: ServicesOf) -> Any:
    """Start the live race, or let it run on if it runs. After a stop this begins a new run."""
    return await services.leader.command("start")


@router.post("/simulation/stop", response_model=ControlAnswer, responses=CHANGING, summary="Stop the live race")
async def stop_simulation(services: ServicesOf) -> Any:
    """End the live run. What is stored stays, and learners are saved."""
    return await services.leader.command("stop")


@router.post("/simulation/pause", response_model=ControlAnswer, responses=CHANGING, summary="Pause the live race")
async def pause_simulation(services: ServicesOf) -> Any:
    """Halt the simulated clock."""
    return await services.leader.command("pause")


@router.post("/simulation/resume", response_model=ControlAnswer, responses=CHANGING, summary="Resume the live race")
async def resume_simulation(services: ServicesOf) -> Any:
    """Let the simulated clock go on."""
    return await services.leader.command("resume")


@router.post("/pause", response_model=ControlAnswer, responses=CHANGING, summary="Pause the live race (short form)")
async def pause(services: ServicesOf) -> Any:
    """The same as `POST /api/simulation/pause`."""
    return await services.leader.command("pause")


@router.post("/resume", response_model=ControlAnswer, responses=CHANGING, summary="Resume the live race (short form)")
async def resume(services: ServicesOf) -> Any:
    """The same as `POST /api/simulation/resume`."""
    return await services.leader.command("resume")


@router.get("/simulation/status", response_model=Status, summary="State of the service")
async def simulation_status(services: ServicesOf) -> Any:
    """State, rates, settings, who races, which models they go by, and how store and live feed keep up."""
    return services.status()


@router.get("/status", response_model=Status, summary="State of the service (short form)")
async def status(services: ServicesOf) -> Any:
    """The same as `GET /api/simulation/status`."""
    return services.status()


@router.get(
    "/simulation/pulse",
    response_model=PulseHistory,
    responses=declared(404, 409, 503),
    summary="How busy the devices were since the run began",
)
async def pulse(scheduler: RacerQuery, services: ServicesOf) -> Any:
    """Busy share of every device under one scheduler; live messages carry on from there (`utilization`)."""
    return await services.leader.command("pulse", scheduler=scheduler)


@router.get(
    "/simulation/waiting",
    response_model=WaitingRoom,
    responses=declared(404, 409, 503),
    summary="Who waits for a scheduler to start it",
)
async def waiting(scheduler: RacerQuery, services: ServicesOf, limit: Limit = 50, task_id: WaitingTaskId = None) -> Any:
    """The waiting room of one scheduler: tasks that are ready and that it has not started, the oldest first."""
    return await services.leader.command("waiting", scheduler=scheduler, limit=limit, task_id=task_id)


@router.patch(
    "/simulation/settings",
    response_model=LiveSettings,
    responses=declared(404, 409, 503),
    summary="Change the live race while it runs",
)
async def change_settings(change: SettingsChange, services: ServicesOf) -> Any:
    """Change arrival rate or load, preset or trace, speed, schedulers or objective; what is left out stays.

    Another set of schedulers begins a new run. Answers with all settings as they are now.
    """
    return await services.leader.command("settings", **change.model_dump(exclude_none=True))


@router.get("/presets", response_model=list[PresetInfo], summary="Kinds of workload")
async def presets() -> Any:
    """The named presets that `PATCH /api/simulation/settings` takes."""
    summaries = {name: preset.summary for name, preset in PRESETS.items()}
    summaries[KernelPreset.name] = KernelPreset.summary
    summaries |= {name: preset.summary for name, preset in GRAPH_PRESETS.items()}
    return [{"name": name, "summary": summary} for name, summary in summaries.items()]
