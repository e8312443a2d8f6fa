"""Users' tasks: what they are in a race."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.store import SubmittedTask
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS, kernel_kind
from hybrid_scheduler.workloads.kernel_preset import KERNEL_SIZES


def check_kernel(asked: Mapping[str, Any]) -> None:
    """Refuse a kernel (`TaskRequest`) of a size that none has.

    Raises:
        InvalidInputError: It is one.
    """
    size = asked["size"]
    if asked["kind"] is not None and not (KERNEL_SIZES.holds(size) and size == int(size)):
        raise InvalidInputError(f"size of {asked['kind']} is {size:g}, but that of a kernel must be {KERNEL_SIZES}")


def task_asked_for(asked: Mapping[str, Any], number: int, now: float) -> Task:
    """A task that was asked for (`TaskRequest`); of a kernel, kind and size say the rest."""
    size, name = asked["size"], asked["kind"]
    if name is None:
        return Task(number, size, asked["compute_intensity"], asked["memory_required"], now)
    return _kernel(name, size, number, now)


def task_again(task: SubmittedTask, number: int, now: float) -> Task:
    """A task that an earlier run accepted and did not finish."""
    name = kernel_like(task)
    if name is not None:
        return _kernel(name, task.size, number, now)
    return Task(number, task.size, task.compute_intensity, task.memory_required, now)


def kernel_like(task: SubmittedTask) -> str | None:
    """Which kernel a submitted task is: the one whose figures at its size it has. The store does not keep the kind."""
    if not (KERNEL_SIZES.holds(task.size) and task.size == int(task.size)):
        return None
    figures = task.compute_intensity, task.memory_required
    return next(
        (n for n, k in KERNEL_KINDS.items() if (k.intensity(task.size), k.megabytes(task.size)) == figures), None
    )


def _kernel(name: str, size: float, number: int, now: float) -> Task:
    kind = kernel_kind(name)
    seconds = kind.nominal_seconds(size)
    return Task(number, size, kind.intensity(size), kind.megabytes(size), now, seconds, kind=name)
