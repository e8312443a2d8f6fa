"""Planning of task graphs: tasks are placed and timed when they are known, and started in that order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.outcome import Outcome
from hybrid_scheduler.model.task import FloatArray, IntArray, Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Explanation, Scheduler
from hybrid_scheduler.schedulers.batch import allowed_times
from hybrid_scheduler.schedulers.choose import whole_device
from hybrid_scheduler.schedulers.graph_plan import GraphPlan, empty_plan, forget_gaps, keep
from hybrid_scheduler.schedulers.task_graph import TaskGraph, task_graph

BEFORE = -1.0
"""The release of what was planned before: before that of everything else."""
LOOKED_AT = 4
"""How many tasks that cannot run as planned are looked at in a decision."""
LAST_RESORT = 64
"""How many of the oldest waiting tasks are looked at when nothing runs and nothing would start."""


class PlannedTask(NamedTuple):
    """A task that is planned and has not finished."""

    task: Task
    device: int
    begin: float
    end: float
    release: float


class DeviceQueue(NamedTuple):
    """The tasks of one device in planned order, and when they are known.

    Attributes:
        ids: Of the tasks.
        release: When each is known.
        known_after: The least release from each place on: no need to look further before that moment.
    """

    ids: list[int]
    release: list[float]
    known_after: list[float]


class GraphPlanner(Scheduler):
    """Plans task graphs as a whole; a subclass says how in `plan_group`.

    Tasks that arrive at the same moment are planned together when they arrive, on what the plan leaves free; nothing is
    known earlier. A device starts its tasks in planned order, each when it is ready, so that without noise everything
    happens as planned. Tasks are not split. A device that is down gets nothing, one where a task does not fit only
    when the task fits on none.

    What does not go as planned: tasks that were planned for a device that is down, or that nobody announced, start
    where they finish first, as soon as that device is idle. When more tasks come in a live race, those that were
    planned before are timed anew, or planned anew if their device is down.
    """

    uses_estimates = True
    idle_only = True
    rule: ClassVar[str] = ""
    """What the plan is called in explanations."""

    def __init__(self) -> None:
        self._planned: dict[int, PlannedTask] = {}
        self._queues: list[DeviceQueue] = []
        self._first: list[int] = []

    @abstractmethod
    def plan_group(self, graph: TaskGraph, plan: GraphPlan, group: IntArray) -> None:
        """Plan the tasks of a group, whose other parents are planned.

        Args:
            graph: The tasks.
            plan: Gets device, begin and end of each task of the group.
            group: Their rows, parents before children.
        """

    def prepare(self, tasks: Sequence[Task], view: ClusterView) -> None:
        """Plan tasks that are announced, on what is left free by those that were planned before."""
        if not tasks:
            return
        up = view.available > 0.0 if view.available.any() else np.ones(len(view.names), dtype=bool)
        running, left = self._still_planned(view)
        if any(not up[each.device] for each in left):
            tasks, left = [*(each.task for each in left), *tasks], []
        before = running + left
        known = [each.task for each in before] + list(tasks)
        arrival = np.array([BEFORE] * len(before) + [max(task.arrival_time, view.now) for task in tasks])
        graph, groups, ended = _graph(known, allowed_times(known, view, up), arrival, view)
        plan = empty_plan(len(graph.release), view.now + view.backlog)
        for row, device in enumerate(ended, len(known)):
            plan.device[row], plan.begin[row], plan.end[row] = device, BEFORE, view.now
        for row, each in enumerate(running):
            ends = view.now + float(view.backlog[each.device])
            plan.device[row], plan.begin[row], plan.end[row] = each.device, min(each.begin, view.now), ends
        release = graph.release.copy()
        release[: len(before)] = [each.release for each in before]
        rows = np.arange(len(running), len(before))
        keep(graph, plan, rows, np.array([each.device for each in left], dtype=np.int64), release)
        for group in groups:
            if graph.release[group[0]] > BEFORE:
                forget_gaps(plan, graph.release[group[0]])
                self.plan_group(graph, plan, group)
        order = np.concatenate(groups)
        self._note(known, plan, release, order[order < len(known)])

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Start on each idle device the next task of its queue, if it is ready."""
        idle, chosen = view.idle, dict[int, PlannedTask]()
        for device in range(len(self._queues)):
            if idle[device]:
                head = next(self._in_order(device, view.now), None)
                if head is not None and head.task in waiting:
                    chosen[device] = head
        for each in self._displaced(waiting, view):
            if idle[each.device] and (each.device not in chosen or each.begin < chosen[each.device].begin):
                chosen[each.device] = each
        if not chosen and (idle | (view.available == 0.0)).all():
            # Nothing runs and nothing is next: the node does not do what was planned, e.g. it takes one task at a time.
            each = min((self._placed(task, view) for task in waiting.oldest(LAST_RESORT)), key=_begin)
            chosen[each.device] = each
        return [(each.task, Decision.whole(device, each.end - each.begin)) for device, each in chosen.items()]

    def observe(self, task: Task, decision: Decision, outcome: Outcome) -> None:
        """Forget a task that has finished."""
        planned = self._planned.pop(task.task_id, None)
        if planned is None:
            return
        ids, first = self._queues[planned.device].ids, self._first[planned.device]
        while first < len(ids) and ids[first] not in self._planned:
            first += 1
        self._first[planned.device] = first

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """Where and when it is planned."""
        seconds, planned = view.times_of(task).sum(axis=0), self._planned.get(task.task_id)
        if not view.available.any():
            return Explanation("It waits because no device is up.", seconds)
        if planned is None or not view.available[planned.device]:
            why = "Nobody announced it" if planned is None else f"{view.names[planned.device]}, its device, is down"
            return Explanation(f"{why}; it goes where it finishes first.", seconds)
        return Explanation(f"{self.rule} plans it on {view.names[planned.device]} at {planned.begin:.3g} s.", seconds)

    def expected_start(self, task: Task, waiting: WaitingRoom, view: ClusterView) -> float | None:
        """When it is planned to start."""
        planned = self._planned.get(task.task_id)
        return super().expected_start(task, waiting, view) if planned is None else max(planned.begin, view.now)

    def _still_planned(self, view: ClusterView) -> tuple[list[PlannedTask], list[PlannedTask]]:
        """What was planned before, runs or has not started, and is still known to the node; in planned order."""
        times = view.times_by_id or {}
        left = [each for id_, each in self._planned.items() if id_ in times]
        heads = (next(self._in_order(d, view.now), None) for d in range(len(self._queues)) if view.queued[d] > 0.0)
        running = [head for head in heads if head is not None and head.task.task_id in times]
        left = sorted((each for each in left if each not in running), key=_begin)
        return running, left

    def _note(self, tasks: Sequence[Task], plan: GraphPlan, release: FloatArray, order: IntArray) -> None:
        """Keep a plan; `order` has parents before children."""
        rows = order[np.lexsort((plan.end[order], plan.begin[order]))].tolist()
        columns = (each[: len(tasks)].tolist() for each in (plan.device, plan.begin, plan.end, release))
        planned = [PlannedTask(task, *figures) for task, *figures in zip(tasks, *columns, strict=True)]
        self._planned = {planned[i].task.task_id: planned[i] for i in rows}
        self._queues, self._first = [], [0] * len(plan.free)
        for device in range(len(plan.free)):
            mine = [planned[i] for i in rows if planned[i].device == device]
            releases = np.array([each.release for each in mine])
            least = np.minimum.accumulate(releases[::-1])[::-1]
            self._queues.append(DeviceQueue([each.task.task_id for each in mine], releases.tolist(), least.tolist()))

    def _in_order(self, device: int, now: float) -> Iterator[PlannedTask]:
        """The unfinished tasks of a device that are known by now, in planned order."""
        queue = self._queues[device]
        for place in range(self._first[device], len(queue.ids)):
            if queue.known_after[place] > now:
                return
            planned = self._planned.get(queue.ids[place])
            if planned is not None and planned.release <= now:
                yield planned

    def _displaced(self, waiting: WaitingRoom, view: ClusterView) -> list[PlannedTask]:
        """A few of the waiting tasks that were not planned, or for a device that is down, where they finish first."""
        found = [task for task in waiting.oldest(LOOKED_AT) if task.task_id not in self._planned]
        for device in np.flatnonzero(view.available == 0.0).tolist() if self._queues else ():
            ready = (each.task for each in self._in_order(device, view.now) if each.task in waiting)
            found += [task for task, _ in zip(ready, range(LOOKED_AT), strict=False)]
        return sorted((self._placed(task, view) for task in found), key=_begin)

    def _placed(self, task: Task, view: ClusterView) -> PlannedTask:
        """A task as it is planned or, where that cannot be, on the device that finishes it first."""
        planned = self._planned.get(task.task_id)
        if planned is not None and view.available[planned.device]:
            return planned
        times = view.times_of(task)
        device = whole_device(view.devices, times, task.memory_required)
        begin = view.now if planned is None else planned.begin
        return PlannedTask(task, device, begin, begin + float(times[:, device].sum()), view.now)


def _begin(planned: PlannedTask) -> tuple[float, float]:
    return planned.begin, planned.end


def _graph(
    tasks: Sequence[Task], times: FloatArray, arrival: FloatArray, view: ClusterView
) -> tuple[TaskGraph, list[IntArray], list[int]]:
    """The graph of tasks, its groups, and the devices of parents that have ended; those are rows behind the tasks.

    Parents that are not known any more are left out.
    """
    row = {task.task_id: i for i, task in enumerate(tasks)}
    start, parents, megabytes, ended = [0], list[int](), list[float](), list[int]()
    for task in tasks:
        data = task.dependency_mb or (0.0,) * len(task.dependencies)
        for parent, megabyte in zip(task.dependencies, data, strict=True):
            if parent not in row and (parts := view.parts_of(parent)):
                row[parent] = len(tasks) + len(ended)
                ended.append(max(parts, key=lambda part: part.share).device)
            if parent in row:
                parents.append(row[parent])
                megabytes.append(megabyte)
        start.append(len(parents))
    memory = [task.memory_required for task in tasks] + [0.0] * len(ended)
    anywhere = np.where(np.isfinite(times).any(axis=0), 0.0, np.inf)
    graph, groups = task_graph(
        np.array(start + [len(parents)] * len(ended)),
        np.array(parents, dtype=np.int64),
        np.array(megabytes, dtype=np.float64),
        np.vstack([times, np.tile(anywhere, (len(ended), 1))]),
        view.links,
        arrival=np.concatenate([arrival, np.full(len(ended), BEFORE)]),
        saved=view.resident if view.resident.size else None,
        memory=np.array(memory, dtype=np.float64),
    )
    return graph, groups, ended
