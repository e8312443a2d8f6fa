"""Running figures of the live race: means per task over the run, and which schedulers are overloaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_scheduler.engine.live_data import Advance, Finished
from hybrid_scheduler.metrics.overloaded import OverloadWatch
from hybrid_scheduler.model.outcome import OutcomeBatch
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.energy import busy_energy
from hybrid_scheduler.physics.world import World


class Means:
    """Sums over finished tasks of one scheduler."""

    def __init__(self) -> None:
        self.tasks = self.failed = 0
        self.time = self.wait = self.response = self.energy = self.cost = 0.0
        self.gpu_seconds = self.busy_seconds = self.least = 0.0

    def add(self, outcomes: OutcomeBatch, least_seconds: FloatArray) -> None:
        """Take in finished tasks; those that failed are counted apart.

        Args:
            outcomes: What became of them.
            least_seconds: Below this no response to each of them can be.
        """
        if len(outcomes) == 0:
            return
        good = ~outcomes.failed
        self.tasks += len(outcomes)
        self.failed += int((~good).sum())
        self.time += float(outcomes.actual_time[good].sum())
        self.response += float(outcomes.response_time[good].sum())
        self.least += float(least_seconds[good].sum())
        self.wait += float((outcomes.response_time - outcomes.actual_time)[good].sum())
        self.energy += float(outcomes.energy[good].sum())
        self.cost += float(outcomes.cost[good].sum())
        seconds = outcomes.part_end - outcomes.part_start
        self.busy_seconds += float(seconds.sum())
        self.gpu_seconds += float(seconds[outcomes.device_gpu_id[outcomes.part_device] >= 0].sum())

    def document(self) -> dict[str, Any]:
        """The means as in `ComparisonEntry`; null before the first task."""
        count = self.tasks - self.failed
        sums = {"time": self.time, "wait": self.wait, "response": self.response, "energy": self.energy}
        means = {
            f"avg_{name}": total / count if count else None for name, total in (*sums.items(), ("cost", self.cost))
        }
        share = self.gpu_seconds / self.busy_seconds if self.busy_seconds else None
        return {"tasks": self.tasks, "failed": self.failed, **means, "gpu_share": share, "gap": self.gap()}

    def gap(self) -> float | None:
        """Mean response over the least that was possible for the same tasks, less 1; None before the first.

        The bound of a task is its optimum on an idle node, so waiting that nobody could avoid counts as gap too.
        """
        return self.response / self.least - 1.0 if self.least > 0.0 else None


class Bounds:
    """Lower bounds, summed over the same tasks: the optimum on an idle node, and the cheapest device."""

    def __init__(self, world: World) -> None:
        self._cluster, self._price = world.cluster, world.physics.busy_price(world.cluster)
        self.tasks = 0
        self.seconds = self.energy = self.cost = 0.0

    def add(self, finished: Finished) -> None:
        """Take in finished tasks."""
        if not len(finished):
            return
        whole = np.array([label.seconds for label in finished.labels])
        self.tasks += len(finished)
        self.seconds += float(finished.least_seconds.sum())
        # A share of a task costs at least its share of the cheapest whole (fixed parts and penalties only add).
        self.energy += float(busy_energy(self._cluster, whole).min(axis=1).sum())
        self.cost += float((whole * self._price).min(axis=1).sum())

    def document(self) -> dict[str, float | None]:
        """As in `BoundEntry`."""
        sums = {"time": self.seconds, "response": self.seconds, "energy": self.energy, "cost": self.cost}
        return {f"avg_{name}": total / self.tasks if self.tasks else None for name, total in sums.items()}


class RunFigures:
    """All figures of one run."""

    def __init__(self, names: tuple[str, ...], world: World) -> None:
        self._names, self._world = names, world
        self.overload = {name: OverloadWatch() for name in names}
        self.clear()

    def clear(self) -> None:
        """Start counting anew: the history was cleared."""
        self.means = {name: Means() for name in self._names}
        self.bounds = Bounds(self._world)
        self.finished = 0

    def add(self, advance: Advance) -> None:
        """Take in what each scheduler has finished, and what all have."""
        self.finished += len(advance.finished)
        self.bounds.add(advance.finished)
        for name, outcomes in advance.by_scheduler.items():
            self.means[name].add(outcomes, advance.least_seconds[name])

    def mean_service(self, name: str) -> float:
        """Mean execution time of one scheduler's tasks; 0 before the first."""
        means = self.means[name]
        return means.time / max(means.tasks - means.failed, 1)

    def notice(self, waiting_seconds: Mapping[str, float]) -> None:
        """Look at the backlogs."""
        for name, seconds in waiting_seconds.items():
            self.overload[name].notice(seconds, self.mean_service(name))
