"""The code of actions: one for our agent and for the environment."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.learning.actions import (
    ANY,
    action_count,
    decode,
    expect_completion,
    first_done,
    rank_devices,
    write_parts,
)
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, CPU, GPU, KIND, NODE
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics

FRACTIONS = np.array([0.5, 0.8, 1.0])
TIMES = np.array([[0.1, 0.2, 0.2, 0.2], [4.0, 1.0, 1.0, 2.0]])
"""Fixed and shared seconds on a CPU and three GPUs."""


@pytest.fixture
def devices() -> FloatArray:
    table = ClusterSpec.default(3).public_table()
    table[:, BACKLOG] = 0.0, 3.0, 0.5, 0.0
    return table


def test_every_action_once() -> None:
    order = np.array([0, 3, 1, 2])
    assert action_count(1, 3, 3) == 10
    meant = [decode(action, 1, FRACTIONS, order) for action in range(10)]
    assert meant == [(0, 1.0), *((device, share) for device in (3, 1, 2) for share in (0.5, 0.8, 1.0))]


def test_ranking(devices: FloatArray) -> None:
    completion, order = np.empty(4), np.empty(4, dtype=np.int64)
    expect_completion(devices, TIMES, completion)
    assert completion.tolist() == pytest.approx([4.1, 4.2, 1.7, 2.2])
    rank_devices(devices, completion, order)
    assert order.tolist() == [0, 2, 3, 1]
    devices[2, AVAILABLE] = 0.0
    expect_completion(devices, TIMES, completion)
    rank_devices(devices, completion, order)
    assert order.tolist() == [0, 3, 1, 2]


def test_ranking_is_a_stable_sort_of_each_kind() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        table = np.zeros((count, 9))
        table[:, KIND] = rng.integers(0, 2, count)
        completion, order = rng.integers(0, 4, count).astype(float), np.empty(count, dtype=np.int64)
        rank_devices(table, completion, order)
        assert order.tolist() == np.lexsort((np.arange(count), completion, table[:, KIND])).tolist()


def test_first_done(devices: FloatArray) -> None:
    completion = np.array([4.0, 3.0, 2.0, 1.0])
    devices[3, NODE] = 1.0
    assert first_done(devices, completion, GPU, ANY) == 3
    assert first_done(devices, completion, GPU, 0.0) == 2
    assert first_done(devices, completion, CPU, 1.0) == -1
    devices[3, AVAILABLE] = 0.0
    assert first_done(devices, completion, ANY, ANY) == 2


def test_parts_and_what_is_expected_of_them() -> None:
    facts, out = Physics().facts(), np.zeros((2, 3))
    facts[PENALTY], facts[SPLIT] = 0.1, 0.0
    assert write_parts(3, 0.8, -1, TIMES, facts, out) == 1
    assert out[0].tolist() == [3.0, 1.0, 2.2]
    assert write_parts(3, 0.8, 0, TIMES, facts, out) == 2
    assert out.ravel().tolist() == pytest.approx([3.0, 0.8, 1.1 * (0.2 + 1.6), 0.0, 0.2, 1.1 * (0.1 + 0.8)])
    facts[SPLIT] = 1.0
    write_parts(3, 0.8, 0, TIMES, facts, out)
    assert out[:, 2].tolist() == pytest.approx([1.8, 0.9])
