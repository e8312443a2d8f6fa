"""The simulator against the 50 lines of `reference.py`, part by part, to 1e-9."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import reference

from hybrid_scheduler.model import Task, TaskBatch
from hybrid_scheduler.physics.cost import FormulaCost, Speedup
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.physics.settings import Physics, SplitModel
from hybrid_scheduler.physics.world import World
from hybrid_scheduler.schedulers.registry import create_scheduler
from hybrid_scheduler.testing import CheckedRace

TASKS = 250

CLUSTERS = {
    "default": ClusterSpec.default(),
    "unlike": ClusterSpec(
        (
            Device("gpu_0", "gpu", speed=2.5, memory_mb=300.0, bandwidth=3000.0, latency=0.01, node=1),
            Device("cpu_0", "cpu", speed=1.5, latency=0.002),
            Device("gpu_1", "gpu", speed=0.6, memory_mb=900.0, bandwidth=32_000.0),
            Device("cpu_1", "cpu", speed=0.7, node=1),
            Device("gpu_2", "gpu", speed=1.1, node=1),
            Device("gpu_3", "gpu", speed=1.3, node=2),
        )
    ),
}


def drawn_tasks(seed: int, dependencies: bool, rate: float, data: bool = False) -> list[Task]:
    draw = np.random.default_rng(seed)
    arrival = np.cumsum(draw.exponential(1.0 / rate, TASKS)).tolist()
    # Ties in arrival, and tasks that do not fit on every GPU.
    arrival[10:14] = [arrival[10]] * 4
    return [
        Task(
            i,
            float(size),
            float(intensity),
            float(memory),
            arrival[i],
            float(duration),
            tuple(
                (p, float(draw.choice([0.0, 20.0, 200.0, 2000.0]))) if data else p  # type: ignore[misc]
                for p in ({int(p) for p in draw.integers(0, i, draw.integers(0, 4))} if dependencies and i else ())
            ),
        )
        for i, (size, intensity, memory, duration) in enumerate(
            zip(
                draw.uniform(100, 5000, TASKS),
                draw.uniform(0, 1, TASKS),
                draw.uniform(10, 500, TASKS),
                draw.exponential(2.0, TASKS) + 0.01,
                strict=True,
            )
        )
    ]


def plain(cluster: ClusterSpec) -> list[dict[str, object]]:
    return [
        {
            "kind": d.kind,
            "speed": d.speed,
            "bandwidth": d.bandwidth,
            "latency": d.latency,
            "memory": d.memory_mb,
            "node": d.node,
        }
        for d in cluster.devices
    ]


@pytest.mark.parametrize("policy", ["cpu_only", "gpu_only", "mct", "oracle"])
@pytest.mark.parametrize(
    ("cluster", "speedup", "split", "dependencies"),
    list(product(CLUSTERS, ["linear", "amdahl"], ["concurrent", "serial"], [False, True])),
)
def test_agrees(policy: str, cluster: str, speedup: Speedup, split: SplitModel, dependencies: bool) -> None:
    spec = CLUSTERS[cluster]
    # gpu_only falls back to the CPU of the GPU's own node where a task does not fit; the reference knows one CPU.
    if policy == "gpu_only" and cluster == "unlike":
        spec = ClusterSpec(tuple(d for d in spec.devices if d.node == 1))
    tasks = drawn_tasks(len(policy) + 10 * dependencies, dependencies, rate=2.0 if policy == "cpu_only" else 4.0)
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(spec, Physics(FormulaCost(speedup), split)))
    assert_agrees(race, policy, speedup, split)


@pytest.mark.parametrize("policy", ["cpu_only", "gpu_only", "oracle"])
@pytest.mark.parametrize(("cluster", "split"), list(product(CLUSTERS, ["concurrent", "serial"])))
def test_agrees_on_data(policy: str, cluster: str, split: SplitModel) -> None:
    """Not `mct`, which takes the way of the data and the queue one after the other."""
    spec = CLUSTERS[cluster]
    if policy == "gpu_only" and cluster == "unlike":
        spec = ClusterSpec(tuple(d for d in spec.devices if d.node == 1))
    tasks = drawn_tasks(len(policy), True, 1.5, data=True)
    race = CheckedRace(TaskBatch.from_tasks(tasks), World(spec, Physics(split=split)))
    assert_agrees(race, policy, "linear", split)
    # Data is late for some, and some is there already; else this would compare nothing new.
    bare = [replace(task, dependency_mb=()) for task in tasks]
    other = CheckedRace(TaskBatch.from_tasks(bare), World(spec, Physics(split=split)))
    ends = [r.run(create_scheduler(policy)).finish_time for r in (race, other)]
    assert (ends[0] != ends[1]).sum() > TASKS / 4 or (policy == "cpu_only" and cluster == "default")


def assert_agrees(race: CheckedRace, policy: str, speedup: Speedup, split: SplitModel) -> None:
    tasks, spec = list(race.tasks), race.world.cluster
    outcomes = race.run(create_scheduler(policy))
    expected = reference.simulate(  # type: ignore[no-untyped-call]
        [
            {
                "id": t.task_id,
                "arrival": t.arrival_time,
                "duration": t.duration_estimate,
                "intensity": t.compute_intensity,
                "memory": t.memory_required,
                "parents": t.dependencies,
                "megabytes": dict(zip(t.dependencies, t.dependency_mb, strict=False)),
            }
            for t in tasks
        ],
        plain(spec),
        policy,
        speedup,
        split,
    )
    for outcome in outcomes:
        mine = [(spec.names.index(p.device), p.share, p.start, p.end) for p in outcome.parts]
        assert np.allclose(mine, expected[outcome.task_id], rtol=1e-9, atol=0.0), f"task {outcome.task_id}"
        assert outcome.finish_time == pytest.approx(max(end for *_, end in expected[outcome.task_id]), rel=1e-9)
    if policy == "oracle" and split == "concurrent":
        assert any(len(parts) == 2 for parts in expected.values())


def test_reference_is_short_and_independent() -> None:
    text = Path(reference.__file__).read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    assert sum(bool(line) and not line.startswith(("#", '"""')) for line in lines) <= 50
    assert "import" not in text
