"""One scheduler in front of one node: whoever races, serves or places tasks goes through this driver."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Generic, TypeVar

import numba as nb

from hybrid_scheduler.cluster.node import SimulatedNode, TaskBook
from hybrid_scheduler.cluster.simulation import Waiting
from hybrid_scheduler.learning.upward_rank import upward_ranks
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import HybridSchedulerError, IllegalDecisionError, SchedulerError
from hybrid_scheduler.model.kernel import DISPATCH_SIGNATURE, EXPECT_SIGNATURE, KERNEL_SIGNATURE
from hybrid_scheduler.model.node import NO_LIMIT, Change, Expectation, Node, Policy
from hybrid_scheduler.model.task import IntArray, Task, TaskBatch
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

N = TypeVar("N", bound=Node)


@cache
def compiled_policy(kernel: Callable[..., int], signature: str = KERNEL_SIGNATURE) -> Any:
    """A kernel as a typed function pointer: the loop compiled for one such argument serves them all."""
    return nb.cfunc(signature, cache=True)(kernel.py_func)  # type: ignore[attr-defined]


def simulated_node(
    scheduler: Scheduler,
    book: TaskBook,
    world: World,
    *,
    isolated: bool = False,
    recording: bool = False,
    labels: bool = True,
) -> SimulatedNode:
    """A node for this scheduler that shows it what it may see and no more; no labels where there is to be no oracle."""
    waiting = None
    if scheduler.dispatches:
        waiting = Waiting(
            scheduler.shown_shortest,
            scheduler.shown_oldest,
            scheduler.shown_sampled,
            scheduler.shown_ranked if scheduler.ranks_tasks else 0,
            scheduler.idle_only,
            scheduler.first_fit,
        )
    return SimulatedNode(
        book,
        world,
        uses_estimates=scheduler.uses_estimates,
        knows_truth=scheduler.knows_truth,
        observing=scheduler.observes,
        wants_labels=scheduler.wants_labels and labels,
        isolated=isolated,
        waiting=waiting,
        recording=recording,
        expect=None if scheduler.expect is None else lambda: _expectation(scheduler),
    )


def _expectation(scheduler: Scheduler) -> Expectation:
    assert scheduler.expect is not None
    function = compiled_policy(scheduler.expect, EXPECT_SIGNATURE)
    return Expectation(function, scheduler.expect_state(), scheduler.expect_version)


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


class Driver(Generic[N]):
    """Asks the scheduler, has the node carry its answers out, and hands it what has finished.

    Args:
        scheduler: Decides; it learns from outcomes when it observes them.
        node: What it decides for.
        compiled: Use the scheduler's kernel if it has one; without it Python is asked. Same results.
        starting: Told of every task that Python starts, of the decision and of the view, just before it starts.

    Attributes:
        learning_seconds: Seconds of the clock the scheduler has taken to learn from what was handed to it.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        node: N,
        *,
        compiled: bool = True,
        starting: Callable[[Task, Decision, ClusterView], None] | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.node = node
        self._compiled = compiled
        self._starting = starting
        self.learning_seconds = 0.0

    def rank(self, tasks: TaskBatch, edges: tuple[IntArray, IntArray] | None = None) -> None:
        """Rank the tasks that the node got last, if the scheduler wants that and some depend on others.

        Args:
            tasks: Those tasks.
            edges: `parent_start` and `parents` among them, where they are not those of the batch.

        Raises:
            SchedulerError: The scheduler failed.
        """
        start, parents = (tasks.parent_start, tasks.parents) if edges is None else edges
        if self.scheduler.ranks_tasks and len(parents) and isinstance(self.node, SimulatedNode):
            with named_failures(self.scheduler):
                seconds = self.scheduler.expected_seconds(tasks, self.node.view())
            self.node.rank(upward_ranks(start, parents, seconds))

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Show the scheduler tasks that will come, if it plans ahead.

        Raises:
            SchedulerError: The scheduler failed.
        """
        if self.scheduler.plans:
            with named_failures(self.scheduler):
                blind = not (self.scheduler.uses_estimates or self.scheduler.knows_truth)
                shown = [task.without_estimate() if blind else task for task in tasks]
                self.scheduler.prepare(shown, self.node.view())

    def run(self, *, until: float = math.inf, limit: int = NO_LIMIT) -> Change:
        """Go on until time or decisions have reached their limit, or until everything is decided; says which.

        Raises:
            SchedulerError: The scheduler failed, or decided something the node cannot carry out, or starts nothing
                although nothing else can happen.
        """
        with named_failures(self.scheduler):
            while (change := self.next_question(until=until, limit=limit)) is Change.ASKED:
                self.ask()
        return change

    def next_question(self, *, until: float = math.inf, limit: int = NO_LIMIT) -> Change:
        """As `run`, but return also when Python is asked, for somebody else to answer; outcomes are delivered."""
        while (change := self.node.advance(self._policy(), until=until, limit=limit)) is Change.FINISHED:
            self.deliver()
        if change is Change.STALLED:
            raise SchedulerError(
                f"{type(self.scheduler).__name__} starts none of {len(self.node.waiting())} waiting tasks, "
                "although every device is idle and nothing more will come"
            )
        return change

    def ask(self) -> None:
        """Have the scheduler say what starts now, and start it."""
        node, begun = self.node, False
        view = node.view()
        for task, decision in self.scheduler.dispatch(node.waiting(), view):
            if self._starting is not None:
                self._starting(task, decision, view)
            node.start(task, decision)
            begun = True
        if not begun:
            node.hold()

    def deliver(self) -> None:
        """Hand over what has finished by now, in order of finish: the oracle's label first, then the outcome."""
        if not self.scheduler.observes:
            return
        began = time.perf_counter()
        with named_failures(self.scheduler):
            for finished in self.node.take_finished():
                if finished.label is not None:
                    self.scheduler.teach(finished.label)
                self.scheduler.observe(finished.task, finished.decision, finished.outcome)
        self.learning_seconds += time.perf_counter() - began

    def _policy(self) -> Policy | None:
        scheduler = self.scheduler
        kernel = scheduler.active_kernel() if self._compiled else None
        if kernel is None:
            return None
        signature = DISPATCH_SIGNATURE if scheduler.dispatches else KERNEL_SIGNATURE
        return Policy(compiled_policy(kernel, signature), scheduler.kernel_state())
