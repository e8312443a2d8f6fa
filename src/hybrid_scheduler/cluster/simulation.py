"""One scheduler's copy of the simulated cluster: tasks go in, decisions are carried out, outcomes come back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.cluster.abandoning import abandon
from hybrid_scheduler.cluster.collect import collect
from hybrid_scheduler.cluster.disturb import disturb
from hybrid_scheduler.cluster.forgetting import forget
from hybrid_scheduler.cluster.heap import pop, push
from hybrid_scheduler.cluster.loop import run, true_times
from hybrid_scheduler.cluster.state import (
    ANSWER,
    CLOCKS,
    COUNTERS,
    CURRENT,
    DECISIONS,
    DISTURB,
    DISTURBANCE,
    DONE,
    DOOMED,
    EDGE,
    EDGES,
    FAILED,
    GROW,
    HEAP,
    ILLEGAL,
    ILLEGAL_REASONS,
    LANE,
    NOW,
    PART,
    PARTS,
    PLACED,
    READY,
    SEES_ESTIMATES,
    SEES_QUEUES,
    SEES_TRUTH,
    TASK,
    TASKS,
    Records,
    State,
)
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import IllegalDecisionError, SchedulerError
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray, IntArray, TaskBatch
from hybrid_scheduler.model.view import KERNEL_SIGNATURE, NO_FREE, NO_TIMES, ClusterView
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics

NO_LIMIT = 2**62


@nb.cfunc(KERNEL_SIGNATURE, cache=True)
def _no_policy(number, now, task, devices, times, free, facts, state, out):  # type: ignore[no-untyped-def]
    return 0


def _run(*arguments: Any) -> int:
    """The compiled loop without numba's look at the types of all arguments, which takes longer than a decision.

    That is safe because they are always the same: `Simulation` makes the arrays, `_check_memory` looks at the rest.
    """
    global _entry
    if _entry is None:
        reason: int = run(*arguments)
        (compiled,) = run.overloads.values()  # type: ignore[attr-defined]
        _entry = compiled.entry_point
        return reason
    return _entry(*arguments)


_entry: Callable[..., int] | None = None


def _check_memory(memory: FloatArray) -> None:
    """Refuse a scheduler's state that compiled code would misread."""
    good = isinstance(memory, np.ndarray) and memory.dtype == np.float64 and memory.ndim == 1
    if not (good and memory.flags.c_contiguous):
        raise SchedulerError("kernel_state must give a contiguous, one-dimensional array of float64")


class Simulation:
    """Owns the arrays of one scheduler's node; the compiled loop does the work.

    Not thread-safe: one thread at a time. Tasks may be added while a run is under way, as long as they arrive no
    earlier than what has been decided already.

    Args:
        cluster: The devices and what will happen to them.
        physics: Cost model, split, memory policy, prices.
        sees: What the scheduler may see beyond the queues (`SEES_*` of `cluster.state`).
        isolated: Every task meets an idle node.
        observing: Outcomes are kept until `take_outcomes` fetches them, and a run stops when one is due.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        physics: Physics,
        *,
        sees: int = SEES_QUEUES,
        isolated: bool = False,
        observing: bool = False,
    ) -> None:
        self.cluster = cluster
        self.physics = physics
        self._sees = sees
        self._isolated = isolated
        self._observing = observing
        count = len(cluster.devices)
        lanes = np.zeros(count, dtype=LANE)
        lanes["speed"], lanes["head_end"], lanes["head"], lanes["tail"] = 1.0, np.inf, -1, -1
        counters = np.zeros(COUNTERS, dtype=np.int64)
        counters[CURRENT] = -1
        events = [(d.time, d.speed, cluster.names.index(d.device)) for d in cluster.disturbances]
        self.state = State(
            devices=cluster.public_table(),
            facts=physics.facts(),
            free=np.zeros(count),
            lanes=lanes,
            scratch=np.zeros((2, count)),
            out=np.zeros((2, 3)),
            counters=counters,
            clocks=np.zeros(CLOCKS),
            disturbances=np.array(sorted(events, key=lambda e: e[0]), dtype=DISTURBANCE),
            tasks=np.zeros(0, dtype=TASK),
            features=np.zeros((0, 5)),
            nominal=np.zeros((0, 2, count)),
            realised=np.zeros((0, 2, count)),
            ready=np.zeros(0, dtype=HEAP),
            done=np.zeros(0, dtype=HEAP),
            edges=np.zeros(0, dtype=EDGE),
            parts=np.zeros(0, dtype=PART),
        )

    def add(self, tasks: TaskBatch, nominal: FloatArray, realised: FloatArray) -> None:
        """Append tasks with their nominal and realised times (`Physics`); parents must be in the same batch."""
        state, n = self.state, len(tasks)
        base = int(state.counters[TASKS])
        rows = slice(base, base + n)
        if base == 0:
            # A million tasks need not be copied for every scheduler in the race.
            nominal, realised = np.ascontiguousarray(nominal), np.ascontiguousarray(realised)
            state = state._replace(features=tasks.feature_rows(), nominal=nominal, realised=realised)
        else:
            features, times = _room(state.features, base + n), _room(state.nominal, base + n)
            truth = _room(state.realised, base + n)
            features[rows], times[rows], truth[rows] = tasks.feature_rows(), nominal, realised
            state = state._replace(features=features, nominal=times, realised=truth)
        heap = base + n if tasks.has_dependencies or len(state.disturbances) or len(state.edges) else 0
        records = _room(state.tasks, base + n)
        new = records[rows]
        new["id"], new["parents"] = tasks.task_id, np.diff(tasks.parent_start)
        new["waiting"] = new["parents"]
        for name in ("arrival", "earliest", "due"):
            new[name] = tasks.arrival_time
        for name in ("first_edge", "first_part", "last_part"):
            new[name] = -1
        edges = int(state.counters[EDGES])
        state = state._replace(
            tasks=records,
            ready=_room(state.ready, heap),
            done=_room(state.done, base + n if self._observing else 0),
            edges=_room(state.edges, edges + len(tasks.parents)),
            parts=_room(state.parts, base + n + 2),
        )
        children = base + np.repeat(np.arange(n), np.diff(tasks.parent_start))
        _link(state.tasks, state.edges, edges, base + tasks.parents, children)
        state.counters[EDGES] = edges + len(tasks.parents)
        state.counters[TASKS] = base + n
        self.state = state

    def depend(self, position: int, parents: Sequence[int]) -> None:
        """Let the task added last, at `position`, wait for earlier tasks by their positions, before it is looked at."""
        state, edges = self.state, int(self.state.counters[EDGES])
        state = state._replace(
            edges=_room(state.edges, edges + len(parents)), ready=_room(state.ready, int(state.counters[TASKS]))
        )
        task = state.tasks[position]
        unsettled = [p for p in parents if state.tasks[p]["status"] not in (PLACED, FAILED)]
        task["parents"], task["waiting"] = len(parents), len(unsettled)
        children = np.full(len(parents), position)
        _link(state.tasks, state.edges, edges, np.array(parents, dtype=np.int64), children)
        state.counters[EDGES] = edges + len(parents)
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

    def busy_seconds(self, until: float, of: NDArray[np.bool_] | None = None) -> FloatArray:
        """Seconds every device has worked until then on the tasks in memory, or on those where `of` is true."""
        parts = self.state.parts[: self.state.counters[PARTS]]
        if of is not None:
            parts = parts[of[parts["task"]]]
        seconds = np.minimum(parts["end"], until) - np.minimum(parts["start"], until)
        busy = np.bincount(parts["device"], weights=seconds, minlength=len(self.cluster.devices))
        return busy.astype(np.float64)

    def forget(self, gone: NDArray[np.bool_], now: float) -> None:
        """Drop the tasks where `gone` is true, all finished by `now` and taken; the others move up.

        Call it between runs, with the `until` of the last one as `now`.
        """
        self.state = forget(self.state, gone, now)

    def abandon(self, now: float) -> IntArray:
        """Fail every task that has not finished by `now` and empty all queues; returns the positions of those tasks."""
        if self._observing:
            self.state = self.state._replace(done=_room(self.state.done, int(self.state.counters[TASKS])))
        return abandon(self.state, now, self._observing)

    def run(
        self,
        policy: Any | None,
        memory: FloatArray,
        *,
        until: float = math.inf,
        limit: int = NO_LIMIT,
    ) -> int:
        """Let the compiled loop go on until it needs somebody; returns its reason (`cluster.state`).

        Raises:
            IllegalDecisionError: The last decision cannot be carried out.
        """
        _check_memory(memory)
        while True:
            reason: int = _run(
                _no_policy if policy is None else policy,
                policy is not None,
                self._sees,
                memory,
                NO_TIMES,
                NO_FREE,
                self.state,
                until,
                limit,
                self._observing,
                self._isolated,
            )
            if reason == GROW:
                room = max(64, int(self.state.counters[TASKS]))
                self.state = self.state._replace(parts=_room(self.state.parts, len(self.state.parts) + room))
                continue
            if reason == DISTURB:
                disturb(self.state, self._observing, self._isolated)
                continue
            if reason >= ILLEGAL:
                self._refuse(reason)
            return reason

    @property
    def decisions(self) -> int:
        """How many decisions have been made."""
        return int(self.state.counters[DECISIONS])

    @property
    def now(self) -> float:
        """The time of the last decision."""
        return float(self.state.clocks[NOW])

    @property
    def current(self) -> int:
        """Position of the task Python is asked to decide."""
        return int(self.state.counters[CURRENT])

    def view(self) -> ClusterView:
        """A snapshot for the task that is to be decided: only what this scheduler may see."""
        state, task = self.state, self.current
        times, free = NO_TIMES, NO_FREE
        if self._sees == SEES_ESTIMATES:
            times = state.nominal[task].copy()
        elif self._sees == SEES_TRUTH:
            times, free = self.truth(task)
        return ClusterView(
            self.decisions - 1, self.now, state.devices.copy(), state.facts.copy(), self.cluster.names, times, free
        )

    def truth(self, position: int) -> tuple[FloatArray, FloatArray]:
        """What nobody but the simulator knows: a task's real times at the present speeds, and when devices are free."""
        times = np.empty_like(self.state.scratch)
        true_times(self.state.realised, self.state.lanes, position, times)
        return times, self.state.free.copy()

    def answer(self, decision: Decision) -> None:
        """Hand in the decision for the current task; the next `run` carries it out.

        Raises:
            IllegalDecisionError: It is no decision, or not one made of numbers.
        """
        task_id = self.state.tasks[self.current]["id"]
        if not isinstance(decision, Decision):
            raise IllegalDecisionError(f"the answer for task {task_id} is {decision!r}, but it must be a Decision")
        parts = decision.parts
        for row, part in enumerate(parts[:2]):
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
        return collect(self.state, positions, self.cluster, self.physics)

    def _refuse(self, reason: int) -> None:
        state = self.state
        rows = state.out[: max(0, min(2, int(state.counters[ANSWER])))]
        task_id = state.tasks[self.current]["id"]
        parts = "; ".join(f"device {d:g}, share {s:g}, expected {e:g} s" for d, s, e in rows)
        raise IllegalDecisionError(
            f"the decision for task {task_id} ({parts or 'no parts'}) is illegal: {ILLEGAL_REASONS[reason - ILLEGAL]}"
        )


def _room(rows: NDArray[Any], needed: int) -> NDArray[Any]:
    """The same rows with space for `needed`; grows by doubling, so that adding one task at a time stays cheap."""
    if needed <= len(rows):
        return rows
    grown = np.empty((max(needed, 2 * len(rows)), *rows.shape[1:]), dtype=rows.dtype)
    grown[: len(rows)] = rows
    # Written, not only reserved: the loop should not wait for the operating system to hand out pages.
    grown[len(rows) :] = 0
    return grown


@nb.njit(cache=True)
def _link(tasks: Records, edges: Records, first: int, parents: IntArray, children: IntArray) -> None:
    for k in range(len(parents)):
        edges[first + k].child = children[k]
        edges[first + k].next = tasks[parents[k]].first_edge
        tasks[parents[k]].first_edge = first + k
