"""One scheduler's copy of the simulated cluster: tasks go in, decisions are carried out, outcomes come back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.abandoning import abandon
from hybrid_scheduler.cluster.arrays import empty_state, grown, link, with_data, with_tasks
from hybrid_scheduler.cluster.collect import collect
from hybrid_scheduler.cluster.data import add_true_data, data_on
from hybrid_scheduler.cluster.dispatch_loop import run_dispatch
from hybrid_scheduler.cluster.disturb import disturb
from hybrid_scheduler.cluster.forgetting import forget, needed
from hybrid_scheduler.cluster.heap import pop, push
from hybrid_scheduler.cluster.loop import run, true_times
from hybrid_scheduler.cluster.state import (
    ANSWER,
    ASK,
    CHANGED,
    CURRENT,
    DECISIONS,
    DISTURB,
    DISTURBED,
    DONE,
    DOOMED,
    EDGES,
    FAILED,
    GROW,
    ILLEGAL,
    ILLEGAL_REASONS,
    NOW,
    PARTS,
    PLACED,
    READY,
    SEES_EXPECTED,
    SEES_QUEUES,
    TASKS,
    WAITING_TASKS,
    WAITS,
)
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import IllegalDecisionError, SchedulerError
from hybrid_scheduler.model.kernel import DISPATCH_SIGNATURE, EXPECT_SIGNATURE, KERNEL_SIGNATURE
from hybrid_scheduler.model.node import Expectation
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, IntArray
from hybrid_scheduler.model.task_columns import TASK_MEMORY, TASK_PARENTS, TASK_RANK, TASK_WIDTH
from hybrid_scheduler.model.view import NO_FREE, NO_TIMES
from hybrid_scheduler.physics.world import TimedTasks, World

NO_LIMIT = 2**62
SHOWN = 8
"""Parts that the message about an illegal decision spells out."""


@nb.cfunc(KERNEL_SIGNATURE, cache=True)
def _no_policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    return 0


@nb.cfunc(DISPATCH_SIGNATURE, cache=True)
def _no_dispatch(number, now, waiting, times, devices, free, facts, state, out):  # type: ignore[no-untyped-def]
    return 0


@nb.cfunc(EXPECT_SIGNATURE, cache=True)
def _no_expectation(task, devices, facts, state, times):  # type: ignore[no-untyped-def]
    return 0


NO_EXPECTATION = Expectation(_no_expectation, NO_FREE, 0)


class _EntryPoint:
    """A compiled function without numba's look at the types of all arguments, which takes longer than a decision.

    That is safe because they are always the same: `Simulation` makes the arrays, `_check_state` looks at the rest.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._entry: Callable[..., int] | None = None

    def __call__(self, *arguments: Any) -> int:
        if self._entry is None:
            reason: int = self._function(*arguments)
            (compiled,) = self._function.overloads.values()
            self._entry = compiled.entry_point
            return reason
        return self._entry(*arguments)


_run, _run_dispatch = _EntryPoint(run), _EntryPoint(run_dispatch)


def _check_state(state: FloatArray) -> None:
    """Refuse a scheduler's state that compiled code would misread."""
    good = isinstance(state, np.ndarray) and state.dtype == np.float64 and state.ndim == 1
    if not (good and state.flags.c_contiguous):
        raise SchedulerError("kernel_state must give a contiguous, one-dimensional array of float64")


@dataclass(frozen=True)
class Waiting:
    """How tasks may wait for a scheduler that dispatches.

    Attributes:
        shortest: How many of the shortest waiting tasks a compiled policy is shown.
        oldest: How many of the oldest.
        sampled: How many of the others.
        ranked: How many of those of the highest upward rank, where tasks have one (`Simulation.rank`).
        idle_only: The scheduler starts nothing while every device is busy.
        first_fit: A compiled policy starts the first of the tasks shown that it would start alone.
    """

    shortest: int
    oldest: int
    sampled: int
    ranked: int
    idle_only: bool
    first_fit: bool = False


class Simulation:
    """Owns the arrays of one scheduler's node; the compiled loops do the work.

    Not thread-safe: one thread at a time. Tasks may be added while a run is under way, as long as they arrive no
    earlier than what has been decided already.

    Args:
        world: The devices and what will happen to them, and how they behave.
        sees: What the scheduler may see beyond the queues (`SEES_*` of `cluster.state`).
        isolated: Every task meets an idle node.
        observing: Outcomes are kept until `take_outcomes` fetches them, and a run stops when one is due.
        waiting: How tasks wait until the scheduler starts them; None when it decides every task at once.
        recording: Outcomes say how long the queues were at the decision.
        expect: What the scheduler expects of tasks that wait, as it stands when asked; for `SEES_EXPECTED`.
    """

    def __init__(
        self,
        world: World,
        *,
        sees: int = SEES_QUEUES,
        isolated: bool = False,
        observing: bool = False,
        waiting: Waiting | None = None,
        recording: bool = False,
        expect: Callable[[], Expectation] | None = None,
    ) -> None:
        self.world = world
        self._expect = expect
        self._sees = sees
        self._isolated = isolated
        self._observing = observing
        self._waiting = waiting
        self._recording = recording
        self._ranked = False
        shown = (0, 0)
        if waiting is not None:
            shown = waiting.shortest, waiting.oldest + waiting.sampled + waiting.ranked
        self.state = empty_state(world, *shown)

    def add(self, timed: TimedTasks) -> None:
        """Append tasks; parents must be in the same batch."""
        waiting = self._waiting is not None
        self.state = with_tasks(
            self.state,
            timed,
            observing=self._observing,
            waiting=waiting,
            recording=self._recording,
            expecting=self._sees == SEES_EXPECTED,
        )

    def rank(self, ranks: FloatArray) -> None:
        """Give the tasks added last their upward ranks, one each."""
        total = int(self.state.counters[TASKS])
        self.state.features[total - len(ranks) : total, TASK_RANK] = ranks
        self._ranked = True

    def depend(
        self,
        position: int,
        parents: Sequence[int],
        megabytes: Sequence[float] = (),
        savings: FloatArray = NO_FREE,
    ) -> None:
        """Let a task wait for others, before it is looked at.

        Args:
            position: The task, added last.
            parents: The positions of the tasks it waits for, added before.
            megabytes: What comes from each of them; empty when nothing does.
            savings: With megabytes: the seconds that a resident one saves the task on each device
                (`TimedTasks.savings`).
        """
        state, edges = self.state, int(self.state.counters[EDGES])
        state = state._replace(
            edges=grown(state.edges, edges + len(parents)), ready=grown(state.ready, int(state.counters[TASKS]))
        )
        task = state.tasks[position]
        unsettled = [p for p in parents if state.tasks[p]["status"] not in (PLACED, FAILED)]
        task["parents"], task["waiting"] = len(parents), len(unsettled)
        state.features[position, TASK_PARENTS] = len(parents)
        children = np.full(len(parents), position)
        link(state.tasks, state.edges, edges, np.array(parents, dtype=np.int64), children)
        state.counters[EDGES] = edges + len(parents)
        if any(megabytes):
            named, data = np.array(parents, dtype=np.int64), np.array(megabytes, dtype=np.float64)
            rows = slice(position, position + 1)
            state = with_data(state, named, children, data, rows, savings, int(state.counters[TASKS]))
            task = state.tasks[position]
        for settled in state.tasks[[p for p in parents if p not in unsettled]]:
            task["due"] = max(task["due"], settled["finish"])
            if settled["status"] == FAILED:
                task["status"] = DOOMED
        if parents and not unsettled:
            state.counters[READY] = push(state.ready, state.counters[READY], task["due"], task["id"], position)
        self.state = state

    def finished(self, until: float) -> NDArray[np.bool_]:
        """For every task, whether it has finished (or failed) by then."""
        tasks = self.state.tasks[: self.state.counters[TASKS]]
        settled = (tasks["status"] == PLACED) | (tasks["status"] == FAILED)
        return np.asarray(settled & (tasks["finish"] <= until))

    def finishing_after(self, moment: float) -> NDArray[np.bool_]:
        """For every task, whether it is placed and will finish after this moment, if nothing disturbs it."""
        tasks = self.state.tasks[: self.state.counters[TASKS]]
        return np.asarray((tasks["status"] == PLACED) & (tasks["finish"] > moment))

    def nth_finish(self, count: int, after: float) -> float:
        """When the `count`-th placed task to finish after a moment does; infinite when fewer are placed."""
        tasks = self.state.tasks[: self.state.counters[TASKS]]
        finish = tasks["finish"][self.finishing_after(after)]
        return float(np.partition(finish, count - 1)[count - 1]) if len(finish) >= count else math.inf

    def all_free(self) -> float:
        """When the last device becomes free, as things stand."""
        return float(self.state.free.max())

    def backlog_seconds(self, now: float) -> float:
        """Seconds until a device has done what is queued there and its share of what waits: the mean of all devices."""
        state, waiting = self.state, self.state.shortest[: self.waiting_tasks]["task"]
        shortest = state.realised[waiting].sum(axis=1).min(axis=1, initial=np.inf) * state.features[waiting, TASK_WIDTH]
        queued = np.maximum(state.free - now, 0.0).sum()
        return float(queued + shortest.sum()) / len(state.free)

    def busy_seconds(self, until: float, of: NDArray[np.bool_] | None = None) -> FloatArray:
        """Seconds every device has worked until then on the tasks in memory, or on those where `of` is true."""
        parts = self.state.parts[: self.state.counters[PARTS]]
        if of is not None:
            parts = parts[of[parts["task"]]]
        seconds = np.minimum(parts["end"], until) - np.minimum(parts["start"], until)
        busy = np.bincount(parts["device"], weights=seconds, minlength=len(self.world.cluster.devices))
        return busy.astype(np.float64)

    def forget(self, gone: NDArray[np.bool_], now: float) -> None:
        """Drop the tasks where `gone` is true, all finished by `now` and taken; the others move up.

        Call it between runs, with the `until` of the last one as `now`.
        """
        self.state = forget(self.state, gone, now)

    def needed(self, over: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For every task, whether one that is not `over` may yet need its data, so that it must not be forgotten."""
        return needed(self.state, over)

    def abandon(self, now: float) -> IntArray:
        """Fail every task that has not finished by `now` and empty all queues; returns the positions of those tasks."""
        if self._observing:
            self.state = self.state._replace(done=grown(self.state.done, int(self.state.counters[TASKS])))
        return abandon(self.state, now, self._observing)

    def run(
        self,
        policy: Any | None,
        policy_state: FloatArray,
        *,
        until: float = math.inf,
        limit: int = NO_LIMIT,
    ) -> int:
        """Let the compiled loop go on until it needs somebody; returns its reason (`cluster.state`).

        Raises:
            IllegalDecisionError: The last decision cannot be carried out.
        """
        _check_state(policy_state)
        while True:
            reason = self._loop(policy, policy_state, until, limit)
            if reason == GROW:
                space = max(64, int(self.state.counters[TASKS]))
                self.state = self.state._replace(parts=grown(self.state.parts, len(self.state.parts) + space))
                continue
            if reason == DISTURB:
                self._disturb()
                continue
            if reason >= ILLEGAL:
                self._refuse(reason)
            return reason

    def _loop(self, policy: Any | None, policy_state: FloatArray, until: float, limit: int) -> int:
        if self._waiting is None:
            return _run(
                _no_policy if policy is None else policy,
                policy is not None,
                self._sees,
                policy_state,
                NO_TIMES,
                NO_FREE,
                self.state,
                until,
                limit,
                self._observing,
                self._isolated,
            )
        expectation = NO_EXPECTATION if self._expect is None else self._expect()
        return _run_dispatch(
            _no_dispatch if policy is None else policy,
            policy is not None,
            self._sees,
            self._waiting.shortest,
            self._waiting.oldest,
            self._waiting.sampled,
            self._waiting.ranked if self._ranked else 0,
            self._waiting.idle_only,
            self._waiting.first_fit,
            policy_state,
            *expectation,
            NO_FREE,
            self.state,
            until,
            limit,
            self._observing,
            self._isolated,
        )

    def _disturb(self) -> None:
        state = self.state
        at = float(state.disturbances[state.counters[DISTURBED]]["time"])
        disturb(state, self._observing, self._isolated)
        if self._waiting is not None:
            state.clocks[NOW] = max(state.clocks[NOW], at)
            state.counters[ASK] = CHANGED

    @property
    def waiting_tasks(self) -> int:
        """How many tasks are ready and wait for the scheduler to start them."""
        return int(self.state.counters[WAITING_TASKS])

    @property
    def decisions(self) -> int:
        """How many decisions have been made."""
        return int(self.state.counters[DECISIONS])

    @property
    def now(self) -> float:
        """The time of the last decision or, where tasks wait, of the last change the scheduler was asked about."""
        return float(self.state.clocks[NOW])

    @property
    def current(self) -> int:
        """Position of the task Python is asked to decide."""
        return int(self.state.counters[CURRENT])

    def truth(self, position: int) -> tuple[FloatArray, FloatArray]:
        """What nobody but the simulator knows: a task's real times at the present speeds, and when devices are free.

        For a task that is ready both go by its data: what is on a device already is not moved there again, and a device
        is free for the task when the rest has come.
        """
        state, free = self.state, self.state.free.copy()
        times = np.empty((2, len(free)))
        true_times(state.realised, state.device_queues, position, times)
        if self.handed(position):
            memory = state.features[position, TASK_MEMORY]
            add_true_data(
                state.tasks, state.parts, state.data, state.links, state.savings, state.device_queues, position, memory,
                times, free,
            )  # fmt: skip
        return times, free

    def handed(self, position: int) -> bool:
        """Whether a task is ready, and its parents hand data to it."""
        task = self.state.tasks[position]
        return bool(task["first_data"] >= 0 and (position == self.current or task["status"] == WAITS))

    def data_there(self, position: int) -> FloatArray:
        """When all data of a ready task's parents is on each device; 0 where nothing has to come."""
        state = self.state
        return np.array(
            [data_on(state.tasks, state.parts, state.data, state.links, position, d)[0] for d in range(len(state.free))]
        )

    def answer(self, decision: Decision) -> None:
        """Hand in the decision for the current task; the next `run` carries it out.

        Raises:
            IllegalDecisionError: It is no decision, or not one made of numbers.
        """
        task_id = self.state.tasks[self.current]["id"]
        if not isinstance(decision, Decision):
            raise IllegalDecisionError(f"the answer for task {task_id} is {decision!r}, but it must be a Decision")
        parts = decision.parts
        for row, part in enumerate(parts[: len(self.state.out)]):
            try:
                self.state.out[row] = (part.device, part.share, part.expected)
            except (TypeError, ValueError) as error:
                raise IllegalDecisionError(f"the decision for task {task_id} holds {part!r}: {error}") from error
        self.state.counters[ANSWER] = len(parts)

    def take_outcomes(self, until: float) -> IntArray:
        """Positions of the tasks that have finished by `until` and were not taken before, in order of finish."""
        state, c, taken = self.state, self.state.counters, []
        while c[DONE] > 0 and state.done[0]["time"] <= until:
            taken.append(int(state.done[0]["task"]))
            c[DONE] = pop(state.done, c[DONE])
        return np.array(taken, dtype=np.int64)

    def outcomes(self, positions: IntArray | None = None) -> OutcomeBatch:
        """Outcomes of the tasks at these positions, or of every task decided so far."""
        if positions is None:
            status = self.state.tasks["status"][: self.state.counters[TASKS]]
            positions = np.flatnonzero((status == PLACED) | (status == FAILED))
        return collect(self.state, positions, self.world)

    def _refuse(self, reason: int) -> None:
        state = self.state
        rows = state.out[: max(0, int(state.counters[ANSWER]))]
        if self.current < 0:
            raise IllegalDecisionError(f"a decision is illegal: {ILLEGAL_REASONS[reason - ILLEGAL]}")
        task_id = state.tasks[self.current]["id"]
        width = int(state.features[self.current, TASK_WIDTH])
        task = f"task {task_id}" if width == 1 else f"task {task_id} of width {width}"
        parts = "; ".join(f"device {d:g}, share {s:g}, expected {e:g} s" for d, s, e in rows[:SHOWN])
        parts += f"; and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        raise IllegalDecisionError(
            f"the decision for {task} ({parts or 'no parts'}) is illegal: {ILLEGAL_REASONS[reason - ILLEGAL]}"
        )
