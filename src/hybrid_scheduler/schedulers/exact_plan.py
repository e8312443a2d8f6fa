"""Whole tasks on unlike devices as a constraint program: the least makespan, and a proof of how little it can be.

OR-tools' CP-SAT (Perron and Furnon) takes whole numbers, so times are counted in a unit of one hundred millionth of a
makespan that is reached. All of them are rounded down: every real schedule, rounded down, then keeps all rules (the sum
of floors is at most the floor of the sum), so what is proved of the rounded program is a bound for the real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_scheduler.model.errors import MissingExtraError
from hybrid_scheduler.model.task import FloatArray, IntArray

STEPS = 0.15
"""CP-SAT's units of deterministic time that a core does in a second: 0.1 to 0.3 were measured."""
PATIENCE = 4.0
UNITS = 10**8
"""Units of time in the makespan of the first schedule."""


@dataclass(frozen=True)
class ExactProblem:
    """Tasks, parents before children.

    Attributes:
        times: Seconds of each task on each device; infinite where it may not go.
        free: When each device is free.
        release: When each task is there.
        parents: Of each task, the rows of its parents, all of them above its own.
        megabytes: Of each task, what comes from each of these parents.
        links: Seconds a megabyte takes from one device (row) to another (column).
        saved: Seconds a task saves on each device for every megabyte that its parents have left there.
        memory: Megabytes of each task: it saves no more than for these.
    """

    times: FloatArray
    free: FloatArray
    release: FloatArray
    parents: Sequence[Sequence[int]]
    megabytes: Sequence[Sequence[float]]
    links: FloatArray
    saved: FloatArray
    memory: FloatArray

    def seconds(self, task: int, device: int, placed: IntArray) -> float:
        """Seconds of a task on a device, less what it saves by data that is there."""
        data = zip(self.parents[task], self.megabytes[task], strict=True)
        there = sum(megabytes for parent, megabytes in data if placed[parent] == device)
        saving = min(there, float(self.memory[task])) * float(self.saved[device])
        return max(0.0, float(self.times[task, device]) - saving)

    def ready(self, task: int, device: int, placed: IntArray, end: FloatArray) -> float:
        """When a task and its data are there."""
        ready = float(self.release[task])
        for parent, megabytes in zip(self.parents[task], self.megabytes[task], strict=True):
            ready = max(ready, end[parent] + megabytes * float(self.links[placed[parent], device]))
        return ready

    @property
    def is_assignment(self) -> bool:
        """Whether only the sums of times on the devices matter: no parents, everything there before a device is."""
        return not any(self.parents) and bool(self.release.max(initial=0.0) <= self.free.min())


@dataclass(frozen=True)
class ExactPlan:
    """Where and when each task runs, and what is known about the best.

    Attributes:
        device: Of each task.
        begin: When it starts.
        end: When it ends.
        bound: No schedule of whole tasks ends earlier.
        optimal: Whether that was proved of this one, but for the rounding of times.
    """

    device: IntArray
    begin: FloatArray
    end: FloatArray
    bound: float
    optimal: bool


def timed(
    problem: ExactProblem, device: IntArray | None, order: Sequence[int]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Tasks one after the other, each as soon as its device and its data allow, by real times.

    Args:
        problem: The tasks.
        device: Of each task; None: where it ends first.
        order: Their rows, parents before children.
    """
    count = len(problem.release)
    placed = np.full(count, -1, dtype=np.int64)
    begin, end, free = np.zeros(count), np.zeros(count), problem.free.astype(np.float64).copy()
    for i in order:
        best = np.inf
        for d in range(len(free)) if device is None else (int(device[i]),):
            if not np.isfinite(problem.times[i, d]):
                continue
            start = max(float(free[d]), problem.ready(i, d, placed, end))
            if start + problem.seconds(i, d, placed) < best:
                best = start + problem.seconds(i, d, placed)
                chosen, begin[i], end[i] = d, start, best
        placed[i], free[chosen] = chosen, best
    return placed, begin, end


def first_plan(problem: ExactProblem) -> tuple[IntArray, FloatArray, FloatArray]:
    """A list schedule by upward rank on mean times, each task where it ends first: where the search begins."""
    count = len(problem.release)
    usable = np.isfinite(problem.times)
    rank = np.where(usable, problem.times, 0.0).sum(axis=1) / usable.sum(axis=1)
    between = float(problem.links.mean()) if problem.links.size else 0.0
    own = rank.copy()
    for i in range(count - 1, -1, -1):
        for parent, megabytes in zip(problem.parents[i], problem.megabytes[i], strict=True):
            rank[parent] = max(rank[parent], own[parent] + megabytes * between + rank[i])
    # A parent's rank is above its child's; rows break ties in the order in which parents come first.
    return timed(problem, None, sorted(range(count), key=lambda i: (-rank[i], i)))


def solve(problem: ExactProblem, seconds: float, seed: int = 0, workers: int = 1) -> ExactPlan:
    """Search for the least makespan.

    The limit is CP-SAT's own count of steps, about those that a core does in so many seconds, so that with one worker
    the same seed gives the same plan. The clock ends the search only after `PATIENCE` times as long.

    Raises:
        MissingExtraError: OR-tools is not installed.
    """
    cp_model = import_cp_sat()
    device, begin, end = first_plan(problem)
    # Time is counted from the first moment anything can start.
    origin = max(float(problem.free.min()), float(problem.release.min()))
    unit = max(float(end.max()) - origin, 1e-300) / UNITS
    model = cp_model.CpModel()
    program = _Program(problem, model, origin, unit, int(np.ceil((end.max() - origin) / unit)) + 1)
    program.hint(device, begin)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = PATIENCE * seconds
    solver.parameters.max_deterministic_time = STEPS * seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed % 2**31
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    if found:
        chosen, starts = program.answer(solver)
        again = timed(problem, chosen, sorted(range(len(chosen)), key=lambda i: (starts[i], i)))
        if again[2].max() < end.max():
            device, begin, end = again
    bound = min(origin + float(solver.best_objective_bound) * unit, float(end.max())) if found else origin
    return ExactPlan(device, begin, end, bound, status == cp_model.OPTIMAL)


def import_cp_sat() -> Any:
    """The solver's module, which takes a second to load.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise MissingExtraError("cp_sat", "OR-tools", "bounds") from error
    return cp_model


class _Program:
    """The constraint program of a problem."""

    def __init__(self, problem: ExactProblem, model: Any, origin: float, unit: float, horizon: int) -> None:
        self._problem, self._model, self._origin, self._unit = problem, model, origin, unit
        self._horizon = horizon
        count, devices = problem.times.shape
        self.end = model.new_int_var(0, horizon, "end")
        self.on = [
            {d: model.new_bool_var(f"on_{i}_{d}") for d in range(devices) if np.isfinite(problem.times[i, d])}
            for i in range(count)
        ]
        self.start: list[Any] = []
        for i in range(count):
            model.add_exactly_one(self.on[i].values())
        for d in range(devices):
            least = [self._least(i, d) * self.on[i][d] for i in range(count) if d in self.on[i]]
            model.add(sum(least) + self._floor(problem.free[d] - origin) <= self.end)
        if not problem.is_assignment:
            self._time()
        model.minimize(self.end)

    def hint(self, device: IntArray, begin: FloatArray) -> None:
        """Where the search begins."""
        for i, on in enumerate(self.on):
            for d, variable in on.items():
                self._model.add_hint(variable, d == device[i])
        for i, start in enumerate(self.start):
            self._model.add_hint(start, self._floor(begin[i] - self._origin))

    def answer(self, solver: Any) -> tuple[IntArray, list[int]]:
        """The device of each task, and its start in units; its row, where order does not matter."""
        device = [next(d for d, variable in on.items() if solver.boolean_value(variable)) for on in self.on]
        starts = [int(solver.value(start)) for start in self.start] or list(range(len(device)))
        return np.array(device, dtype=np.int64), starts

    def _floor(self, seconds: float) -> int:
        return max(0, int(seconds / self._unit))

    def _saving(self, task: int, device: int) -> list[tuple[int, float]]:
        """The parents whose data a task may find on a device, and the seconds it then saves."""
        data = zip(self._problem.parents[task], self._problem.megabytes[task], strict=True)
        rate = float(self._problem.saved[device])
        return [(parent, megabytes * rate) for parent, megabytes in data if megabytes * rate > 0.0]

    def _least(self, task: int, device: int) -> int:
        """The least units a task takes on a device."""
        most = sum(seconds for _, seconds in self._saving(task, device))
        most = min(most, float(self._problem.memory[task] * self._problem.saved[device]) if most else 0.0)
        return self._floor(float(self._problem.times[task, device]) - most)

    def _time(self) -> None:
        """Intervals that do not overlap on a device, after releases and after parents and their data."""
        problem, model = self._problem, self._model
        count, devices = problem.times.shape
        ends = []
        for i in range(count):
            earliest = self._floor(float(problem.release[i]) - self._origin)
            self.start.append(model.new_int_var(min(earliest, self._horizon), self._horizon, f"start_{i}"))
            ends.append(model.new_int_var(0, self._horizon, f"end_{i}"))
            model.add(ends[i] <= self.end)
        for d in range(devices):
            intervals = []
            for i in range(count):
                if d not in self.on[i]:
                    continue
                size = self._size(i, d)
                intervals.append(
                    model.new_optional_interval_var(self.start[i], size, ends[i], self.on[i][d], f"run_{i}_{d}")
                )
                model.add(self.start[i] >= self._floor(problem.free[d] - self._origin)).only_enforce_if(self.on[i][d])
            model.add_no_overlap(intervals)
        for i in range(count):
            for parent, megabytes in zip(problem.parents[i], problem.megabytes[i], strict=True):
                model.add(self.start[i] >= ends[parent])
                for source, there in self.on[parent].items():
                    for target, here in self.on[i].items():
                        way = self._floor(megabytes * float(problem.links[source, target]))
                        if way > 0:
                            model.add(self.start[i] >= ends[parent] + way).only_enforce_if(there, here)

    def _size(self, task: int, device: int) -> Any:
        """Units of a task on a device: a number, or a variable where parents' data may be there."""
        whole, least = self._floor(float(self._problem.times[task, device])), self._least(task, device)
        saving = [(parent, seconds) for parent, seconds in self._saving(task, device) if device in self.on[parent]]
        if not saving or least == whole:
            return whole
        size = self._model.new_int_var(least, whole, f"size_{task}_{device}")
        # Rounded up: a task must not be taken to last longer than it does.
        saved = sum((int(seconds / self._unit) + 1) * self.on[parent][device] for parent, seconds in saving)
        self._model.add(size >= whole - saved)
        return size
