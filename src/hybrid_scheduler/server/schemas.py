"""The shapes of the API: what goes in and out. OpenAPI, and from it the dashboard's types, follow from here."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hybrid_scheduler.schedulers.registry import scheduler_names
from hybrid_scheduler.workloads.presets import PRESETS

LARGEST_ID = 2**53 - 1
"""Ids are whole numbers a browser can hold exactly."""


def _whole(value: object) -> object:
    """JSON has one kind of number: 5.0 is as whole as 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


TaskId = Annotated[int, Field(ge=0, le=LARGEST_ID, examples=[123]), BeforeValidator(_whole)]
SchedulerName = Annotated[str, Field(min_length=1, max_length=100, examples=["rl_agent"])]
State = Literal["starting", "running", "paused", "stopped", "waiting_for_store", "following", "failed"]


class Request(BaseModel):
    """A body that callers send: nothing beyond the declared fields, no infinities, no text where a number belongs."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Answer(BaseModel):
    """A body that the service sends."""

    model_config = ConfigDict(ser_json_inf_nan="null")


class ErrorBody(Answer):
    """What went wrong."""

    code: Annotated[str, Field(description="A word for programs.", examples=["invalid_input"])]
    message: Annotated[
        str, Field(description="A sentence for people.", examples=["size is -1, but it must be above 0"])
    ]
    details: Annotated[list[dict[str, Any]], Field(description="One entry per field that is wrong.")] = []


class ErrorAnswer(Answer):
    """Every error has this shape."""

    error: ErrorBody


# --- the live race ---------------------------------------------------------------------------------------------------


class LiveSettings(Answer):
    """How the live race runs."""

    preset: str | None = Field(description="Where tasks come from; null when a trace is raced.", examples=["mixed"])
    trace: str | None = Field(description="File in the trace folder, raced in a loop.")
    arrival_rate: float = Field(description="Tasks per simulated second.", examples=[2.4])
    load: float = Field(description="The same as a share of what the node can take.", examples=[0.05])
    speed: float = Field(description="Simulated seconds per second of the clock.", examples=[1.0])
    flat_out: bool = Field(description="As fast as the machine can; `speed` is set aside.")
    schedulers: list[str]
    energy_weight: float = Field(description="What the learners care for: 0 time only, 1 energy only.")


# Known names stand in the description as patterns; they are checked by the engine, whose message names the nearest.
_STEADY = "|".join(name for name in PRESETS if name != "drift")
_KNOWN_PRESET = {"pattern": f"^({_STEADY}|drift(:({_STEADY}):({_STEADY}))?)$"}
_KNOWN_SCHEDULER = {"pattern": f"^({'|'.join(scheduler_names())})$"}
RacerName = Annotated[
    str, Field(min_length=1, max_length=100, examples=["rl_agent"], json_schema_extra=dict(_KNOWN_SCHEDULER))
]


def _not_both(first: str, second: str, kind: str) -> dict[str, Any]:
    return {"required": [first, second], "properties": {first: {"type": kind}, second: {"type": kind}}}


class SettingsChange(Request):
    """What to change; what is left out stays. Another set of schedulers begins a new run."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {"anyOf": [_not_both("arrival_rate", "load", "number"), _not_both("preset", "trace", "string")]},
            "examples": [{"preset": "mixed", "load": 0.3, "speed": 2.0}],
        }
    )

    preset: Annotated[
        str | None, Field(min_length=1, max_length=100, examples=["mixed"], json_schema_extra=dict(_KNOWN_PRESET))
    ] = None
    trace: Annotated[str | None, Field(min_length=1, max_length=200, description="A file in the trace folder.")] = None
    arrival_rate: Annotated[float | None, Field(gt=0, le=1e6, examples=[5.0])] = None
    load: Annotated[float | None, Field(gt=0, le=100, examples=[0.3])] = None
    speed: Annotated[float | None, Field(gt=0, le=1e6, examples=[2.0])] = None
    flat_out: bool | None = None
    schedulers: Annotated[
        list[RacerName] | None, Field(min_length=1, max_length=32, json_schema_extra={"uniqueItems": True})
    ] = None
    energy_weight: Annotated[float | None, Field(ge=0, le=1, examples=[0.5])] = None

    @model_validator(mode="after")
    def _once(self) -> SettingsChange:
        if self.arrival_rate is not None and self.load is not None:
            raise ValueError("arrival_rate and load are two ways to say the same thing; give one")
        if self.preset is not None and self.trace is not None:
            raise ValueError("tasks come from a preset or from a trace; give one")
        if self.schedulers is not None and len(set(self.schedulers)) < len(self.schedulers):
            raise ValueError("schedulers names somebody twice; name each once")
        return self


class ControlAnswer(Answer):
    """The state after a control call; calling twice changes nothing."""

    state: State
    is_running: bool
    is_paused: bool
    message: str


class Rates(Answer):
    """How fast things go."""

    arrival_rate: float = Field(description="Tasks per simulated second.")
    tasks_per_second: float = Field(description="Tasks finished per second of the clock, lately.")


class RunInfo(Answer):
    """The live run."""

    id: int
    seed: int
    first_task_id: int
    started: datetime


class RacerInfo(Answer):
    """One scheduler in the live race."""

    name: str
    colour: str
    tasks: int = Field(description="Tasks finished.")
    decisions: int | None = Field(None, description="Decisions made; null when the engine does not say.")
    unfinished: int = Field(description="Tasks decided and not finished, and tasks not decided.")
    overloaded: bool = Field(description="Its backlog grows.")


class ModelInfo(Answer):
    """What a learner in the race goes by."""

    scheduler_name: str
    origin: Literal["saved", "packaged", "cold"] = Field(description="Where it started from.")
    version: int | None = Field(description="Number of the last saved version, null before the first save.")
    updates: int = Field(description="Gradient steps.")
    refits: int = Field(description="Refreshes.")
    figures: dict[str, float | None] = Field(description="The learner's own figures, e.g. loss, epsilon, r2, mae.")


class StoreInfo(Answer):
    """How the store keeps up."""

    kind: Literal["sqlite", "postgresql"]
    waiting_tasks: int = Field(description="Finished tasks not stored yet.")
    available: bool
    stored_tasks: int = Field(description="Tasks of this run that are stored.")


class FeedInfo(Answer):
    """The WebSocket fan-out of this process."""

    clients: int
    frames: int
    dropped: int


class Status(Answer):
    """The state of the service."""

    state: State
    is_running: bool
    is_paused: bool
    owner: bool = Field(description="Whether this process runs the engine; others follow it.")
    tasks_processed: int = Field(description="Tasks of this run finished by every scheduler.")
    simulated_time: float
    rates: Rates
    settings: LiveSettings | None
    run: RunInfo | None
    schedulers: list[RacerInfo]
    models: list[ModelInfo]
    store: StoreInfo
    feed: FeedInfo
    token_required: bool = Field(description="Whether calls that change something, and the WebSocket, need a token.")
    message: str = Field(description="What people should know about the state; often empty.")
    version: str


# --- tasks and results -----------------------------------------------------------------------------------------------


class TaskRequest(Request):
    """A user's own task."""

    size: Annotated[float, Field(gt=0, le=1e9, examples=[960.0])]
    compute_intensity: Annotated[float, Field(ge=0, le=1, examples=[0.75])]
    memory_required: Annotated[float, Field(ge=0, le=1e9, description="MB.", examples=[81.0])]
    dependencies: Annotated[list[TaskId], Field(max_length=64, description="Stored ids it must wait for.")] = []


class StoredTask(Answer):
    """A task."""

    task_id: TaskId
    run_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    dependencies: list[int]


class PartInfo(Answer):
    """One part of a task on one device."""

    device: str
    share: float
    start: float
    end: float
    expected: float | None = Field(description="Seconds the scheduler expected; null when it expected nothing.")


class Result(Answer):
    """What became of a task under one scheduler. Seconds, joules, dollars."""

    gpu_fraction: float
    gpu_id: int | None
    actual_time: float
    wait_time: float
    response_time: float
    finish_time: float
    energy_consumption: float
    execution_cost: float
    failed: bool
    parts: list[PartInfo]


class ComparativeItem(StoredTask):
    """A task with the result of every scheduler in its race."""

    results: dict[str, Result]


class ComparativePage(Answer):
    """Newest first."""

    items: list[ComparativeItem]
    next_cursor: int | None = Field(description="Give it as `before` for the next page; null at the end.")


class Considered(Answer):
    """One way to run the task, and what it would have cost. The whole task on one device, or the chosen split."""

    device: str
    gpu_fraction: float
    seconds: float | None = Field(description="Execution; null when the device cannot take the task.")
    wait: float | None
    response: float | None
    energy: float | None
    cost: float | None
    chosen: bool


class DecisionReport(Answer):
    """One scheduler's decision and why."""

    scheduler_name: str
    gpu_fraction: float
    gpu_id: int | None
    reason: str
    predicted: dict[str, float | None] = Field(description="Seconds the scheduler itself expects per chosen device.")
    considered: list[Considered] = Field(description="What each device would take, by the simulator's truth.")
    projected: Result | None = Field(description="What will come of it if nothing disturbs it; null when it must wait.")
    regret: float | None = Field(description="Seconds of response above the best possible at this moment.")


class TaskAccepted(Answer):
    """The task is stored and in the race; its final results will be in the history."""

    task: StoredTask
    decisions: list[DecisionReport]


class TaskDetail(ComparativeItem):
    """A finished task, what every device would have cost under every scheduler's queues, and the regrets."""

    optimal_gpu_fraction: float | None
    optimal_time: float | None = Field(description="Best possible execution on an idle node.")
    decisions: list[DecisionReport]


class TrainingRecord(Answer):
    """One labelled task."""

    task_id: TaskId
    size: float
    compute_intensity: float
    memory_required: float
    optimal_gpu_fraction: float
    optimal_time: float
    times: dict[str, float | None] = Field(description="Whole-task seconds per device.")


class Cleared(Answer):
    """How much history is gone."""

    tasks: int
    results: int
    training: int
    runs: int


# --- runs, schedulers, models, health --------------------------------------------------------------------------------


class StoredRun(Answer):
    """A live run, a comparison or an experiment."""

    id: int
    kind: Literal["live", "compare", "experiment"]
    name: str
    seed: int
    status: str
    started: datetime
    ended: datetime | None
    schedulers: list[str]
    first_task_id: int
    configuration: dict[str, Any]
    summary: dict[str, Any] | None = Field(description="Figures per scheduler once they are known.")


class RunPage(Answer):
    """Newest first."""

    items: list[StoredRun]
    next_cursor: int | None


class RunFile(Answer):
    """A file that a run wrote."""

    name: Annotated[str, Field(examples=["report.pdf"])]
    bytes: int


def _known_experiment(schema: dict[str, Any]) -> None:
    """Asked for with the description only: experiments bring much that the web half does without."""
    from hybrid_scheduler.experiments.registry import experiment_classes

    schema["pattern"] = f"^({'|'.join(sorted(experiment_classes()))})$"


class ExperimentRequest(Request):
    """An experiment to run; what is left out is the experiment's own default."""

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["mixed"], json_schema_extra=_known_experiment)]
    seeds: Annotated[int | None, Field(ge=1, le=50, examples=[5]), BeforeValidator(_whole)] = None
    tasks: Annotated[
        int | None, Field(ge=10, le=1_000_000, description="Tasks per seed.", examples=[1000]), BeforeValidator(_whole)
    ] = None


class ExperimentInfo(Answer):
    """An experiment that can be run."""

    name: Annotated[str, Field(examples=["mixed"])]
    question: str
    default_seeds: int
    default_tasks: int


class ExperimentJob(Answer):
    """An experiment that was asked for."""

    id: str
    name: str
    state: Literal["running", "finished", "failed", "cancelled"]
    done: int = Field(description="Pieces of work that are finished.")
    total: int = Field(description="Of how many; 0 until it is known.")
    seconds_left: float | None = Field(description="An estimate; null while there is nothing to go by, and at the end.")
    run_id: int | None = Field(description="Number of its stored run; null when it is not stored (yet).")
    message: str = Field(description="What people should know, e.g. why it failed; often empty.")
    files: list[str] = Field(description="What it wrote, once it is finished; see `/api/runs/{run_id}/files`.")


class ExperimentOverview(Answer):
    """What can be run, and what was."""

    available: list[ExperimentInfo]
    jobs: list[ExperimentJob] = Field(description="Of this server process, newest first, at most 20.")


class SchedulerInfo(Answer):
    """A registered scheduler."""

    name: str
    summary: str
    colour: Annotated[str, Field(pattern="^#[0-9a-f]{6}$", examples=["#a855f7"])]
    parameters: dict[str, Any] = Field(description="Constructor arguments with their defaults.")
    is_learner: bool
    knows_truth: bool = Field(description="A reference, not a contestant.")
    in_race: bool
    available: bool
    reason: str = Field(description="Why it is not available; empty when it is.")


class PresetInfo(Answer):
    """A named kind of workload."""

    name: Annotated[str, Field(examples=["mixed"])]
    summary: str


class ModelVersion(Answer):
    """A saved model."""

    id: int
    scheduler_name: str
    created: datetime
    rows: int | None
    r2: float | None
    mae: float | None
    path: str


class ModelVersionPage(Answer):
    """Newest first."""

    items: list[ModelVersion]
    next_cursor: int | None


class Dependency(Answer):
    """One thing the service depends on."""

    status: Literal["up", "down"]
    kind: str = Field(examples=["sqlite"])
    message: str = ""


class Health(Answer):
    """`ok`, `degraded` (works on, with less) or `down`."""

    status: Literal["ok", "degraded", "down"]
    dependencies: dict[str, Dependency] = Field(description="store, cache and engine, each by name.")


class Online(Answer):
    """What `GET /` says to programs."""

    status: Literal["online"] = "online"
    message: str = "Hybrid ML Scheduler Dashboard API is running"


# --- live messages ---------------------------------------------------------------------------------------------------


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
    energy: float
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
    unfinished: int
    overloaded: bool


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
    time: float = Field(description="Seconds since 1970.")
    level: Literal["info", "warning", "error"]
    message: str
