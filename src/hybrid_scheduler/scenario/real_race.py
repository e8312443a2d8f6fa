"""A race for real: the same kernels through one scheduler after the other, by the clock on the wall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from hybrid_scheduler.engine.driver import Driver
from hybrid_scheduler.hardware.nodes.kernel_work import KernelWork
from hybrid_scheduler.hardware.nodes.lanes import Lanes, Work
from hybrid_scheduler.hardware.nodes.measured_times import CalibratedTimes, MeasuredTimes, Times
from hybrid_scheduler.hardware.nodes.real_node import RealNode
from hybrid_scheduler.hardware.nodes.real_task import outcome_batch
from hybrid_scheduler.hardware.nodes.reused_lanes import ReusedLanes
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.physics.calibrated import CalibratedCost
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.workloads.kernel_kinds import KERNEL_KINDS

LIMIT_SECONDS = 300.0
"""A task that runs longer counts as hung unless somebody says otherwise."""
START_SECONDS = 600.0
"""How long lanes may take to come up, with the data of every task made."""
REHEARSAL_TASKS = 8


@dataclass(frozen=True)
class RealRun:
    """What came of one scheduler.

    Attributes:
        outcomes: One per task, in the order of the tasks.
        decision_us: Mean microseconds by the clock from the question to the decision carried out, without learning; not
            a number where the node itself tried every task on hardware it knew nothing of.
        failures: Why tasks failed, by id.
    """

    outcomes: OutcomeBatch
    decision_us: float
    failures: Mapping[int, str]


@dataclass(frozen=True)
class RealRace:
    """Tasks, and the lanes on which they run. Everybody gets a fresh node over the same warm lanes.

    Attributes:
        tasks: The tasks; the first should arrive at 0 (`from_zero`).
        works: What each of them does (`kernel_works`).
        lanes: The lanes.
        physics: Prices, and what schedulers are told of splits; with a `CalibratedCost` its times are the estimates,
            else everybody begins with none and learns from what was measured in his own run.
        limit: Seconds after which a task counts as hung.
        seed: Of the kernels' data and of the samples that schedulers are shown.
    """

    tasks: TaskBatch
    works: Sequence[Work]
    lanes: ReusedLanes
    physics: Physics
    limit: float = LIMIT_SECONDS
    seed: int = 0

    def run(self, scheduler: Scheduler, progress: Callable[[int], None] | None = None) -> RealRun:
        """Take one scheduler through the tasks, after a short rehearsal with a copy of it.

        Args:
            scheduler: Who decides.
            progress: Told how many tasks are over.

        Raises:
            InvalidInputError: The scheduler needs what nobody knows of this machine.
            LostLaneError: No lane comes up.
            SchedulerError: The scheduler failed.
        """
        refuse_contestant(scheduler, self.physics)
        todo = list(zip(self.tasks, self.works, strict=True))
        self._drive(scheduler.clone(), _few(todo), None)
        return self._drive(scheduler, todo, progress)

    def _drive(
        self, scheduler: Scheduler, todo: Sequence[tuple[Task, Work]], progress: Callable[[int], None] | None
    ) -> RealRun:
        self.lanes.begin_turn()
        done = 0

        def settled(_: object) -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(done)

        times = times_for(self.lanes, self.physics)
        node = RealNode(
            scheduler, self.lanes, times, physics=self.physics, settled=settled, compiled=True, seed=self.seed
        )
        for task, work in todo:
            node.add(task, work, self.limit)
        driver = _TimedDriver(scheduler, node)
        driver.prepare([task for task, _ in todo])
        node.begin(START_SECONDS)
        driver.run()
        driver.deliver()
        by_id = {outcome.task_id: outcome for outcome in node.outcomes()}
        outcomes = outcome_batch([by_id[task.task_id] for task, _ in todo], node.world)
        failures = {task_id: f"{type(error).__name__}: {error}" for task_id, error in node.failures().items()}
        return RealRun(outcomes, driver.decision_us, failures)


class _TimedDriver(Driver[RealNode]):
    """Looks at the clock before and after every question."""

    def __init__(self, scheduler: Scheduler, node: RealNode) -> None:
        super().__init__(scheduler, node, compiled=False)
        self._asking = 0.0

    @property
    def decision_us(self) -> float:
        asking, decided = self._asking + self.node.asking_seconds, self.node.decisions - self.node.tried
        return asking / decided * 1e6 if decided else math.nan

    def ask(self) -> None:
        began = perf_counter()
        super().ask()
        self._asking += perf_counter() - began


def kernel_works(tasks: TaskBatch, seed: int) -> list[KernelWork]:
    """What the tasks do.

    Raises:
        InvalidInputError: A task's kind is no kernel, or its size is no whole number.
    """
    works = []
    for task in tasks:
        if task.kind not in KERNEL_KINDS:
            raise InvalidInputError(
                f"task {task.task_id} is of kind {task.kind!r}, which nothing here can run; "
                f"kinds with a kernel are {', '.join(KERNEL_KINDS)}"
            )
        if task.size != int(task.size):
            raise InvalidInputError(
                f"task {task.task_id}: {task.kind} of size {task.size:g} cannot run; "
                "the size of a kernel is a whole number"
            )
        works.append(KernelWork(task.kind, int(task.size), seed))
    return works


def from_zero(tasks: TaskBatch) -> TaskBatch:
    """The same tasks, the first of them arriving at 0: nobody waits for a trace to begin."""
    return tasks.with_arrivals(tasks.arrival_time - tasks.arrival_time.min()) if len(tasks) else tasks


def times_for(lanes: Lanes, physics: Physics) -> Times:
    """What a node over lanes knows of times when it begins."""
    measured = MeasuredTimes(lanes.hardware)
    cost = physics.cost
    return CalibratedTimes(cost, lanes.cluster, measured) if isinstance(cost, CalibratedCost) else measured


def refuse_contestant(scheduler: Scheduler, physics: Physics) -> None:
    """Refuse who needs to know, before anything has run, what nobody knows of a real node.

    Raises:
        InvalidInputError: It does.
    """
    name = type(scheduler).__name__
    if scheduler.knows_truth:
        raise InvalidInputError(
            f"{name} needs to know how long tasks will take, which nobody knows on a real node; leave it out"
        )
    if scheduler.plans and scheduler.uses_estimates and not isinstance(physics.cost, CalibratedCost):
        raise InvalidInputError(
            f"{name} plans ahead with the times of all tasks, which nobody knows of this machine yet; calibrate it "
            "(hms calibrate) and give the node as cluster"
        )


def _few(todo: Iterable[tuple[Task, Work]]) -> list[tuple[Task, Work]]:
    """The smallest tasks, all there at once and free of each other, for a rehearsal."""
    return [
        (Task(task.task_id, task.size, task.compute_intensity, task.memory_required, kind=task.kind), work)
        for task, work in sorted(todo, key=lambda each: each[0].size)[:REHEARSAL_TASKS]
    ]
