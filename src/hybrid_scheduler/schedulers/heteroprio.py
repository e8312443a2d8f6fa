"""HeteroPrio: each kind of device takes what it is best at."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.task import Task
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.model.waiting import WaitingRoom
from hybrid_scheduler.schedulers.base import Explanation, Scheduler
from hybrid_scheduler.schedulers.choose import fits, may_run

LEAST = 1e-300


class HeteroPrio(Scheduler):
    """Waiting tasks by how much faster a GPU is, on estimates: GPUs take from one end, CPUs from the other.

    Agullo, Bramas, Coulaud, Darve, Messner and Takahashi, "Task-based FMM for heterogeneous architectures", Concurrency
    Computat.: Pract. Exper. 28 (2016), with one queue for all acceleration factors, as Beaumont, Eyraud-Dubois and
    Kumar, "Approximation proofs of a fast and efficient list scheduling algorithm for task-based runtime systems on
    multicores and GPUs", IPDPS (2017), have it. Nothing that runs is taken away (no spoliation). Instead, as in the
    first paper, a device takes a task that the other kind does k times as fast only if at least k tasks wait for every
    device of that kind. Ties go by readiness.
    """

    uses_estimates = True
    idle_only = True

    def __init__(self) -> None:
        self._known: dict[int, float] = {}
        """The acceleration of each task that waits; nothing but a memory of what `acceleration` says."""

    def dispatch(self, waiting: WaitingRoom, view: ClusterView) -> Iterable[tuple[Task, Decision]]:
        """Give each idle GPU the most accelerated task that is left, each idle CPU the least accelerated one."""
        ids, known = waiting.ids(), self._known
        factors = [known[id_] if id_ in known else acceleration(waiting[at], view) for at, id_ in enumerate(ids)]
        self._known = dict(zip(ids, factors, strict=True))
        gpus, cpus, idle = view.gpus(), view.cpus(), view.idle
        started: dict[int, tuple[Task, Decision]] = {}
        for devices, others, gains in ((gpus, cpus, np.array(factors)), (cpus, gpus, -np.array(factors))):
            order = np.argsort(-gains, kind="stable").tolist() if idle[devices].any() else []
            for device in devices:
                left = (at for at in order if at not in started and may_run(waiting[at], device, view))
                at = next(left, None) if idle[device] else None
                if at is None:
                    continue
                slower = factors[at] if others is gpus else 1.0 / max(factors[at], LEAST)
                if slower <= 1.0 or len(ids) - len(started) >= slower * len(others):
                    task = waiting[at]
                    started[at] = task, Decision.whole(device, float(view.times_of(task).sum(axis=0)[device]))
        return list(started.values())

    def explain(self, task: Task, view: ClusterView) -> Explanation:
        """How much faster a GPU is."""
        factor, seconds = acceleration(task, view), view.times_of(task).sum(axis=0)
        if not 0.0 < factor < np.inf:
            return Explanation(f"Only a {'GPU' if factor else 'CPU'} can run it.", seconds)
        return Explanation(f"A GPU is {factor:.3g} times as fast; GPUs take the most accelerated tasks first.", seconds)


def acceleration(task: Task, view: ClusterView) -> float:
    """How many times as fast as the best CPU the best GPU is that has room; 0 if there is none, infinite without a CPU.

    The same as long as the task waits: what counts is its time alone, without the wait for its data.
    """
    seconds = view.times_of(task).sum(axis=0) - (view.data_ready(task) - view.now)
    gpu, cpu = np.inf, np.inf
    for device, kind in enumerate(view.kind.tolist()):
        if kind == "cpu":
            cpu = min(cpu, seconds[device])
        elif fits(view.devices, device, task.memory_required):
            gpu = min(gpu, seconds[device])
    return 0.0 if gpu == np.inf else float(cpu / max(gpu, LEAST))
