"""A node small enough to calculate by hand, and a scheduler that does as it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_scheduler.model import ClusterView, Decision, Outcome, Task, TaskBatch
from hybrid_scheduler.physics.cost import TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.testing import CheckedRace

CPU, GPU, OTHER = 0, 1, 2
"""Rows of the devices: a whole task takes 8 s on the CPU and 4 s on either GPU."""
DEVICES = (Device("cpu_0", "cpu"), Device("gpu_0", "gpu", memory_mb=100.0), Device("gpu_1", "gpu", memory_mb=100.0))
SECONDS = (8.0, 4.0, 4.0)

whole = Decision.whole


def half(gpu: int = GPU) -> Decision:
    return Decision.split(gpu, CPU, 0.5)


class Scripted(Scheduler):
    """Each task has a list of decisions: the first time, the second time, ..."""

    def __init__(self, script: Mapping[int, Sequence[Decision]]) -> None:
        self.script = {task_id: list(decisions) for task_id, decisions in script.items()}
        self.asked: list[tuple[Task, ClusterView]] = []

    def decide(self, task: Task, view: ClusterView) -> Decision:
        self.asked.append((task, view))
        return self.script[task.task_id].pop(0)

    def view_of(self, task_id: int, time: int = 0) -> ClusterView:
        return [view for task, view in self.asked if task.task_id == task_id][time]


def task(task_id: int, arrival: float = 0.0, memory: float = 0.0, parents: tuple[int, ...] = ()) -> Task:
    return Task(task_id, 1000.0, 0.5, memory, arrival, 123.0, parents)


def race(
    tasks: Sequence[Task],
    disturbances: Sequence[tuple[float, str, float]] = (),
    devices: tuple[Device, ...] = DEVICES,
    seconds: Mapping[int, tuple[float, ...]] | None = None,
    isolated: bool = False,
    **physics: Any,
) -> CheckedRace:
    """A race without penalty; `seconds` gives other times than the usual ones to some tasks."""
    cluster = ClusterSpec(devices, tuple(Disturbance(*d) for d in disturbances))
    table = np.array([(seconds or {}).get(t.task_id, SECONDS[: len(devices)]) for t in tasks])
    cost = TableCost(table, tuple(t.task_id for t in tasks), cluster.names)
    settings = {"coexecution_penalty": 0.0, **physics}
    return CheckedRace(TaskBatch.from_tasks(tasks), World(cluster, Physics(cost, **settings)), isolated=isolated)


def played(race_: CheckedRace, scheduler: Scheduler) -> dict[int, Outcome]:
    return {outcome.task_id: outcome for outcome in race_.run(scheduler)}


def spans(outcome: Outcome) -> list[tuple[str, float, float, bool]]:
    return [(part.device, part.start, part.end, part.lost) for part in outcome.parts]
