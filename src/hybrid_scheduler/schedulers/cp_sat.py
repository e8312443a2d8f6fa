"""CP-SAT: an exact solver as a scheduler, for what is small enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.ranges import within
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Explanation
from hybrid_scheduler.schedulers.batch import BatchScheduler, Mapping, allowed_times
from hybrid_scheduler.schedulers.exact_plan import ExactProblem, import_cp_sat, solve
from hybrid_scheduler.schedulers.min_min import min_min

BOUNDED = 30
"""Tasks that come one by one, up to which a bound is looked for."""


class CpSat(BatchScheduler):
    """Plans small batches and graphs exactly on estimates, by OR-tools' CP-SAT with a time limit (extra `bounds`).

    Tasks that all come at the same moment, up to `most_tasks` of them, are planned as a whole: devices, order,
    dependencies, data between devices, memory. Each device then starts its tasks in planned order, each when it is
    ready. The least makespan that CP-SAT could not exclude is kept as `bound`: no schedule of *whole* tasks on these
    times has a smaller one. A schedule that divides tasks may. Of tasks that come one by one, up to `BOUNDED`, only the
    bound is found beforehand, not the plan, because nobody would know them.

    All others wait, and at every change a few of the oldest are mapped for the least makespan (`BatchScheduler`). So
    are all when the plan cannot be kept: a device it needs is down, or nothing of it can start.

    Attributes:
        bound: Lower bound on the makespan of whole tasks, of the tasks prepared last; None when they were too many.
        optimal: Whether the plan was proved to be the best.

    Args:
        seconds: The search of a plan takes about so many seconds of a core, at most (see `exact_plan.solve`).
        most_tasks: More tasks than this are not planned as a whole.
        room_seconds: The same as `seconds` for the waiting tasks at a change.
        window: At most so many of the oldest waiting tasks are mapped at a change.
        workers: Threads of the search; with more than one a plan is not repeatable.
        seed: Of the search.
    """

    rule = "The tasks that wait are mapped exactly for the least makespan"

    def __init__(
        self,
        seconds: float = 10.0,
        most_tasks: int = 200,
        room_seconds: float = 0.02,
        window: int = 8,
        workers: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__(window)
        for name, value in (("seconds", seconds), ("room_seconds", room_seconds)):
            if not (math.isfinite(value) and value > 0.0):
                raise InvalidInputError(f"{name} is {value}, but it must be a number above 0")
        for name, count, least, most in (("most_tasks", most_tasks, 0, 10_000), ("workers", workers, 1, 1024)):
            within(name, count, least, most)
        import_cp_sat()  # said at once, and loaded before anybody's time is measured
        self.seconds = seconds
        self.most_tasks = most_tasks
        self.room_seconds = room_seconds
        self.workers = workers
        self.seed = seed
        self.bound: float | None = None
        self.optimal = False
        self._planned: dict[int, tuple[int, float, float]] = {}
        self._queues: list[list[int]] = []

    def prepare(self, tasks: Sequence[Task], view: ClusterView) -> None:
        """Plan a batch or a graph that comes at once; of others only find the bound."""
        self.bound, self.optimal = None, False
        fresh = view.number == 0 and not view.queued.any() and not self._planned
        self._planned, self._queues = {}, []
        narrow = all(task.width == 1 for task in tasks)
        together = len({task.arrival_time for task in tasks}) == 1
        most = self.most_tasks if together else min(BOUNDED, self.most_tasks)
        if not (fresh and narrow and 2 <= len(tasks) <= most and view.available.any()):
            return
        rows = _parents_first(tasks)
        if rows is None:
            return
        problem = _problem(rows, view)
        plan = solve(problem, self.seconds, self.seed, self.workers)
        first = min(task.arrival_time for task in tasks)
        self.bound, self.optimal = plan.bound - first, plan.optimal
        if together:
            figures = zip(plan.device.tolist(), plan.begin.tolist(), plan.end.tolist(), strict=True)
            self._planned = {task.task_id: each for task, each in zip(rows, figures, strict=True)}
            for device in range(len(view.names)):
                mine = [task.task_id for task in rows if self._planned[task.task_id][0] == device]
                self._queues.append(sorted(mine, key=lambda number: self._planned[number][1:]))

    def proved_makespan(self) -> float | None:
        """See `bound`."""
        return self.bound

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Start the next planned task of each idle device, or map those that wait."""
        if not self._planned or any(queue and not view.available[d] for d, queue in enumerate(self._queues)):
            return super().dispatch(waiting, view)
        there = {task.task_id: task for task in waiting}
        heads = [(d, queue[0]) for d, queue in enumerate(self._queues) if queue and view.idle[d]]
        begun = [(there[number], d) for d, number in heads if number in there]
        if not begun and (view.idle | (view.available == 0.0)).all():
            return super().dispatch(waiting, view)  # nothing runs, nothing of the plan can start
        return [(task, Decision.whole(d, self._seconds(task))) for task, d in begun]

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Forget a task that has finished."""
        planned = self._planned.pop(task.task_id, None)
        if planned is not None:
            self._queues[planned[0]].remove(task.task_id)

    def assign(self, times: FloatArray, ready: FloatArray) -> Mapping:
        """A short search over independent tasks, the shortest of each device first."""
        if min(times.shape) == 1:
            return min_min(times, ready)
        count = len(times)
        nothing: list[list[int]] = [[] for _ in range(count)]
        none: list[list[float]] = [[] for _ in range(count)]
        links = np.zeros((len(ready), len(ready)))
        problem = ExactProblem(
            times, ready, np.zeros(count), nothing, none, links, np.zeros(len(ready)), np.zeros(count)
        )
        device = solve(problem, self.room_seconds, self.seed).device
        return np.argsort(times[np.arange(count), device], kind="stable"), device

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Where and when it is planned, or the rule for those that are not."""
        planned = self._planned.get(task.task_id)
        if planned is None or not view.available[planned[0]]:
            return super().explain(task, view)
        seconds = view.times_of(task).sum(axis=0)
        return Explanation(f"It is planned on {view.names[planned[0]]} at {planned[1]:.3g} s.", seconds)

    def _seconds(self, task: Task) -> float:
        _, begin, end = self._planned[task.task_id]
        return end - begin


def _parents_first(tasks: Sequence[Task]) -> list[Task] | None:
    """The tasks, parents before children; None when a parent is not among them."""
    by_id = {task.task_id: task for task in tasks}
    missing = {task.task_id: len(set(task.dependencies)) for task in tasks}
    children: dict[int, list[int]] = {}
    for task in tasks:
        for parent in set(task.dependencies):
            if parent not in by_id:
                return None
            children.setdefault(parent, []).append(task.task_id)
    ready = [task.task_id for task in tasks if not missing[task.task_id]]
    for number in ready:
        for child in children.get(number, ()):
            missing[child] -= 1
            if missing[child] == 0:
                ready.append(child)
    return [by_id[number] for number in ready]


def _problem(tasks: Sequence[Task], view: ClusterView) -> ExactProblem:
    """Tasks as rows, parents before children."""
    row = {task.task_id: i for i, task in enumerate(tasks)}
    devices = len(view.names)
    return ExactProblem(
        allowed_times(tasks, view),
        view.now + view.backlog,
        np.array([max(task.arrival_time, view.now) for task in tasks]),
        [[row[parent] for parent in task.dependencies] for task in tasks],
        [list(task.dependency_mb or (0.0,) * len(task.dependencies)) for task in tasks],
        view.links if view.links.size else np.zeros((devices, devices)),
        view.resident if view.resident.size else np.zeros(devices),
        np.array([task.memory_required for task in tasks]),
    )
