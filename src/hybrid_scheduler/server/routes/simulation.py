"""The live race: control, status, settings."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from hybrid_scheduler.server.errors import CHANGING, NAMING
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

CONTROLS = (
    (
        "/simulation/start",
        "start_simulation",
        "Start the live race",
        "Start the live race, or let it run on if it runs. After a stop this begins a new run.",
    ),
    (
        "/simulation/stop",
        "stop_simulation",
        "Stop the live race",
        "End the live run. What is stored stays, and learners are saved.",
    ),
    ("/simulation/pause", "pause_simulation", "Pause the live race", "Halt the simulated clock."),
    ("/simulation/resume", "resume_simulation", "Resume the live race", "Let the simulated clock go on."),
    ("/pause", "pause", "Pause the live race (short form)", "The same as `POST /api/simulation/pause`."),
    ("/resume", "resume", "Resume the live race (short form)", "The same as `POST /api/simulation/resume`."),
)
"""Path, which ends with the command to the engine, and name, summary and description of the calls without a body."""


def _add_control(path: str, name: str, summary: str, description: str) -> None:
    @router.post(
        path, name=name, response_model=ControlAnswer, responses=CHANGING, summary=summary, description=description
    )
    async def control(services: ServicesOf) -> Any:
        return await services.leader.command(path.rpartition("/")[2])


for _control in CONTROLS:
    _add_control(*_control)


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
    responses=NAMING,
    summary="How busy the devices were since the run began",
)
async def pulse(scheduler: RacerQuery, services: ServicesOf) -> Any:
    """Busy share of every device under one scheduler; live messages carry on from there (`utilization`)."""
    return await services.leader.command("pulse", scheduler=scheduler)


@router.get(
    "/simulation/waiting", response_model=WaitingRoom, responses=NAMING, summary="Who waits for a scheduler to start it"
)
async def waiting(scheduler: RacerQuery, services: ServicesOf, limit: Limit = 50, task_id: WaitingTaskId = None) -> Any:
    """The waiting room of one scheduler: tasks that are ready and that it has not started, the oldest first."""
    return await services.leader.command("waiting", scheduler=scheduler, limit=limit, task_id=task_id)


@router.patch(
    "/simulation/settings", response_model=LiveSettings, responses=NAMING, summary="Change the live race while it runs"
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
