"""What the WebSocket sends."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Answer
from hybrid_scheduler.server.schemas.race import LiveSettings, ModelInfo, RacerState, Rates, State


class UpdateTask(Answer):
    """The task that finished last."""

    id: int
    size: float
    intensity: float
    memory: float


class LatestResult(Answer):
    """What became of it under one scheduler."""

    time: float
    wait: float
    response: float
    energy: float | None = Field(description="Null where the machine does not tell it.")
    cost: float
    gpu_fraction: float
    gpu_id: int | None


class ComparisonEntry(Answer):
    """One scheduler's means per task over this run."""

    name: str
    tasks: int
    failed: int
    avg_time: float | None
    avg_wait: float | None
    avg_response: float | None
    avg_energy: float | None
    avg_cost: float | None
    gpu_share: float | None = Field(description="Share of the busy seconds that were a GPU's.")
    gap: float | None = Field(
        description="How far its mean response is above the lower bound of the same tasks: their quotient less 1."
    )
    unfinished: int
    waiting: int = Field(description="Of them, ready and waiting for the scheduler to start them.")
    overloaded: bool
    state: RacerState = Field(description="`behind`: hopelessly, it gave a backlog up; `out`: it failed.")
    reason: str = Field(description="Why it is behind or out; empty while it races.")
    given_up: int = Field(description="Tasks it gave up because it was hopelessly behind.")


class BoundEntry(Answer):
    """Means per task nobody can be below, over the same tasks."""

    avg_time: float | None
    avg_response: float | None
    avg_energy: float | None
    avg_cost: float | None


class SimulationUpdate(Answer):
    """The latest state, about twice a second, whatever the rate of tasks."""

    type: Literal["simulation_update"] = "simulation_update"
    seq: int
    state: State
    run_id: int | None
    simulated_time: float
    turn: str | None = Field(
        None, description="Whose turn it is where the work is real; null between two, else always."
    )
    tasks_processed: int
    rates: Rates
    settings: LiveSettings | None
    task: UpdateTask | None
    latest_results: dict[str, LatestResult]
    comparison: list[ComparisonEntry]
    lower_bound: BoundEntry
    utilization: dict[str, dict[str, Any]] = Field(
        description="Per scheduler: average_utilization, and per device {utilization}: busy share of the last seconds."
    )
    learning: list[ModelInfo]


class Notification(Answer):
    """Something people should know."""

    type: Literal["notification"] = "notification"
    level: Literal["info", "warning", "error"]
    message: str


class LogLine(Answer):
    """One line of the live log."""

    type: Literal["log"] = "log"
    id: int = Field(description="Grows from line to line; the same line has the same id on every connection.")
    time: float = Field(description="Seconds since 1970.")
    level: Literal["info", "warning", "error"]
    message: str
    kind: Literal["event", "decision"] = Field(description="Something that happened, or where a scheduler put a task.")
    scheduler: str | None = Field(description="Who decided; null for an event.")
    skipped: int = Field(description="Decisions of this scheduler since its last line that got no line of their own.")


class WaitingTask(Answer):
    """A task that is ready and waits for its scheduler to start it."""

    task_id: int
    kind: str
    size: float
    compute_intensity: float
    memory_required: float
    ready_time: float = Field(description="Since when it waits, in simulated time.")
    waited: float = Field(description="Simulated seconds since then.")
    overtaken: int = Field(description="How often tasks that were ready after it were started before it.")
    expected_start: float | None = Field(
        description="When its scheduler expects to start it, in simulated time; null when it does not know."
    )
    reason: str = Field(description="Why it waits, in the scheduler's own words.")


class WaitingRoom(Answer):
    """Who waits for one scheduler; empty for one that decides every task at once."""

    run_id: int | None = Field(description="Null when there is no run.")
    simulated_time: float
    waiting: int = Field(description="How many wait, also those that are not sent.")
    tasks: list[WaitingTask] = Field(description="The oldest first, at most `limit`.")


class PulsePoint(Answer):
    """How busy the devices were up to a moment, since the point before."""

    time: float = Field(description="Seconds since 1970.")
    utilization: list[float] = Field(description="Busy share of every device, in the order of `devices`.")


class PulseHistory(Answer):
    """How busy one scheduler's devices were since the run began: the last minute fine, what was before coarser."""

    run_id: int | None = Field(description="Null when there is no run.")
    now: float = Field(description="When this was answered, by the clock of the points.")
    devices: list[str]
    points: list[PulsePoint] = Field(description="Oldest first; their number is bounded.")
