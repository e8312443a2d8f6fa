"""The batch race: every scheduler gets its own copy of the node and sees the same tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hybrid_scheduler.engine.driver import Driver, simulated_node
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.node import NO_LIMIT, Change
from hybrid_scheduler.model.outcome import GraphFacts, OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound, lower_bound
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

PROGRESS_STEP = 65_536
"""Decisions between two reports of progress."""


class Race:
    """One stream of tasks on one kind of node; run as many schedulers through it as you like.

    Args:
        tasks: The stream.
        world: The devices and how they behave.
        seed: Seed of the noise, the same for every scheduler.
        isolated: Every task meets an idle node: the next arrives when the last has ended.
        warmup: Statistics and bounds leave out the first so many tasks.

    Raises:
        InvalidInputError: There are no tasks, fewer than the warm-up, or one that is wider than the devices allow.
    """

    def __init__(
        self,
        tasks: TaskBatch,
        world: World = World(),
        *,
        seed: int = 0,
        isolated: bool = False,
        warmup: int = 0,
    ) -> None:
        if len(tasks) == 0:
            raise InvalidInputError("there are no tasks to race; give at least one")
        if not 0 <= warmup < len(tasks):
            raise InvalidInputError(f"warmup is {warmup}, but it must be from 0 to {len(tasks) - 1} (tasks less one)")
        world.refuse_too_wide(tasks)
        self.tasks = tasks
        self.world = world
        self.isolated = isolated
        self.warmup = warmup
        self.timed = world.timed(tasks, seed)
        self._bounds: dict[bytes, LowerBound] = {}

    def run(
        self,
        scheduler: Scheduler,
        *,
        progress: Callable[[int], None] | None = None,
        compiled: bool = True,
        recording: bool = False,
        labels: bool = True,
    ) -> OutcomeBatch:
        """Take every task through one scheduler.

        Args:
            scheduler: Decides; it learns from outcomes when it observes them.
            progress: Called now and then with the number of decisions made.
            compiled: Use the scheduler's kernel if it has one; without it Python is asked. Same results.
            recording: Outcomes say how long the queues were at the decision.
            labels: Whether who wants the oracle's labels gets them; on a real node there are none.

        Raises:
            IllegalDecisionError: The scheduler decided something the node cannot carry out.
        """
        node = simulated_node(scheduler, self, self.world, isolated=self.isolated, recording=recording, labels=labels)
        node.add(self.timed)
        driver = Driver(scheduler, node, compiled=compiled)
        driver.rank(self.tasks)
        driver.prepare(self.tasks)
        while True:
            limit = NO_LIMIT if progress is None else node.decisions + PROGRESS_STEP
            change = driver.run(limit=limit)
            if progress is not None:
                progress(node.decisions)
            if change is Change.OVER:
                break
        driver.deliver()
        return replace(node.outcomes(), least_seconds=self._least_seconds, graphs=self._graphs)

    def task(self, position: int) -> Task:
        """One of the tasks."""
        task: Task = self.tasks[position]
        return task

    def label(self, position: int) -> Label:
        """The oracle's label of one of the tasks."""
        return self._labels.row(position)

    def counted(self, outcomes: OutcomeBatch) -> OutcomeBatch:
        """The outcomes that statistics cover: all but those of the warm-up."""
        return outcomes.select(np.arange(len(outcomes)) >= self.warmup)

    def lower_bound(self, outcomes: OutcomeBatch) -> LowerBound:
        """What nobody can beat, for the counted tasks that finished in these outcomes of a full run."""
        keep = ~outcomes.failed & (np.arange(len(outcomes)) >= self.warmup)
        # In an isolated race the arrivals are the scheduler's own; the bound needs them for its rounding allowance.
        arrival = outcomes.arrival_time if self.isolated else self.tasks.arrival_time
        key = keep.tobytes() + (arrival.tobytes() if self.isolated else b"")
        if key not in self._bounds:
            kept = slice(None) if keep.all() else np.flatnonzero(keep)
            start, parents = self._parents_within(keep)
            self._bounds[key] = lower_bound(
                self._shortest_times[kept],
                self.tasks.memory_required[kept],
                arrival[kept],
                start,
                parents,
                self.world.cluster.public_table(),
                self.world.physics.facts(),
                self.world.cluster.best_speed(),
                isolated=self.isolated,
                width=self.tasks.width[kept] if len(self.tasks.width) else None,
                least=self._least_seconds[kept],
            )
        return self._bounds[key]

    def _parents_within(self, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[Any, Any]:
        """The parents of the kept tasks among the kept tasks, as positions there."""
        if keep.all():
            return self.tasks.parent_start, self.tasks.parents
        children = np.repeat(np.arange(len(self.tasks)), np.diff(self.tasks.parent_start))
        inside = keep[children] & keep[self.tasks.parents]
        position = np.cumsum(keep) - 1
        counts = np.bincount(position[children[inside]], minlength=int(keep.sum()))
        start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return start, position[self.tasks.parents[inside]].astype(np.int64)

    @cached_property
    def _labels(self) -> LabelBatch:
        return self.timed.labels()

    @cached_property
    def _shortest_times(self) -> FloatArray:
        return self.timed.shortest_times()

    @cached_property
    def _least_seconds(self) -> FloatArray:
        return self.timed.least_seconds()

    @cached_property
    def _graphs(self) -> GraphFacts | None:
        # Task after task on an idle node there is no schedule to measure.
        return None if self.isolated else self.timed.graphs()
