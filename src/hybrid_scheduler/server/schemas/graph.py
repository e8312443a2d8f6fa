"""Tasks that depend on each other, and why the last of them ended when it did."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Answer, TaskId


class GraphParent(Answer):
    """A task that another one waits for."""

    task_id: TaskId
    megabytes: float | None = Field(description="Data that comes from there; null where it is not said.")


class GraphPart(Answer):
    """One part of a task as it ran. Simulated seconds."""

    device: str
    share: float
    start: float
    end: float


class GraphTask(Answer):
    """A task of a graph. Simulated seconds."""

    task_id: TaskId
    kind: str | None = Field(description="What it does; null when not known.")
    size: float
    arrival_time: float
    parents: list[GraphParent] = Field(description="Also those that are not among the tasks of this answer.")
    parts: list[GraphPart] = Field(description="Where it ran; empty when it failed.")
    start: float | None = Field(description="When its first part began; null when it failed.")
    end: float | None = Field(description="When its last part ended; null when it failed.")


class CriticalStep(Answer):
    """One task of the critical path: the work of it that the rest had to wait for, which ended on this device."""

    task_id: TaskId
    device: str
    start: float
    end: float
    waited_for: Literal["parent", "device"] | None = Field(
        description="Why it did not begin earlier: the task before it in the path was its parent, or occupied its "
        "device; null for the first, which waited for none of these tasks.",
    )


class TaskGraph(Answer):
    """Tasks that depend on each other, as one scheduler placed them."""

    run_id: int | None = Field(description="The run they are of; null when there is none.")
    scheduler_name: str
    devices: list[str] = Field(description="All devices of the node, or those in use where it is not known.")
    searched: int = Field(description="Tasks that were looked through for some that depend on others.")
    tasks: list[GraphTask] = Field(description="In the order of their ids; empty when none depends on another.")
    critical_path: list[CriticalStep] = Field(description="Oldest first; it ends with the task that ended last.")
    next_cursor: int | None = Field(description="Give it as `before` for older ones; null at the end.")
