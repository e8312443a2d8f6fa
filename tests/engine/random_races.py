"""Races drawn by Hypothesis: any node, tasks, physics and disturbances; and a scheduler that decides anything."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from hybrid_scheduler.model import ClusterView, Decision, Part, Task, TaskBatch
from hybrid_scheduler.model.device_columns import NODE
from hybrid_scheduler.physics.cost import CostModel, FormulaCost, TableCost
from hybrid_scheduler.physics.device import ClusterSpec, Device, DeviceKind, Disturbance
from hybrid_scheduler.physics.settings import Physics
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.base import Scheduler
from hybrid_scheduler.testing import CheckedRace


class Anything(Scheduler):
    """Any legal decision, drawn from a hash of seed and question: whole or split, parts in any order, wild hopes."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def decide(self, task: Task, view: ClusterView) -> Decision:
        draw = random.Random(f"{self.seed}:{task.task_id}:{view.number}")
        cpus, gpus = view.cpus(), view.gpus()
        pairs = [(g, c) for g in gpus for c in cpus if view.devices[g, NODE] == view.devices[c, NODE]]
        if pairs and draw.random() < 0.5:
            gpu, cpu = draw.choice(pairs)
            share = draw.choice([0.05, 0.5, 1e-6, 1.0 - 1e-6, draw.uniform(0.01, 0.99)])
            parts = (Part(gpu, share, self._hope(draw)), Part(cpu, 1.0 - share, self._hope(draw)))
            return Decision(parts if draw.random() < 0.5 else parts[::-1])
        return Decision.whole(draw.choice(cpus + gpus), self._hope(draw))

    @staticmethod
    def _hope(draw: random.Random) -> float:
        return draw.choice([0.0, draw.uniform(0.0, 5.0), 1e6])


# Round numbers make ties common: arrivals, ends and disturbances at the same instant.
times = st.one_of(st.integers(0, 12).map(float), st.floats(0.0, 12.0))
megabytes = st.sampled_from([0.0, 10.0, 40.0, 300.0, 2000.0])
durations = st.one_of(st.sampled_from([1.0, 2.0, 4.0]), st.floats(0.01, 6.0))


@st.composite
def clusters(draw: st.DrawFn, disturbed: bool | None = None) -> ClusterSpec:
    kinds: list[DeviceKind] = draw(st.lists(st.sampled_from(["cpu", "gpu"]), min_size=1, max_size=5))
    nodes = draw(st.integers(1, 2))
    devices = tuple(
        Device(
            f"{kind}_{i}",
            kind,
            speed=draw(st.sampled_from([1.0, 0.5, 2.0, 1.37])),
            memory_mb=draw(st.sampled_from([8000.0, 300.0, 40.0])) if kind == "gpu" else float("nan"),
            bandwidth=draw(st.sampled_from([16_000.0, 200.0])),
            latency=draw(st.sampled_from([0.0, 0.0, 0.25])),
            node=draw(st.integers(0, nodes - 1)),
        )
        for i, kind in enumerate(kinds)
    )
    if disturbed is None:
        disturbed = draw(st.booleans())
    changes = st.builds(
        Disturbance,
        times,
        st.sampled_from([d.name for d in devices]),
        st.sampled_from([0.0, 0.0, 1.0, 0.5, 2.0, 3.0]),
    )
    network = draw(st.sampled_from([1250.0, 100.0]))
    return ClusterSpec(devices, tuple(draw(st.lists(changes, max_size=6))) if disturbed else (), network)


@st.composite
def task_batches(draw: st.DrawFn, most: int = 14) -> TaskBatch:
    count = draw(st.integers(1, most))
    ids = draw(st.permutations(range(count)))
    related, handed = draw(st.booleans()), draw(st.booleans())
    tasks = []
    for position, task_id in enumerate(ids):
        # Any order of arrival: a child may arrive before its parent.
        parents = draw(st.sets(st.sampled_from(ids[:position]), max_size=3)) if related and position else set()
        tasks.append(
            Task(
                task_id,
                draw(st.sampled_from([100.0, 900.0, 4000.0])),
                draw(st.sampled_from([0.0, 0.3, 1.0])),
                draw(st.sampled_from([0.0, 20.0, 40.0, 80.0, 500.0])),
                draw(times),
                draw(durations),
                tuple((parent, draw(megabytes)) if handed else parent for parent in sorted(parents)),  # type: ignore[misc]
            )
        )
    return TaskBatch.from_tasks(tasks)


@st.composite
def cost_models(draw: st.DrawFn, tasks: TaskBatch, cluster: ClusterSpec) -> CostModel:
    if draw(st.booleans()):
        return FormulaCost(draw(st.sampled_from(["linear", "amdahl"])))
    seed = draw(st.integers(0, 1000))
    table = np.random.default_rng(seed).exponential(2.0, (len(tasks), len(cluster.devices))) + 1e-3
    return TableCost(table, tuple(int(i) for i in tasks.task_id), cluster.names)


@st.composite
def races(draw: st.DrawFn, disturbed: bool | None = None) -> CheckedRace:
    tasks, cluster = draw(task_batches()), draw(clusters(disturbed))
    physics = Physics(
        draw(cost_models(tasks, cluster)),
        draw(st.sampled_from(["concurrent", "serial"])),
        draw(st.sampled_from([0.05, 0.0, 1.0])),
        draw(st.sampled_from(["fallback", "fail"])),
        draw(st.sampled_from([0.0, 0.7])),
        draw(st.sampled_from(["cloud", "electricity"])),
    )
    seed, isolated = draw(st.integers(0, 100)), draw(st.sampled_from([False, False, False, True]))
    warmup = draw(st.integers(0, min(3, len(tasks) - 1)))
    note(f"{list(tasks)}\n{cluster}\n{physics}\nseed={seed}, isolated={isolated}, warmup={warmup}")
    return CheckedRace(tasks, World(cluster, physics), seed=seed, isolated=isolated, warmup=warmup)
