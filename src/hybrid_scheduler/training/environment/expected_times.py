"""What the environment expects tasks to take, so that backlogs can be shown in seconds.

A scheduler sees queues, not truth: its backlog is the work *it expected* to place. The environment therefore needs an
idea of times that any scheduler could have: it tries a sample of tasks on every device, one at a time, and fits how
long they took (log seconds, a quadratic of log size, intensity and log memory). Or it is given the nominal times, as
schedulers are that declare `uses_estimates`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.engine.race import Race
from hybrid_scheduler.model.decision import Decision
from hybrid_scheduler.model.task import FloatArray, Task, TaskBatch
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import ClusterView
from hybrid_scheduler.physics.energy import busy_energy
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler

TRIALS = 200
"""Tasks tried on each device."""


class InTurn(Scheduler):
    """Whole tasks on every device in turn.

    Args:
        first: Row of the device that gets the first task.
    """

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def decide(self, task: Task, view: ClusterView) -> Decision:
        """The next device."""
        return Decision.whole((view.number + self.first) % len(view.names))


def log_features(tasks: TaskBatch) -> FloatArray:
    """Log size, intensity and log memory, one row per task."""
    return np.column_stack([np.log(tasks.size), tasks.compute_intensity, np.log1p(tasks.memory_required)])


@dataclass(frozen=True)
class ExpectedTimes:
    """Log seconds per device as a quadratic of the normalised features.

    Attributes:
        mean: Of the features of the sample.
        deviation: Of the features of the sample.
        weights: One column per device.
        lowest: Least log seconds seen on each device; the quadratic is not trusted beyond what was seen.
        highest: Most log seconds seen on each device.
    """

    mean: FloatArray
    deviation: FloatArray
    weights: FloatArray
    lowest: FloatArray
    highest: FloatArray

    @classmethod
    def tried(cls, sample: TaskBatch, world: World, seed: int) -> ExpectedTimes:
        """Try the sample on the undisturbed, idle devices and fit what came of it."""
        count, still = len(world.cluster.devices), world.cluster.with_disturbances([])
        race = Race(sample, World(still, world.physics), seed=seed, isolated=True)
        features = log_features(sample)
        mean, deviation = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-3)
        rows, device, seconds = [], [], []
        # A short trace is tried several times, so that every device has met enough of it.
        for first in range(min(count, -(-TRIALS * count // len(sample)))):
            done = race.run(InTurn(first))
            rows.append(done.part_task)
            device.append(done.part_device)
            seconds.append(done.part_end - done.part_start)
        row, ran_on, took = np.concatenate(rows), np.concatenate(device), np.log(np.concatenate(seconds))
        terms = _quadratic((features - mean) / deviation)
        weights, lowest, highest = np.zeros((terms.shape[1], count)), np.zeros(count), np.zeros(count)
        for d in range(count):
            mine = ran_on == d
            if mine.any():  # Where nothing fits nothing runs, and what is expected there does not matter.
                weights[:, d] = np.linalg.lstsq(terms[row[mine]], took[mine])[0]
                lowest[d], highest[d] = took[mine].min(), took[mine].max()
        return cls(mean, deviation, weights, lowest, highest)

    def times(self, tasks: TaskBatch) -> FloatArray:
        """Expected seconds in the shape of a cost model's: (tasks, 2, devices), all of them shared."""
        terms = _quadratic((log_features(tasks) - self.mean) / self.deviation)
        result = np.zeros((len(tasks), 2, self.weights.shape[1]))
        result[:, SHARED, :] = np.exp(np.clip(terms @ self.weights, self.lowest, self.highest))
        return result

    def usual(self, sample: TaskBatch, world: World) -> tuple[float, float, float]:
        """Mean seconds, joules and dollars of a task on the device that is expected to be fastest: an agent's units."""
        seconds = self.times(sample)[:, SHARED, :]
        fastest = np.arange(len(seconds)), np.argmin(seconds, axis=1)
        joules, dollars = busy_energy(world.cluster, seconds), world.physics.busy_price(world.cluster) * seconds
        return (
            float(seconds[fastest].mean()),
            max(float(joules[fastest].mean()), 1e-9),
            max(float(dollars[fastest].mean()), 1e-12),
        )


def _quadratic(z: FloatArray) -> FloatArray:
    """1, the features, their squares and their products."""
    a, b, c = z.T
    return np.column_stack([np.ones(len(z)), a, b, c, a * a, b * b, c * c, a * b, a * c, b * c])
