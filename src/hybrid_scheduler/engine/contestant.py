"""One scheduler on its own copy of the node: the loop that batch races and the live race share."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol

import numba as nb

from hybrid_scheduler.cluster.simulation import NO_LIMIT, Simulation
from hybrid_scheduler.cluster.state import DECIDE, OUTCOMES, SEES_ESTIMATES, SEES_QUEUES, SEES_TRUTH
from hybrid_scheduler.model.errors import HybridSchedulerError, IllegalDecisionError, SchedulerError
from hybrid_scheduler.model.label import Label
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import KERNEL_SIGNATURE
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.schedulers.base import Scheduler


@cache
def compiled_policy(kernel: Callable[..., int]) -> Any:
    """A kernel as a typed function pointer: the loop compiled for one such argument serves them all."""
    return nb.cfunc(KERNEL_SIGNATURE, cache=True)(kernel.py_func)  # type: ignore[attr-defined]


def simulation_for(
    scheduler: Scheduler, cluster: ClusterSpec, physics: Physics, *, isolated: bool = False
) -> Simulation:
    """A node for this scheduler that shows it what it may see and no more."""
    sees = SEES_QUEUES
    if scheduler.knows_truth:
        sees = SEES_TRUTH
    elif scheduler.uses_estimates:
        sees = SEES_ESTIMATES
    return Simulation(cluster, physics, sees=sees, isolated=isolated, observing=scheduler.observes)


class TaskBook(Protocol):
    """Where a contestant looks tasks up by their position in its simulation."""

    def task(self, position: int) -> Task:
        """The task."""

    def label(self, position: int) -> Label:
        """The oracle's label of it."""


@contextmanager
def named_failures(scheduler: Scheduler) -> Iterator[None]:
    """Whatever a scheduler raises becomes one kind of error that names it and the place.

    Raises:
        SchedulerError: The scheduler raised something that is none of our errors, or decided something illegal.
    """
    try:
        yield
    except IllegalDecisionError as error:
        raise IllegalDecisionError(f"{type(scheduler).__name__}: {error}") from error
    except HybridSchedulerError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}, line {last.lineno}, in {last.name}"
        raise SchedulerError(f"{type(scheduler).__name__} failed: {error!r} ({where})") from error


class Contestant:
    """Drives one scheduler through its simulation.

    Args:
        scheduler: Decides; it learns from outcomes when it observes them.
        cluster: The devices.
        physics: How they behave.
        isolated: Every task meets an idle node.
        compiled: Use the scheduler's kernel if it has one; without it `decide` is called. Same results.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        cluster: ClusterSpec,
        physics: Physics,
        *,
        isolated: bool = False,
        compiled: bool = True,
    ) -> None:
        self.scheduler = scheduler
        self.sim = simulation_for(scheduler, cluster, physics, isolated=isolated)
        self._compiled = compiled

    def run(self, book: TaskBook, *, until: float = float("inf"), limit: int = NO_LIMIT) -> int:
        """Go on until the simulation needs somebody else than the scheduler; returns its reason (`cluster.state`).

        Raises:
            SchedulerError: The scheduler failed, or decided something the node cannot carry out.
        """
        sim, scheduler = self.sim, self.scheduler
        with named_failures(scheduler):
            kernel = scheduler.active_kernel() if self._compiled else None
            policy = None if kernel is None else compiled_policy(kernel)
            while True:
                reason = sim.run(policy, scheduler.kernel_state(), until=until, limit=limit)
                if reason == DECIDE:
                    sim.answer(scheduler.decide(self.shown(book, sim.current), sim.view()))
                elif reason == OUTCOMES:
                    self.deliver(book, sim.now)
                else:
                    return reason

    def shown(self, book: TaskBook, position: int) -> Task:
        """A task as this scheduler may see it."""
        task, scheduler = book.task(position), self.scheduler
        return task if scheduler.uses_estimates or scheduler.knows_truth else task.without_estimate()

    def deliver(self, book: TaskBook, until: float) -> None:
        """Hand over what has finished by then, in order of finish: the oracle's label first, then the outcome."""
        if not self.scheduler.observes:
            return
        finished = self.sim.take_outcomes(until)
        with named_failures(self.scheduler):
            for position, outcome in zip(finished, self.sim.outcomes(finished), strict=True):
                if self.scheduler.wants_labels and not outcome.failed:
                    self.scheduler.teach(book.label(int(position)))
                self.scheduler.observe(outcome)
