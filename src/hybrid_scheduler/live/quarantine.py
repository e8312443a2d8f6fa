"""Submitted tasks that are not raced again: those unfinished at two crashes in a row may be the cause.

Nor are those that nothing here can run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybrid_scheduler.store import Batch, ResultRow, SubmittedTask, TaskRow

CRASHES = 2
NO_KERNEL = "this race is real work, and nothing says what the task does: it is none of the kernels"
REASON = f"quarantined: the engine crashed {CRASHES} times in a row while it was in hand"


def is_suspect(task: SubmittedTask) -> bool:
    """Whether a task must not be raced again."""
    return task.crashes >= CRASHES


def quarantined(tasks: Iterable[SubmittedTask], run_id: int, schedulers: Sequence[str], reason: str = REASON) -> Batch:
    """The tasks as failed under every scheduler, with the reason."""
    suspects = list(tasks)
    return Batch(
        [
            TaskRow(
                task.task_id,
                run_id,
                task.size,
                task.compute_intensity,
                task.memory_required,
                0.0,
                task.dependencies,
            )
            for task in suspects
        ],
        [
            ResultRow(task.task_id, name, 0.0, None, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, (), reason)
            for task in suspects
            for name in schedulers
        ],
    )
