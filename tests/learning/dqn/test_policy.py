"""The compiled side of the agent against the same sums in NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hybrid_scheduler.learning.dqn.network import BATCH, DeepQ
from hybrid_scheduler.learning.dqn.policy import (
    BAD,
    CLIP,
    COUNT_WAITING,
    FRACTION,
    MEAN,
    MONEY_WEIGHT,
    TIME_WEIGHT,
    TRUST,
    Layout,
    evaluate,
    task_features,
)
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics

LAYOUT = Layout(cpus=1, gpus=3, fractions=2, hidden=16)
TASK = np.array([700.0, 0.7, 120.0, 0.0, 0.0])


class Evaluated:
    """The agent's evaluation of one task."""

    def __init__(self, params: FloatArray, devices: FloatArray, facts: FloatArray, task: FloatArray = TASK) -> None:
        self.x, self.times, self.completion = np.zeros(LAYOUT.inputs), np.zeros((2, 4)), np.zeros(4)
        self.order, self.out = np.zeros(4, dtype=np.int64), np.zeros((2, 3))
        self.response, self.energy, self.money, self.value = (np.zeros(LAYOUT.actions) for _ in range(4))
        evaluate(
            task,
            devices,
            facts,
            params,
            self.x,
            self.times,
            self.completion,
            self.order,
            self.response,
            self.energy,
            self.money,
            self.value,
            self.out,
        )


@pytest.fixture
def params() -> FloatArray:
    params = LAYOUT.empty()
    params[FRACTION : FRACTION + 2] = 0.5, 1.0
    return params


@pytest.fixture
def devices() -> FloatArray:
    devices = ClusterSpec.default(3).public_table()
    devices[:, BACKLOG] = 0.5, 2.0, 0.0, 1.0
    return devices


def deep(params: FloatArray) -> DeepQ:
    """Networks with random weights everywhere, also where they start silent."""
    networks = DeepQ(LAYOUT, params, seed=3, gamma=0.9, learning_rate=1e-3, use_target=True)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weights in (networks.times.weights, networks.values.weights):
            weights.flat.copy_(0.3 * torch.randn(weights.flat.shape, generator=generator))
    networks.export()
    return networks


def action_values(pieces: list[torch.Tensor], state: torch.Tensor) -> torch.Tensor:
    """The dueling network in plain PyTorch."""
    w1, b1, w2, b2, w3, b3 = pieces
    out = torch.relu(torch.relu(state @ w1.T + b1) @ w2.T + b2) @ w3.T + b3
    return out[:, :1] + out[:, 1:] - out[:, 1:].mean(1, keepdim=True)


def test_gpus_are_ranked_by_expected_completion(params: FloatArray, devices: FloatArray) -> None:
    """Untrained, all devices look alike, so the shortest backlog is the best: GPU rows 2, 3, 1."""
    found = Evaluated(params, devices, Physics().facts())
    assert found.order.tolist() == [0, 2, 3, 1]
    assert found.times[SHARED].tolist() == [1.0] * 4


def test_costs_by_hand(params: FloatArray, devices: FloatArray) -> None:
    """Every device is expected to take 1 s; 5 % penalty; CPU backlog 0.5."""
    facts = Physics().facts()
    assert facts[PENALTY] == 0.05
    found = Evaluated(params, devices, facts)
    half_on_best = max(0.0 + 0.5 * 1.05, 0.5 + 0.5 * 1.05)
    assert found.response.tolist() == pytest.approx([1.5, half_on_best, 1.0, 1.0 + 0.525, 2.0, 2.525, 3.0])
    assert found.energy[0] == pytest.approx(30.0)
    assert found.energy[1] == pytest.approx((50.0 + 30.0) * 0.525)
    assert found.money[0] == pytest.approx(0.00002)
    assert found.money[1] == pytest.approx((0.0001 + 0.00002) * 0.525)
    params[MONEY_WEIGHT] = 1000.0
    assert Evaluated(params, devices, facts).value == pytest.approx(-found.response - 1000.0 * found.money)
    facts[SPLIT] = 1.0
    serial = Evaluated(params, devices, facts)
    assert serial.response[1] == pytest.approx(0.5 + 0.5)
    assert serial.response[3] == pytest.approx(1.5 + 0.5)


def test_without_waiting_only_the_execution_costs(params: FloatArray, devices: FloatArray) -> None:
    params[COUNT_WAITING] = 0.0
    facts = Physics().facts()
    assert Evaluated(params, devices, facts).response.tolist() == pytest.approx([1.0, *[0.525, 1.0] * 3])
    facts[SPLIT] = 1.0
    assert Evaluated(params, devices, facts).response.tolist() == pytest.approx([1.0] * 7)


def test_what_cannot_be_done_is_never_chosen(params: FloatArray, devices: FloatArray) -> None:
    devices[2, AVAILABLE] = 0.0
    found = Evaluated(params, devices, Physics().facts())
    assert found.order.tolist() == [0, 3, 1, 2]
    assert (found.value[-2:] == -BAD).all()
    huge = np.array([700.0, 0.7, 10_000.0, 0.0, 0.0])
    fits = Evaluated(params, devices, Physics().facts(), huge).value > -BAD
    assert fits.tolist() == [True, True, False, True, False, False, False]  # half of it fits into 8000 MB


def test_value_network_is_the_one_that_learns(params: FloatArray, devices: FloatArray) -> None:
    networks = deep(params)
    params[TRUST], params[TIME_WEIGHT] = 1.0, 0.7
    found = Evaluated(params, devices, Physics().facts())
    state = torch.from_numpy(found.x.astype(np.float32))[None]
    learned = action_values(networks.values.weights.pieces, state)[0].numpy()
    assert found.value == pytest.approx(learned - 0.7 * found.response, abs=1e-4)
    params[TRUST] = 0.0
    assert Evaluated(params, devices, Physics().facts()).value == pytest.approx(-0.7 * found.response)


def test_time_head_is_the_one_that_learns(params: FloatArray, devices: FloatArray) -> None:
    networks = deep(params)
    found = Evaluated(params, devices, Physics().facts())
    logs = np.log(found.times[SHARED])
    batch = {
        "features": np.tile(found.x[:3].astype(np.float32), (BATCH, 1)),
        "device": np.arange(BATCH, dtype=np.float32) % 4,
        "kind": (np.arange(BATCH) % 4 > 0).astype(np.float32),
        "log_seconds": logs[np.arange(BATCH) % 4].astype(np.float32),
    }
    assert networks.times.learn(batch) == pytest.approx(0.0, abs=1e-9)


def test_features_far_out_stay_in_order_but_small(params: FloatArray) -> None:
    params[MEAN : MEAN + 6] = np.log(1000.0), 0.5, np.log(101.0), 0.01, 0.01, 0.01
    seen = []
    for size in (1e3, 1.1e3, 1e6, 1e12):
        x = np.zeros(3)
        task_features(np.array([size, 0.5, 100.0, 0.0, 0.0]), params, x)
        seen.append(x[0])
    assert seen[0] == pytest.approx(0.0)
    assert seen == sorted(seen)
    assert CLIP < seen[-1] < 3 * CLIP
