"""Random nodes: repeatable, within their ranges, and all over them."""

from __future__ import annotations

from hybrid_scheduler.scenario.random_nodes import (
    BANDWIDTH,
    CPU_SPEED,
    CPUS,
    GPU_SPEED,
    GPUS,
    MEMORY,
    random_world,
)


def test_a_seed_is_a_node() -> None:
    assert random_world(5) == random_world(5)
    assert random_world(5) != random_world(6)


def test_nodes_fill_their_ranges() -> None:
    clusters = [random_world(seed).cluster for seed in range(300)]
    cpus = [d for cluster in clusters for d in cluster.devices if d.kind == "cpu"]
    gpus = [d for cluster in clusters for d in cluster.devices if d.kind == "gpu"]
    counts = [sum(d.kind == "gpu" for d in cluster.devices) for cluster in clusters]
    assert set(counts) == set(range(GPUS[0], GPUS[1] + 1))
    assert {len(c.devices) - n for c, n in zip(clusters, counts, strict=True)} == set(CPUS)
    for values, span in (
        ([d.speed for d in cpus], CPU_SPEED),
        ([d.speed for d in gpus], GPU_SPEED),
        ([d.bandwidth for d in gpus], BANDWIDTH),
        ([d.memory_mb for d in gpus], MEMORY),
    ):
        assert span.low <= min(values) < 1.05 * span.low
        assert 0.95 * span.high < max(values) <= span.high
        below = sum(value < (span.low * span.high) ** 0.5 for value in values) / len(values)
        assert 0.42 < below < 0.58, "not log-uniform"
