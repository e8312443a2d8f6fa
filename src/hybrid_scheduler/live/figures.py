"""Running figures of the live race: means per task over the run, and which schedulers are overloaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_scheduler.engine.live_data import Advance, Finished
from hybrid_scheduler.live.documents import known
from hybrid_scheduler.metrics.overloaded import OverloadWatch
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.energy import busy_energy
from hybrid_scheduler.physics.response import response_bound
from hybrid_scheduler.physics.world import World

GROUP = 1024
"""Finished tasks that are bounded together."""


class ResponseFloor:
    """What nobody can respond in, summed over tasks that finish bit by bit.

    A bound for each of several groups of tasks is one for all of them, so tasks are bounded in groups of `GROUP` as
    they finish (`physics.response`); those of a group that is not full yet count with their best time on an idle node.
    """

    def __init__(self, world: World) -> None:
        self._devices, self._facts = world.cluster.public_table(), world.physics.facts()
        self._speed = world.cluster.best_speed()
        self._pending: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self._waiting = 0
        self.seconds = 0.0

    def add(self, arrival: FloatArray, least: FloatArray, whole: FloatArray) -> None:
        """Take in tasks: when they arrived, their best time on an idle node, and their time on every device.

        Those that cannot run at all are passed over, and those of whose times nobody knows.
        """
        possible = np.isfinite(least)
        if not possible.any():
            return
        arrival, least, whole = arrival[possible], least[possible], whole[possible]
        self.seconds += float(least.sum())
        self._pending.append((arrival, least, whole))
        self._waiting += len(arrival)
        if self._waiting < GROUP:
            return
        arrival, least, whole = (np.concatenate(columns) for columns in zip(*self._pending, strict=True))
        self._pending, self._waiting = [], 0
        bound = response_bound(arrival, least, whole / self._speed, self._devices, self._facts)
        self.seconds += max(0.0, bound - float(least.sum()))


class Means:
    """Sums over finished tasks of one scheduler.

    Args:
        floor: Knows the least sum of responses, for the gap.
    """

    def __init__(self, floor: ResponseFloor | None = None) -> None:
        self.tasks = self.failed = 0
        self.time = self.wait = self.response = self.energy = self.cost = 0.0
        self.gpu_seconds = self.busy_seconds = 0.0
        self._floor = floor

    def add(self, outcomes: OutcomeBatch, least_seconds: FloatArray, whole_seconds: FloatArray) -> None:
        """Take in finished tasks; those that failed are counted apart.

        Args:
            outcomes: What became of them.
            least_seconds: Below this no response to each of them can be.
            whole_seconds: What each of them takes on every device at least.
        """
        if len(outcomes) == 0:
            return
        good = ~outcomes.failed
        self.tasks += len(outcomes)
        self.failed += int((~good).sum())
        self.time += float(outcomes.actual_time[good].sum())
        self.response += float(outcomes.response_time[good].sum())
        if self._floor is not None:
            self._floor.add(outcomes.arrival_time[good], least_seconds[good], whole_seconds[good])
        self.wait += float((outcomes.response_time - outcomes.actual_time)[good].sum())
        self.energy += float(outcomes.energy[good].sum())
        self.cost += float(outcomes.cost[good].sum())
        seconds = outcomes.part_end - outcomes.part_start
        self.busy_seconds += float(seconds.sum())
        self.gpu_seconds += float(seconds[outcomes.device_gpu_id[outcomes.part_device] >= 0].sum())

    def document(self) -> dict[str, Any]:
        """The means as in `ComparisonEntry`; null before the first task, and what is not known of every task."""
        count = self.tasks - self.failed
        sums = {"time": self.time, "wait": self.wait, "response": self.response, "energy": self.energy}
        means = {
            f"avg_{name}": known(total / count) if count else None
            for name, total in (*sums.items(), ("cost", self.cost))
        }
        share = self.gpu_seconds / self.busy_seconds if self.busy_seconds else None
        return {"tasks": self.tasks, "failed": self.failed, **means, "gpu_share": share, "gap": self.gap()}

    def gap(self) -> float | None:
        """Mean response over the least that was possible for the same tasks, less 1; None before the first."""
        if self._floor is None or self._floor.seconds <= 0.0:
            return None
        return self.response / self._floor.seconds - 1.0


class Bounds:
    """Lower bounds, summed over the same tasks: the optimum on an idle node and under load, and the cheapest device."""

    def __init__(self, world: World) -> None:
        self._cluster, self._price = world.cluster, world.physics.busy_price(world.cluster)
        self._response = ResponseFloor(world)
        self.tasks = 0
        self.seconds = self.energy = self.cost = 0.0

    def add(self, finished: Finished) -> None:
        """Take in finished tasks; of real work nobody knows a bound."""
        if not finished.labels:
            return
        whole = np.array([label.seconds for label in finished.labels])
        self.tasks += len(finished)
        self.seconds += float(finished.least_seconds.sum())
        arrival = np.array([task.arrival_time for task in finished.tasks])
        self._response.add(arrival, finished.least_seconds, finished.whole_seconds)
        # A share of a task costs at least its share of the cheapest whole (fixed parts and penalties only add).
        self.energy += float(busy_energy(self._cluster, whole).min(axis=1).sum())
        self.cost += float((whole * self._price).min(axis=1).sum())

    def document(self) -> dict[str, float | None]:
        """As in `BoundEntry`."""
        sums = {"time": self.seconds, "response": self._response.seconds, "energy": self.energy, "cost": self.cost}
        return {f"avg_{name}": total / self.tasks if self.tasks else None for name, total in sums.items()}


class RunFigures:
    """All figures of one run."""

    def __init__(self, names: tuple[str, ...], world: World) -> None:
        self._names, self._world = names, world
        self.overload = {name: OverloadWatch() for name in names}
        # Compiled code is loaded now, not in the middle of the race when the first group of tasks is full.
        one, table = np.ones(1), world.cluster.public_table()
        response_bound(one, one, np.ones((1, len(table))), table, world.physics.facts())
        self.clear()

    def clear(self) -> None:
        """Start counting anew: the history was cleared."""
        self.means = {name: Means(ResponseFloor(self._world)) for name in self._names}
        self.bounds = Bounds(self._world)
        self.finished = 0

    def add(self, advance: Advance) -> None:
        """Take in what each scheduler has finished, and what all have."""
        self.finished += len(advance.finished)
        self.bounds.add(advance.finished)
        for name, outcomes in advance.by_scheduler.items():
            self.means[name].add(outcomes, advance.least_seconds[name], advance.whole_seconds[name])

    def mean_service(self, name: str) -> float:
        """Mean execution time of one scheduler's tasks; 0 before the first."""
        means = self.means[name]
        return means.time / max(means.tasks - means.failed, 1)

    def notice(self, waiting_seconds: Mapping[str, float]) -> None:
        """Look at the backlogs."""
        for name, seconds in waiting_seconds.items():
            self.overload[name].notice(seconds, self.mean_service(name))
