"""What every workload source must do, built in or yours: ``check_workload(source)`` runs it all.

A source is a function from a seed to an iterable of `Task`, endless or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice

from hybrid_scheduler.model.task import Task

WorkloadSource = Callable[[int], Iterable[Task]]

NUMBERS = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate")
LOOKED_AT = 2000
"""Tasks of the source that are looked at."""


def check_reproducible(source: WorkloadSource) -> None:
    """The same seed gives the same tasks, bit for bit, also when two are read in turns; another seed gives others."""
    one, two = _first(source, 7), _first(source, 7)
    assert one, "the source gives no task"
    assert one == two, f"seed 7 gives other tasks the second time, from task {_first_difference(one, two)} on"
    turns = list(islice(zip(source(7), source(7), strict=False), LOOKED_AT))
    assert [pair[0] for pair in turns] == one == [pair[1] for pair in turns], "two readers disturb each other"
    assert _first(source, 8) != one, "seeds 7 and 8 give the same tasks"


def check_ids(source: WorkloadSource) -> None:
    """Ids are unique whole numbers."""
    seen: set[int] = set()
    for task in _first(source, 3):
        assert isinstance(task.task_id, int), f"task id {task.task_id!r} is a {type(task.task_id).__name__}"
        assert task.task_id not in seen, f"task id {task.task_id} occurs twice"
        seen.add(task.task_id)


def check_arrivals(source: WorkloadSource) -> None:
    """Tasks come in the order of their arrival."""
    now = 0.0
    for task in _first(source, 3):
        assert task.arrival_time >= now, f"task {task.task_id} arrives at {task.arrival_time}, after one at {now}"
        now = task.arrival_time


def check_fields(source: WorkloadSource) -> None:
    """Every field is a plain number of Python within its rule, and a parent has come before."""
    seen: set[int] = set()
    for task in _first(source, 3):
        assert isinstance(task, Task), f"the source gives a {type(task).__name__}, not a Task"
        for name in NUMBERS:
            kind = type(getattr(task, name))
            assert kind in (int, float), f"task {task.task_id}: {name} is a {kind.__name__}, not a plain number"
        replace(task)  # A task checks its own values when it is made.
        assert type(task.kind) is str, f"task {task.task_id}: kind is {task.kind!r}, not a string"
        unknown = set(task.dependencies) - seen
        assert not unknown, f"task {task.task_id} depends on {sorted(unknown)}, which has not come before it"
        seen.add(task.task_id)


WORKLOAD_CHECKS: tuple[Callable[[WorkloadSource], None], ...] = (
    check_reproducible,
    check_ids,
    check_arrivals,
    check_fields,
)
"""All checks of a workload source; each takes the source and raises AssertionError."""


def check_workload(source: WorkloadSource) -> None:
    """Run every check.

    Args:
        source: From a seed to an iterable of `Task`.

    Raises:
        AssertionError: The source breaks the contract; the message says how.
    """
    for check in WORKLOAD_CHECKS:
        check(source)


def _first(source: WorkloadSource, seed: int) -> list[Task]:
    return list(islice(source(seed), LOOKED_AT))


def _first_difference(one: list[Task], two: list[Task]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
