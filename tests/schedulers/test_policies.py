"""Each built-in policy by example: what SPEC section 4 says it does."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.model import ClusterView, Decision, Part, Task
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, QUEUED
from hybrid_scheduler.model.kernel import FACT_COUNT, PENALTY
from hybrid_scheduler.physics.device import ClusterSpec, Device
from hybrid_scheduler.schedulers.registry import create_scheduler

DEFAULT = ClusterSpec.default()
TASK = Task(5, 1000.0, 0.8, 100.0)


def view(
    cluster: ClusterSpec = DEFAULT,
    number: int = 0,
    queued: dict[int, float] | None = None,
    backlog: dict[int, float] | None = None,
    down: tuple[int, ...] = (),
    times: list[float] | None = None,
    free: list[float] | None = None,
    now: float = 0.0,
) -> ClusterView:
    devices, facts = cluster.public_table(), np.zeros(FACT_COUNT)
    facts[PENALTY] = 0.05
    for row, count in (queued or {}).items():
        devices[row, QUEUED] = count
    for row, seconds in (backlog or {}).items():
        devices[row, BACKLOG] = seconds
    devices[list(down), AVAILABLE] = 0.0
    seen = np.zeros((0, 0)) if times is None else np.array([[0.0] * len(times), times])
    return ClusterView(number, now, devices, facts, cluster.names, seen, np.array(free or []))


def test_round_robin_takes_turns() -> None:
    scheduler = create_scheduler("round_robin")
    decisions = [scheduler.decide(TASK, view(number=n)) for n in range(10)]
    assert decisions[1::2] == [Decision.whole(0)] * 5
    assert decisions[::2] == [Decision.split(gpu, 0, 0.5) for gpu in (1, 2, 3, 4, 1)]


def test_round_robin_passes_over_what_is_down() -> None:
    scheduler = create_scheduler("round_robin")
    gpus = [scheduler.decide(TASK, view(number=n, down=(2,))).parts[0].device for n in range(0, 8, 2)]
    assert gpus == [1, 3, 4, 1]
    assert scheduler.decide(TASK, view(number=1, down=(0,))) == Decision.whole(1)


def test_random_is_uniform() -> None:
    scheduler = create_scheduler("random", seed=3)
    decisions = [scheduler.decide(TASK, view(number=n)) for n in range(4000)]
    shares = np.array([d.parts[0].share for d in decisions])
    gpus = np.bincount([d.parts[0].device for d in decisions], minlength=5)
    # Kolmogorov and Smirnov at 0.1 %: 1.95 / sqrt(n); the counts are within 4 sigma of 1000.
    assert np.abs(np.sort(shares) - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / np.sqrt(4000)
    assert gpus[0] == 0
    assert np.abs(gpus[1:] - 1000).max() < 4 * np.sqrt(4000 * 0.25 * 0.75)
    assert abs(np.corrcoef(shares[:-1], shares[1:])[0, 1]) < 0.06
    assert all(d.parts[1].device == 0 for d in decisions)


@pytest.mark.parametrize(("queued", "gpu"), [({}, 1), ({1: 1}, 2), ({1: 2, 2: 2, 3: 1, 4: 1}, 3)])
def test_greedy(queued: dict[int, float], gpu: int) -> None:
    decision = create_scheduler("greedy").decide(TASK, view(queued=queued))
    assert decision == Decision((Part(gpu, 0.8), Part(0, pytest.approx(0.2))))  # type: ignore[arg-type]


def test_greedy_at_the_ends_of_intensity() -> None:
    scheduler = create_scheduler("greedy")
    assert scheduler.decide(Task(0, 10.0, 0.0, 1.0), view()) == Decision.whole(0)
    assert scheduler.decide(Task(0, 10.0, 1.0, 1.0), view()) == Decision.whole(1)


SEVERAL = ClusterSpec(
    (Device("cpu_0", "cpu"), Device("cpu_1", "cpu"), Device("gpu_0", "gpu"), Device("gpu_1", "gpu", node=1))
)


@pytest.mark.parametrize(("name", "queued", "expected"), [("cpu_only", {0: 1}, 1), ("gpu_only", {2: 3, 3: 2}, 3)])
def test_extremes_take_the_least_loaded(name: str, queued: dict[int, float], expected: int) -> None:
    scheduler = create_scheduler(name)
    assert scheduler.decide(TASK, view(SEVERAL, queued=queued)) == Decision.whole(expected)
    assert scheduler.decide(TASK, view(SEVERAL)) == Decision.whole(expected // 2 * 2)


def test_extremes_without_their_devices() -> None:
    assert create_scheduler("cpu_only").decide(TASK, view(SEVERAL, down=(0, 1))) == Decision.whole(2)
    assert create_scheduler("gpu_only").decide(TASK, view(SEVERAL, down=(2, 3))) == Decision.whole(0)


@pytest.mark.parametrize(
    ("backlog", "down", "device", "expected"),
    [
        ({}, (), 2, 3.0),
        ({2: 2.5}, (), 3, 5.0),
        ({2: 2.5, 3: 0.6}, (), 2, 3.0),
        ({2: 9.0, 3: 9.0, 0: 1.0}, (), 1, 8.0),
        ({}, (2,), 3, 5.0),
    ],
)
def test_mct(backlog: dict[int, float], down: tuple[int, ...], device: int, expected: float) -> None:
    """8 s on either CPU, 3 and 5 s on the GPUs."""
    seen = view(SEVERAL, backlog=backlog, down=down, times=[8.0, 8.0, 3.0, 5.0])
    assert create_scheduler("mct").decide(TASK, seen) == Decision.whole(device, expected)


@pytest.mark.parametrize(
    ("free", "parts"),
    [
        # Idle: even at 8 / (8 + 3), stretched by 5 %; the best step is 75 % (2.36 s and 2.1 s).
        ([0.0, 0.0, 0.0, 0.0], ((2, 0.75), (0, 0.25))),
        # The CPUs are busy for long: whole on the GPU, 3 s.
        ([90.0, 90.0, 0.0, 0.0], ((2, 1.0),)),
        # The GPUs are busy for long: whole on the second CPU, 8 s.
        ([1.0, 0.0, 90.0, 90.0], ((1, 1.0),)),
        # GPU 0 is free from 4 on: 7 s whole there, 5 s on GPU 1; the best split with GPU 0 ends at 5.26.
        ([0.0, 0.0, 4.0, 0.0], ((3, 1.0),)),
    ],
)
def test_oracle(free: list[float], parts: tuple[tuple[int, float], ...]) -> None:
    seen = view(SEVERAL, times=[8.0, 8.0, 3.0, 5.0], free=free)
    decision = create_scheduler("oracle").decide(TASK, seen)
    assert [p.device for p in decision.parts] == [device for device, _ in parts]
    assert [p.share for p in decision.parts] == pytest.approx([share for _, share in parts])
