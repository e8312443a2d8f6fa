"""Values are checked before the database sees them: it would refuse some late, and others it would bend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hybrid_scheduler.model.errors import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.ranges import MEGABYTES
from hybrid_scheduler.model.task import split_dependencies
from hybrid_scheduler.store.documents import to_json
from hybrid_scheduler.store.packing import MOST
from hybrid_scheduler.store.rows import Batch, ResultRow, SubmittedTask, TaskRow, TrainingRow

LARGEST = 2**63 - 1
MOST_ROWS = 10_000
LONGEST_TEXT = 1000
KINDS = ("live", "compare", "experiment")
ENDINGS = ("finished", "interrupted", "failed")


def check_whole(name: str, value: object, low: int = 0, high: int = LARGEST) -> int:
    """A whole number within bounds."""
    if type(value) is not int or not low <= value <= high:
        top = "2^63 - 1" if high == LARGEST else str(high)
        raise InvalidInputError(f"{name} is {value!r}, but it must be a whole number from {low} to {top}")
    return value


def check_number(name: str, value: object) -> float:
    """A finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{name} is {value!r}, but it must be a finite number")
    return float(value)


def check_text(name: str, value: object, *, empty: bool = False) -> str:
    """A text every database can hold."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not (value or empty):
        raise InvalidInputError(f"{name} is {_shown(value)}, but it must be a text of 1 to {LONGEST_TEXT} characters")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidInputError(f"{name} is {_shown(value)}, but it must be Unicode text without NUL; leave that out")
    return value


def check_document(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping that JSON can hold."""
    try:
        to_json(value)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from error
    return dict(value)


def check_moment(name: str, value: object) -> datetime:
    """A moment that says its time zone."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInputError(f"{name} is {value!r}, but it must be a datetime with a time zone")
    return value


def check_choice(what: str, value: str, known: Sequence[str]) -> str:
    """One of a few words."""
    if value not in known:
        raise UnknownNameError(what, str(value), known)
    return value


def check_page(limit: int, before: int | None, scheduler: str | None = None) -> None:
    """How much to read, from where, and whose."""
    check_whole("limit", limit, 1, MOST_ROWS)
    if before is not None:
        check_whole("before", before)
    if scheduler is not None:
        check_text("scheduler", scheduler)


def check_submitted(task: SubmittedTask) -> None:
    """Every field within its rule."""
    _check_task(task)
    check_moment(f"task {task.task_id}: submitted", task.submitted)


def check_batch(batch: Batch) -> None:
    """Every field within its rule; every task once and with a result; every result and label of a task in the batch.

    Raises:
        InvalidInputError: The message names the row, the value and the rule.
    """
    for task in batch.tasks:
        _check_task(task)
        _check_numbers(task, (task.arrival_time,), ("arrival_time",))
        if task.duration_estimate is not None:
            check_number(f"task {task.task_id}: duration_estimate", task.duration_estimate)
    for kind in {task.kind for task in batch.tasks if task.kind is not None}:
        check_text("kind", kind)
    ids = {task.task_id for task in batch.tasks}
    _check_once(ids, [task.task_id for task in batch.tasks], "task")
    for name in {result.scheduler_name for result in batch.results}:
        check_text("scheduler_name", name)
    for result in batch.results:
        _check_result(result)
    _check_once(ids, [(result.task_id, result.scheduler_name) for result in batch.results], "result")
    if bare := ids - {result.task_id for result in batch.results}:
        raise InvalidInputError(f"task {min(bare)} has no result; a task is stored together with all its results")
    for label in batch.training:
        _check_label(label)
    _check_once(ids, [label.task_id for label in batch.training], "label")


def _check_once(ids: set[int], keys: Sequence[int | tuple[int, str]], what: str) -> None:
    seen: set[object] = set()
    for key in keys:
        task_id = key if isinstance(key, int) else key[0]
        if task_id not in ids:
            raise InvalidInputError(f"the batch has a {what} of task {task_id} but not the task; add it")
        if key in seen:
            raise InvalidInputError(f"the batch has the {what} {key} twice; leave one out")
        seen.add(key)


def _check_task(task: TaskRow | SubmittedTask) -> None:
    check_whole("task_id", task.task_id)
    check_whole(f"task {task.task_id}: run_id", task.run_id)
    parents, megabytes = split_dependencies(task.dependencies)
    for parent in parents:
        check_whole(f"task {task.task_id}: a dependency", parent)
    for data in megabytes:
        if not MEGABYTES.holds(data):
            raise InvalidInputError(
                f"task {task.task_id}: {data!r} MB come with a dependency, but that must be {MEGABYTES}"
            )
    _check_numbers(task, task[2:5], task._fields[2:5])


def _check_result(result: ResultRow) -> None:
    told = result if result.energy_consumption is not None else result._replace(energy_consumption=0.0)
    _check_numbers(result, (told.gpu_fraction, *told[4:10]), (result._fields[2], *result._fields[4:10]))
    if result.gpu_id is not None:
        check_whole(f"task {result.task_id}: gpu_id", result.gpu_id, 0, 2**31 - 1)
    if type(result.failed) is not bool:
        raise InvalidInputError(f"task {result.task_id}: failed is {result.failed!r}, but it must be true or false")
    for name, moment in (("ready_time", result.ready_time), ("decided_time", result.decided_time)):
        if moment is not None:
            check_number(f"task {result.task_id}: {name}", moment)
    if result.overtaken is not None:
        check_whole(f"task {result.task_id}: overtaken", result.overtaken, 0, 2**31 - 1)
    queue = result.queue_seconds
    if queue is not None and not (len(queue) <= MOST and all(seconds >= 0.0 for seconds in queue)):
        raise InvalidInputError(
            f"task {result.task_id}: queue_seconds is {_shown(queue)}, but it must be seconds of 0 or more, "
            f"one for each of at most {MOST} devices"
        )


def _check_label(label: TrainingRow) -> None:
    _check_numbers(label, label[1:6], label._fields[1:6])


def _check_numbers(
    row: TaskRow | SubmittedTask | ResultRow | TrainingRow, values: Sequence[Any], names: Iterable[str]
) -> None:
    # The usual case first: a batch has tens of thousands of numbers. A sum is finite only when all of it is.
    if set(map(type, values)) == {float} and math.isfinite(sum(values)):
        return
    for name, value in zip(names, values, strict=True):
        check_number(f"task {row.task_id}: {name}", value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
