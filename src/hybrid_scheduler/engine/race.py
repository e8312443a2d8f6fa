"""The batch race: every scheduler gets its own copy of the node and sees the same tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from hybrid_scheduler.cluster.simulation import NO_LIMIT
from hybrid_scheduler.cluster.state import DRAINED
from hybrid_scheduler.engine.contestant import Contestant
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.label import Label, LabelBatch
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.physics.bounds import LowerBound, lower_bound
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.labels import label_tasks
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Scheduler

PROGRESS_STEP = 65_536
"""Decisions between two reports of progress."""


class Race:
    """One stream of tasks on one kind of node; run as many schedulers through it as you like.

    Args:
        tasks: The stream.
        cluster: The devices.
        physics: How they behave.
        seed: Seed of the noise, the same for every scheduler.
        isolated: Every task meets an idle node: the next arrives when the last has ended.
        warmup: Statistics and bounds leave out the first so many tasks.
    """

    def __init__(
        self,
        tasks: TaskBatch,
        cluster: ClusterSpec | None = None,
        physics: Physics | None = None,
        *,
        seed: int = 0,
        isolated: bool = False,
        warmup: int = 0,
    ) -> None:
        if len(tasks) == 0:
            raise InvalidInputError("there are no tasks to race; give at least one")
        if not 0 <= warmup < len(tasks):
            raise InvalidInputError(f"warmup is {warmup}, but it must be from 0 to {len(tasks) - 1} (tasks less one)")
        self.tasks = tasks
        self.cluster = cluster or ClusterSpec.default()
        self.physics = physics or Physics()
        self.isolated = isolated
        self.warmup = warmup
        self._nominal = self.physics.nominal_times(tasks, self.cluster)
        self._realised = self.physics.realised_times(self._nominal, tasks, seed)
        self._bounds: dict[bytes, LowerBound] = {}

    def run(
        self,
        scheduler: Scheduler,
        *,
        progress: Callable[[int], None] | None = None,
        compiled: bool = True,
    ) -> OutcomeBatch:
        """Take every task through one scheduler.

        Args:
            scheduler: Decides; it learns from outcomes when it observes them.
            progress: Called now and then with the number of decisions made.
            compiled: Use the scheduler's kernel if it has one; without it `decide` is called. Same results.

        Raises:
            IllegalDecisionError: The scheduler decided something the node cannot carry out.
        """
        contestant = Contestant(scheduler, self.cluster, self.physics, isolated=self.isolated, compiled=compiled)
        sim = contestant.sim
        sim.add(self.tasks, self._nominal, self._realised)
        while True:
            limit = NO_LIMIT if progress is None else sim.decisions + PROGRESS_STEP
            reason = contestant.run(self, limit=limit)
            if progress is not None:
                progress(sim.decisions)
            if reason == DRAINED:
                break
        contestant.deliver(self, np.inf)
        return sim.outcomes()

    def task(self, position: int) -> Task:
        """One of the tasks."""
        found: Task = self.tasks[position]
        return found

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
            kept = np.flatnonzero(keep)
            start, parents = self._parents_within(keep)
            self._bounds[key] = lower_bound(
                self._realised[kept],
                self.tasks.memory_required[kept],
                arrival[kept],
                start,
                parents,
                self.cluster.public_table(),
                self.physics.facts(),
                self.cluster.best_speed(),
                isolated=self.isolated,
            )
        return self._bounds[key]

    def _parents_within(self, keep: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[Any, Any]:
        """The parents of the kept tasks among the kept tasks, as positions there."""
        children = np.repeat(np.arange(len(self.tasks)), np.diff(self.tasks.parent_start))
        inside = keep[children] & keep[self.tasks.parents]
        position = np.cumsum(keep) - 1
        counts = np.bincount(position[children[inside]], minlength=int(keep.sum()))
        start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return start, position[self.tasks.parents[inside]].astype(np.int64)

    @cached_property
    def _labels(self) -> LabelBatch:
        return label_tasks(self.tasks, self._realised, self.cluster, self.physics)
