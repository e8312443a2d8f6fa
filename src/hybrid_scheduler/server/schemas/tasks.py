"""Tasks, what became of them, and why."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from hybrid_scheduler.model.ranges import FORMULA_SIZES, INTENSITIES, MEGABYTES
from hybrid_scheduler.server.schemas.base import Answer, Request, TaskId
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_kind

DataDependency = Annotated[
    tuple[TaskId, Annotated[float, Field(ge=MEGABYTES.low, le=MEGABYTES.high)]],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
    Field(description="A stored id, and the MB that come from there.", examples=[[122, 12.5]]),
]
KernelName = Annotated[
    str,
    AfterValidator(lambda value: kernel_kind(value).name),
    Field(max_length=100, json_schema_extra={"enum": list(KERNEL_KINDS)}),
]


class TaskRequest(Request):
    """A user's own task. A race of real work takes kernels only: they have a `kind`."""

    size: Annotated[float, Field(ge=FORMULA_SIZES.low, le=FORMULA_SIZES.high, examples=[960.0])]
    compute_intensity: Annotated[float, Field(ge=INTENSITIES.low, le=INTENSITIES.high, examples=[0.75])]
    memory_required: Annotated[float, Field(ge=MEGABYTES.low, le=MEGABYTES.high, description="MB.", examples=[81.0])]
    kind: Annotated[
        KernelName | None,
        Field(description="The kernel it is, of whole size N; intensity and memory are then the kernel's."),
    ] = None
    # pydantic copies a default, so nobody shares this list
    dependencies: Annotated[
        list[TaskId | DataDependency], Field(max_length=64, description="Stored ids it must wait for.")
    ] = []  # noqa: RUF012


class StoredTask(Answer):
    """A task."""

    task_id: TaskId
    run_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    dependencies: list[int | tuple[int, float]] = Field(
        description="Stored ids it had to wait for, or pairs of an id and the MB that came from there."
    )
    duration_estimate: float | None = Field(None, description="Seconds on a CPU of speed 1; null when not known.")
    kind: str | None = Field(None, description="What it does; null when not known.")


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
    energy_consumption: float | None = Field(description="Null where the machine did not tell it.")
    execution_cost: float
    failed: bool
    parts: list[PartInfo]
    reason: str | None = Field(description="Why it failed, where that is known.")
    ready_time: float | None = Field(None, description="When it could be decided; null when not known.")
    queue_seconds: list[float | None] | None = Field(
        None,
        description="Seconds, since `ready_time`, after which each device of the run could have started it, as things "
        "stood at the decision; null for one that was down, or when not known.",
    )
    decided_time: float | None = Field(
        None,
        description="When its scheduler decided it, later than `ready_time` where tasks may wait, or when it failed "
        "undecided; null when not known.",
    )
    overtaken: int | None = Field(
        None,
        description="Decisions, while it waited, on tasks that were ready after it; null when not known.",
    )


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
    wait: float | None = Field(description="Null when the device cannot take the task, or its queue is not known.")
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
    waiting: bool = Field(description="The scheduler lets the task wait and has not decided yet.")
    expected_start: float | None = Field(
        description="When it expects to start a waiting task, in simulated time; null when it does not know.",
    )


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
    done: bool = Field(description="Whether that is all; if not, it goes on, and the status says how far it is.")
