"""One small node of every kind a scheduler may meet, with a stream of tasks that fits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.model.task import Task, TaskBatch
from hybrid_scheduler.physics.device import ClusterSpec, Device, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.testing.race import CheckedRace
from hybrid_scheduler.workloads.generator import WorkloadGenerator

SEED = 20260
TASKS = 127
"""A prime, so that nothing that counts tasks is back where it was after a run."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A node and how its tasks come."""

    world: World
    dependency_prob: float = 0.0
    memory_factor: float = 1.0
    at_once: bool = False
    megabytes: float = 0.0
    """What parents hand to their children, each another share of it; 0 when nothing is said."""

    def race(self, tasks: int = TASKS, seed: int = SEED) -> CheckedRace:
        """The race in this situation: bursts, idle spells and, where it says so, parents, or all tasks at once."""
        return CheckedRace(self.stream(tasks, seed), self.world, seed=seed)

    def stream(self, tasks: int = TASKS, seed: int = SEED) -> TaskBatch:
        """Seeded tasks of many sizes, some of them more than the memory of a small GPU."""
        drawn = WorkloadGenerator(seed).generate("bursty", tasks, 6.0, dependency_prob=self.dependency_prob)
        return TaskBatch.from_tasks(
            Task(
                task.task_id,
                task.size,
                task.compute_intensity,
                task.memory_required * self.memory_factor,
                0.0 if self.at_once else task.arrival_time,
                dependencies=self._handed(task),
                kind=("synthetic", "matmul")[task.task_id % 2],
            )
            for task in drawn
        )

    def _handed(self, task: Task) -> tuple[Any, ...]:
        if not self.megabytes:
            return task.dependencies
        return tuple((parent, self.megabytes * (parent % 4)) for parent in task.dependencies)


def _devices(*kinds: str, memory_mb: float = 8000.0) -> ClusterSpec:
    """Devices named by kind and number; `cpu@1` sits in node 1."""
    made: list[Device] = []
    for word in kinds:
        kind, _, node = word.partition("@")
        name = f"{kind}_{sum(device.kind == kind for device in made)}"
        if kind == "cpu":
            made.append(Device(name, "cpu", node=int(node or 0)))
        else:
            made.append(Device(name, "gpu", memory_mb=memory_mb, node=int(node or 0)))
    return ClusterSpec(tuple(made))


_DEFAULT = ClusterSpec.default()

SITUATIONS: dict[str, Situation] = {
    "default": Situation(World(_DEFAULT)),
    "cpu_only": Situation(World(_devices("cpu"))),
    "gpu_only": Situation(World(_devices("gpu", "gpu"))),
    "one_gpu": Situation(World(_devices("gpu"))),
    "gpus_first": Situation(World(_devices("gpu", "gpu", "cpu"))),
    "several_cpus": Situation(World(_devices("cpu", "cpu", "cpu", "gpu"))),
    "several_nodes": Situation(World(_devices("cpu", "gpu", "gpu", "cpu@1", "gpu@1", "gpu@2", "cpu@3"))),
    "unlike_devices": Situation(
        World(
            ClusterSpec(
                (
                    Device("cpu_0", "cpu", speed=0.5),
                    Device("cpu_1", "cpu", speed=3.0, watts=95.0),
                    Device("gpu_0", "gpu", speed=4.0, memory_mb=40_000.0, bandwidth=64_000.0, watts=400.0),
                    Device("gpu_1", "gpu", speed=0.7, memory_mb=2000.0, bandwidth=800.0, latency=0.05),
                )
            )
        )
    ),
    "memory_too_small": Situation(World(_devices("cpu", "gpu", "gpu", memory_mb=60.0))),
    "memory_too_small_fail": Situation(World(_devices("cpu", "gpu", memory_mb=60.0), Physics(memory_policy="fail"))),
    "memory_too_small_gpu_only": Situation(World(_devices("gpu", "gpu", memory_mb=60.0))),
    "serial": Situation(World(_DEFAULT, Physics(split="serial"))),
    "noise": Situation(World(_DEFAULT, Physics(noise=0.5))),
    "dependencies": Situation(World(_DEFAULT), dependency_prob=0.6),
    "data": Situation(
        World(_devices("cpu", "gpu", "gpu", "cpu@1", "gpu@1"), Physics(noise=0.2)), dependency_prob=0.6, megabytes=150.0
    ),
    "at_once": Situation(World(_devices("cpu", "cpu", "gpu")), at_once=True),
    "device_down": Situation(
        World(
            _DEFAULT.with_disturbances(
                [
                    Disturbance(0.0, "gpu_0", 0.0),
                    Disturbance(4.0, "cpu_0", 0.0),
                    Disturbance(8.0, "gpu_1", 0.25),
                    Disturbance(12.0, "cpu_0", 1.0),
                    Disturbance(14.0, "gpu_2", 0.0),
                    Disturbance(16.0, "gpu_2", 1.5),
                ]
            )
        )
    ),
    "all_down_for_a_while": Situation(
        World(
            _devices("cpu", "gpu").with_disturbances(
                [
                    Disturbance(3.0, "cpu_0", 0.0),
                    Disturbance(5.0, "gpu_0", 0.0),
                    Disturbance(9.0, "gpu_0", 1.0),
                    Disturbance(15.0, "cpu_0", 1.0),
                ]
            )
        ),
        dependency_prob=0.3,
    ),
}
"""Every kind of node, by name."""
