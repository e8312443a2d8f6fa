"""The rows of the store: plain numbers, texts and tuples. Their fields are the columns of the tables, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from hybrid_scheduler.model.task import Dependency


class RunRow(NamedTuple):
    """One run.

    Attributes:
        id: Number of the run; later runs have higher ones.
        kind: `live`, `compare` or `experiment`.
        name: E.g. the experiment's; may be empty.
        seed: Seed of the run.
        configuration: What was run, as a JSON document.
        schedulers: Names of the schedulers in it.
        summary: Figures per scheduler; None until they are known.
        first_task_id: Stored id of the run's task 0.
        reserved: Ids from `first_task_id` on that belong to this run.
        last_task_id: Highest of them in use; None when none is.
        tasks: Tasks of this run that are in the store: neither cleared nor pruned.
        started: In UTC.
        ended: In UTC; None while it runs.
        status: `running`, `finished`, `interrupted` or `failed`.
    """

    id: int
    kind: str
    name: str
    seed: int
    configuration: dict[str, Any]
    schedulers: tuple[str, ...]
    summary: dict[str, Any] | None
    first_task_id: int
    reserved: int
    last_task_id: int | None
    tasks: int
    started: datetime
    ended: datetime | None
    status: str

    def tasks_before(self, before: int | None) -> int:
        """Where a page of its tasks begins: at this id, not included, above which none is in use."""
        end = self.first_task_id if self.last_task_id is None else self.last_task_id + 1
        return end if before is None else min(before, end)


class TaskRow(NamedTuple):
    """One task; `task_id` and `dependencies` are stored ids, unique over all runs.

    A dependency may be a pair of such an id and the megabytes that come from there.

    `duration_estimate` (seconds on a CPU of speed 1) and `kind` are None where an older version wrote the row.
    """

    task_id: int
    run_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    dependencies: tuple[Dependency, ...] = ()
    duration_estimate: float | None = None
    kind: str | None = None


class PartRow(NamedTuple):
    """One part of a task as it ran; `expected` is None when the scheduler expected nothing, `lost`: it was in vain."""

    device: str
    share: float
    start: float
    end: float
    expected: float | None
    lost: bool = False


class ResultRow(NamedTuple):
    """One task under one scheduler: seconds, joules, dollars; `gpu_id` is None when no GPU took part.

    `energy_consumption` is None where the machine did not tell it.
    `reason` says why it failed, where that is known; a long one is cut. `ready_time` is when it could be
    decided, `queue_seconds` the queue of every device at the decision, in the order of the run's devices,
    `decided_time` when it was decided, `overtaken` how often others were first (all as in `model.outcome.Outcome`).
    These are None where they are not known, as in rows of older versions.
    """

    task_id: int
    scheduler_name: str
    gpu_fraction: float
    gpu_id: int | None
    actual_time: float
    wait_time: float
    response_time: float
    finish_time: float
    energy_consumption: float | None
    execution_cost: float
    failed: bool
    parts: tuple[PartRow, ...]
    reason: str | None = None
    ready_time: float | None = None
    queue_seconds: tuple[float, ...] | None = None
    decided_time: float | None = None
    overtaken: int | None = None


class TrainingRow(NamedTuple):
    """The oracle's label of one task; `times` are whole-task seconds by device, None where it cannot run."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    optimal_gpu_fraction: float
    optimal_time: float
    times: Mapping[str, float | None]


class ModelVersionRow(NamedTuple):
    """One state of a learner that was saved; `r2` and `mae` are None where they are not known."""

    id: int
    scheduler_name: str
    created: datetime
    rows: int
    r2: float | None
    mae: float | None
    path: str


class SubmittedTask(NamedTuple):
    """A user's task that was accepted and whose results are not complete.

    `crashes` counts the live runs in a row that were interrupted while it was waiting.
    """

    task_id: int
    run_id: int
    size: float
    compute_intensity: float
    memory_required: float
    dependencies: tuple[Dependency, ...]
    submitted: datetime
    crashes: int = 0


class HourRow(NamedTuple):
    """One scheduler in one hour: sums over the live tasks stored in it, so that hours can be added up.

    Attributes:
        hour: Its beginning, in UTC.
        scheduler_name: The scheduler.
        tasks: How many.
        failed: How many of them failed; these are in no sum.
        wins: How many it finished at least as soon as every other scheduler.
        sum_response: Seconds, as all times.
        sum_wait: Of this, waiting.
        sum_time: Of this, execution.
        sum_energy: Joules; None where those of any task are not known.
        sum_cost: Dollars.
    """

    hour: datetime
    scheduler_name: str
    tasks: int
    failed: int
    wins: int
    sum_response: float
    sum_wait: float
    sum_time: float
    sum_energy: float | None
    sum_cost: float


class RunMeansRow(NamedTuple):
    """One scheduler in one run; the sums are those of `HourRow`."""

    run_id: int
    scheduler_name: str
    tasks: int
    failed: int
    wins: int
    sum_response: float
    sum_wait: float
    sum_time: float
    sum_energy: float | None
    sum_cost: float


class MeasuredRow(NamedTuple):
    """How long tasks of one kind and about one size took on one kind of hardware, as a real node measured it.

    Attributes:
        kind: The tasks'.
        hardware: The device's.
        step: The size, as steps of a logarithm; below 0 for sizes below 1.
        measurements: How many the mean counts for.
        log_seconds: Mean of the logarithms of the seconds of a whole task.
    """

    kind: str
    hardware: str
    step: int
    measurements: int
    log_seconds: float


class RetrainingRow(NamedTuple):
    """One refresh that changed a learner's model.

    Attributes:
        id: Given by the store; anything before that.
        run_id: The run it happened in.
        scheduler_name: The learner.
        created: When.
        tasks: Tasks the run had finished.
        reason: Why it was due, e.g. `interval` or `drift`.
        rows: Rows it looked at.
        trees: Parts of the model that were made anew.
        replaced: How many of those are in use now.
        error_before: Mean absolute error of the model before; None if unknown.
        error_after: The same of the model after.
        version: The last saved version at that moment; None before the first.
    """

    id: int
    run_id: int
    scheduler_name: str
    created: datetime
    tasks: int
    reason: str
    rows: int
    trees: int
    replaced: int
    error_before: float | None
    error_after: float | None
    version: int | None


class LearningRow(NamedTuple):
    """A learner's own figures at a moment, e.g. loss and epsilon; the rest as in `RetrainingRow`."""

    id: int
    run_id: int
    scheduler_name: str
    created: datetime
    tasks: int
    figures: Mapping[str, float | None]


class MarkRow(NamedTuple):
    """What happened to one learner in one stretch of time: retrainings, and saved versions up to `version`."""

    start: datetime
    scheduler_name: str
    retrainings: int
    versions: int
    version: int | None


class Collected(NamedTuple):
    """What all runs together have brought.

    Attributes:
        runs: Runs that are in the store.
        tasks: Tasks that are in the store.
        results: Results of these.
        labels: The oracle's labels.
        model_versions: Saved models.
        retrainings: Refreshes that changed a model.
        tasks_ever: Tasks stored by these runs, also those that were pruned since.
        first: When the first of it began; None when there is nothing.
        last: The hour of the newest task, or when the last run began if that was later.
    """

    runs: int
    tasks: int
    results: int
    labels: int
    model_versions: int
    retrainings: int
    tasks_ever: int
    first: datetime | None
    last: datetime | None


class Cleared(NamedTuple):
    """How many rows of what were forgotten."""

    tasks: int
    results: int
    training: int
    runs: int


class Batch(NamedTuple):
    """What is written at once: tasks, all their results, and labels of (some of) them."""

    tasks: Sequence[TaskRow]
    results: Sequence[ResultRow]
    training: Sequence[TrainingRow] = ()


class ComparedTask(NamedTuple):
    """A task and what came of it, one result per scheduler."""

    task: TaskRow
    results: tuple[ResultRow, ...]


class ConnectedTasks(NamedTuple):
    """Tasks of one run that depend on each other, and what came of them under one scheduler.

    Attributes:
        tasks: In the order of their ids, each with one result.
        searched: Tasks that were looked through for some that have parents.
        next_before: Where to look for older ones; None when there are none.
    """

    tasks: tuple[ComparedTask, ...]
    searched: int
    next_before: int | None


class Counts(NamedTuple):
    """What is in the store, from small tables alone: quick whatever the length of the history."""

    runs: int
    tasks: int
    submitted: int
    model_versions: int
    last_run_id: int | None
    last_task_id: int | None
