"""The live race: its settings, its control and its status."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from hybrid_scheduler.model.objective import GOALS, WEIGHTS, Objective
from hybrid_scheduler.model.ranges import LOADS, RATES, SPEEDS
from hybrid_scheduler.schedulers.registry import scheduler_names
from hybrid_scheduler.server.schemas.base import Answer, Request
from hybrid_scheduler.workloads.graphs.registry import GRAPH_PRESETS
from hybrid_scheduler.workloads.kernel_preset import KernelPreset
from hybrid_scheduler.workloads.presets import PRESETS

RacerState = Literal["racing", "behind", "out"]
State = Literal["starting", "running", "paused", "stopped", "waiting_for_store", "following", "failed"]


class GoalWeights(Answer):
    """What the learners care for, scaled to sum 1."""

    time: float = Field(description="Weight of the response time.", examples=[0.6])
    energy: float = Field(description="Weight of the energy.", examples=[0.2])
    money: float = Field(description="Weight of the cost.", examples=[0.2])


class LiveSettings(Answer):
    """How the live race runs."""

    preset: str | None = Field(description="Where tasks come from; null when a trace is raced.", examples=["mixed"])
    trace: str | None = Field(description="File in the trace folder, raced in a loop.")
    arrival_rate: float = Field(description="Tasks per simulated second.", examples=[2.4])
    load: float = Field(
        description="The same as a share of what the node can take; by nominal times of kernels where work is real and "
        "the machine is not calibrated.",
        examples=[0.05],
    )
    speed: float = Field(description="Simulated seconds per second of the clock; 1 where work is real.", examples=[1.0])
    flat_out: bool = Field(description="As fast as the machine can; `speed` is set aside.")
    schedulers: list[str]
    weights: GoalWeights
    energy_weight: float = Field(description="The weight of energy, as in `weights`.")
    node: Literal["simulated", "machine"] = Field(
        description="Where tasks run: on a simulated node for each scheduler, or for real on this machine, in turns."
    )
    devices: list[str] = Field(description="The node's devices.", examples=[["cpu_0", "gpu_0"]])


_STEADY = "|".join(name for name in PRESETS if name != "drift")
_GRAPHS = "|".join(GRAPH_PRESETS)
_KNOWN_PRESET = {"pattern": f"^({_STEADY}|drift(:({_STEADY}):({_STEADY}))?|{KernelPreset.name}|({_GRAPHS}))$"}
KNOWN_SCHEDULER: dict[str, Any] = {"pattern": f"^({'|'.join(scheduler_names())})$"}
"""Told in the description of the API; whether a name is known the engine says in its own words."""


def _not_both(first: str, second: str, kind: str, other: str | None = None) -> dict[str, Any]:
    return {"required": [first, second], "properties": {first: {"type": kind}, second: {"type": other or kind}}}


def _above_zero(name: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"exclusiveMinimum": 0}}}


RacerName = Annotated[
    str, Field(min_length=1, max_length=100, examples=["rl_agent"], json_schema_extra=dict(KNOWN_SCHEDULER))
]


Weight = Annotated[float, Field(ge=WEIGHTS.low, le=WEIGHTS.high)]


class WeightsChange(Request):
    """How much each goal counts, at least one above 0; they are scaled to sum 1. What is left out counts nothing."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [_above_zero(goal) for goal in GOALS],
            "examples": [{"time": 0.6, "energy": 0.2, "money": 0.2}],
        }
    )

    time: Weight = 0.0
    energy: Weight = 0.0
    money: Weight = 0.0

    @model_validator(mode="after")
    def _some(self) -> WeightsChange:
        Objective.of(self.model_dump())
        return self


class SettingsChange(Request):
    """What to change; what is left out stays. Another set of schedulers begins a new run."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "anyOf": [
                    _not_both("arrival_rate", "load", "number"),
                    _not_both("preset", "trace", "string"),
                    _not_both("energy_weight", "weights", "number", "object"),
                ]
            },
            "examples": [{"preset": "mixed", "load": 0.3, "speed": 2.0}],
        }
    )

    preset: Annotated[
        str | None, Field(min_length=1, max_length=100, examples=["mixed"], json_schema_extra=dict(_KNOWN_PRESET))
    ] = None
    trace: Annotated[str | None, Field(min_length=1, max_length=200, description="A file in the trace folder.")] = None
    arrival_rate: Annotated[float | None, Field(ge=RATES.low, le=RATES.high, examples=[5.0])] = None
    load: Annotated[float | None, Field(ge=LOADS.low, le=LOADS.high, examples=[0.3])] = None
    speed: Annotated[float | None, Field(ge=SPEEDS.low, le=SPEEDS.high, examples=[2.0])] = None
    flat_out: bool | None = None
    schedulers: Annotated[
        list[RacerName] | None, Field(min_length=1, max_length=32, json_schema_extra={"uniqueItems": True})
    ] = None
    weights: Annotated[WeightsChange | None, Field(description="What the learners care for.")] = None
    energy_weight: Annotated[
        float | None, Field(ge=0, le=1, examples=[0.5], description="The same as weights time=1-W, energy=W.")
    ] = None

    @model_validator(mode="after")
    def _once(self) -> SettingsChange:
        if self.arrival_rate is not None and self.load is not None:
            raise ValueError("arrival_rate and load are two ways to say the same thing; give one")
        if self.preset is not None and self.trace is not None:
            raise ValueError("tasks come from a preset or from a trace; give one")
        if self.weights is not None and self.energy_weight is not None:
            raise ValueError("weights and energy_weight both say what counts; give one")
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
    waiting: int = Field(description="Of them, ready and waiting for the scheduler to start them.")
    overloaded: bool = Field(description="Its backlog grows.")
    state: RacerState = Field(description="`behind`: hopelessly, it gave a backlog up; `out`: it failed.")
    reason: str = Field(description="Why it is behind or out; empty while it races.")
    given_up: int = Field(description="Tasks it gave up because it was hopelessly behind.")
    gap: float | None = Field(None, description="Mean response over the lower bound of the same tasks, less 1.")
    utilization: dict[str, float] = Field({}, description="Busy share of each device, lately; empty while unknown.")


class ResponseHistogram(Answer):
    """Response times in classes, in simulated seconds."""

    bounds: list[float] = Field(description="Upper edge of each class, included; one more class takes what is above.")
    counts: list[int] = Field(description="Tasks in each class.")
    sum: float = Field(description="Sum of the response times.")


class LearnedTotals(Answer):
    """What a learner has counted."""

    updates: int = Field(description="Gradient steps.")
    refits: int = Field(description="Refreshes that replaced something.")
    refit_checks: int = Field(description="All refreshes.")
    drifts: int = Field(description="Drift alarms.")


class SchedulerTotals(Answer):
    """What a scheduler has done since the engine's process began, over all its runs; it only grows."""

    name: str
    tasks: int = Field(description="Tasks finished or failed.")
    failed: int = Field(description="Tasks failed; the sums leave them out.")
    response: ResponseHistogram
    wait_seconds: float = Field(description="Simulated.")
    execution_seconds: float = Field(description="Simulated.")
    energy_joules: float | None = Field(description="Null once a machine did not tell that of a task.")
    cost_dollars: float
    decisions: int
    decision_seconds: float = Field(
        description="By the clock: decisions, and the simulated node that carries them out; learning is left out."
    )
    learning_seconds: float = Field(description="By the clock.")
    learned: LearnedTotals | None = Field(description="Null for one that does not learn.")


class ModelInfo(Answer):
    """What a learner in the race goes by."""

    scheduler_name: str
    origin: Literal["saved", "packaged", "store", "cold"] = Field(
        description="Where it started from; `store`: it was trained on the labels in the store."
    )
    version: int | None = Field(description="Number of the last saved version, null before the first save.")
    updates: int = Field(description="Gradient steps.")
    drifts: int = Field(description="Drift alarms.")
    refits: int = Field(description="Refreshes of the model that replaced something.")
    refit_checks: int = Field(description="Refreshes in all, also those that found nothing better.")
    figures: dict[str, float | None] = Field(description="The learner's own figures, e.g. loss, epsilon, r2, mae.")


class ClearingInfo(Answer):
    """How far clearing the history is."""

    done: int = Field(description="Tasks gone.")
    total: int


class StoreInfo(Answer):
    """How the store keeps up."""

    kind: Literal["sqlite", "postgresql"]
    waiting_tasks: int = Field(description="Finished tasks not stored yet.")
    lag_seconds: float = Field(description="How long the oldest of them has been waiting.")
    available: bool
    stored_tasks: int = Field(description="Tasks of this run that are stored.")
    problem: str = Field(description="Why it cannot be used just now; empty when it can.")
    clearing: ClearingInfo | None = Field(description="The history that is just being cleared; null when none is.")


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
    simulated_time: float = Field(
        description="Seconds of the nodes' time. Where schedulers work in turns: that of the furthest."
    )
    turn: str | None = Field(
        None, description="Whose turn it is where the work is real; null between two, else always."
    )
    rates: Rates
    settings: LiveSettings | None
    run: RunInfo | None
    schedulers: list[RacerInfo]
    models: list[ModelInfo]
    totals: list[SchedulerTotals] = Field(description="Of all schedulers that have raced, for Prometheus.")
    store: StoreInfo
    feed: FeedInfo
    token_required: bool = Field(description="Whether calls that change something, and the WebSocket, need a token.")
    message: str = Field(description="What people should know about the state; often empty.")
    version: str
