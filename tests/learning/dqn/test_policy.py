"""The compiled side of the agent against the same sums in NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hybrid_scheduler.learning.agent_layout import (
    CHARGE,
    CONTEXT,
    COUNT_WAITING,
    EXCESS,
    FIGURES,
    FRACTION,
    GOALS,
    OPTION,
    TRUST,
    USE_BACKLOG,
    USUAL,
    Layout,
)
from hybrid_scheduler.learning.dqn.network import BATCH, DeepQ
from hybrid_scheduler.learning.dqn.policy import BAD, evaluate, same_devices
from hybrid_scheduler.model.device_columns import AVAILABLE, BACKLOG, QUEUED
from hybrid_scheduler.model.kernel import PENALTY, SPLIT
from hybrid_scheduler.model.task import FloatArray, Task
from hybrid_scheduler.model.task_columns import SHARED
from hybrid_scheduler.model.view import task_row
from hybrid_scheduler.physics.device import ClusterSpec
from hybrid_scheduler.physics.settings import Physics

LAYOUT = Layout(cpus=1, gpus=3, fractions=2, hidden=16)
TASK = task_row(Task(0, 700.0, 0.7, 120.0))


class Evaluated:
    """The agent's evaluation of one task."""

    def __init__(
        self,
        params: FloatArray,
        devices: FloatArray,
        facts: FloatArray,
        task: FloatArray = TASK,
        layout: Layout = LAYOUT,
    ) -> None:
        n, options = layout.devices, layout.options
        self.context, self.options, self.logs = np.zeros(CONTEXT), np.zeros((options, OPTION)), np.zeros(n)
        self.times, self.completion, self.shown = np.zeros((2, n)), np.zeros(n), np.zeros(layout.shown, dtype=np.int64)
        self.figures, self.value, self.out = np.zeros((options, FIGURES)), np.zeros(options), np.zeros((2, 3))
        evaluate(
            task,
            devices,
            facts,
            params,
            self.context,
            self.options,
            self.logs,
            self.times,
            self.completion,
            self.shown,
            self.figures,
            self.value,
            self.out,
        )

    @property
    def response(self) -> list[float]:
        response: list[float] = self.figures[:, 0].tolist()
        return response


def empty(layout: Layout = LAYOUT) -> FloatArray:
    params = layout.empty()
    params[FRACTION : FRACTION + 2] = 0.5, 1.0
    return params


@pytest.fixture
def params() -> FloatArray:
    return empty()


@pytest.fixture
def devices() -> FloatArray:
    devices = ClusterSpec.default(3).public_table()
    devices[:, BACKLOG] = 0.5, 2.0, 0.0, 1.0
    devices[:, QUEUED] = 1.0, 3.0, 0.0, 2.0
    return devices


def deep(params: FloatArray, layout: Layout = LAYOUT) -> DeepQ:
    """Networks with random weights everywhere, also where they start silent."""
    networks = DeepQ(layout, params, seed=3, gamma=0.9, learning_rate=1e-3, use_target=True)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weights in (networks.times.weights, networks.values.weights):
            weights.flat.copy_(0.3 * torch.randn(weights.flat.shape, generator=generator))
    networks.values.refresh_target()  # it is what is acted on
    networks.export()
    return networks


def option_values(pieces: list[torch.Tensor], context: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
    """The dueling network in plain PyTorch, for the options of one state."""
    w_context, w_option, b1, w2, b2, w3, w_value, b_value, w_last, b_last = pieces
    first = torch.relu(context @ w_context.T + options @ w_option.T + b1)
    advantage = (torch.relu(first @ w2.T + b2) @ w3.T).squeeze(1)
    value = torch.relu(context @ w_value.T + b_value) @ w_last.T + b_last
    return value + advantage - advantage.mean()


def test_gpus_are_ranked_by_expected_completion(params: FloatArray, devices: FloatArray) -> None:
    """Untrained, all devices look alike, so the shortest backlog is the best: GPU rows 2, 3, 1."""
    found = Evaluated(params, devices, Physics().facts())
    assert found.shown.tolist() == [0, 2, 3, 1]
    assert found.times[SHARED].tolist() == [1.0] * 4


def test_costs_by_hand(params: FloatArray, devices: FloatArray) -> None:
    """Every device is expected to take 1 s; 5 % penalty; CPU backlog 0.5."""
    facts = Physics().facts()
    assert facts[PENALTY] == 0.05
    found = Evaluated(params, devices, facts)
    half_on_best = max(0.0 + 0.5 * 1.05, 0.5 + 0.5 * 1.05)
    assert found.response == pytest.approx([1.5, half_on_best, 1.0, 1.0 + 0.525, 2.0, 2.525, 3.0])
    assert found.figures[:2, 1] == pytest.approx([30.0, (50.0 + 30.0) * 0.525])
    assert found.figures[:2, 2] == pytest.approx([0.00002, (0.0001 + 0.00002) * 0.525])
    assert found.figures[:, 3] == pytest.approx([1.0, *[0.525, 1.0] * 3])
    params[GOALS : GOALS + 3], params[USUAL : USUAL + 3] = (0.5, 0.2, 0.3), (2.0, 40.0, 1e-4)
    weighed = Evaluated(params, devices, facts).value
    assert weighed == pytest.approx(-found.figures[:, :3] @ (0.5 / 2.0, 0.2 / 40.0, 0.3 / 1e-4))
    facts[SPLIT] = 1.0
    serial = Evaluated(params, devices, facts)
    assert serial.response[1] == pytest.approx(0.5 + 0.5)
    assert serial.response[3] == pytest.approx(1.5 + 0.5)
    assert serial.figures[1, 3] == pytest.approx(1.0)


def test_work_is_charged_for_what_will_wait_behind_it(params: FloatArray, devices: FloatArray) -> None:
    """Every device is expected to take 1 s and has 1, 3, 0 and 2 parts queued; GPUs are ranked 2, 3, 1."""
    params[[CHARGE, GOALS, USUAL]] = 1.5, 0.7, 2.0
    found = Evaluated(params, devices, Physics().facts())
    behind = np.array([1.0, 0.525 * 1.0, 0.0, 0.525 * (2.0 + 1.0), 2.0, 0.525 * (3.0 + 1.0), 3.0])
    assert found.figures[:, 4] == pytest.approx(1.5 * behind)
    assert found.value == pytest.approx(-0.7 * (found.figures[:, 0] + 1.5 * behind) / 2.0)
    for switch in (COUNT_WAITING, USE_BACKLOG):
        without = params.copy()
        without[switch] = 0.0
        assert not Evaluated(without, devices, Physics().facts()).figures[:, 4].any()


def test_without_waiting_only_the_execution_costs(params: FloatArray, devices: FloatArray) -> None:
    params[COUNT_WAITING] = 0.0
    facts = Physics().facts()
    assert Evaluated(params, devices, facts).response == pytest.approx([1.0, *[0.525, 1.0] * 3])
    facts[SPLIT] = 1.0
    assert Evaluated(params, devices, facts).response == pytest.approx([1.0] * 7)


def test_what_cannot_be_done_is_never_chosen(params: FloatArray, devices: FloatArray) -> None:
    devices[2, AVAILABLE] = 0.0
    found = Evaluated(params, devices, Physics().facts())
    assert found.shown.tolist() == [0, 3, 1, 2]
    assert (found.value[-2:] == -BAD).all()
    huge = np.array([700.0, 0.7, 10_000.0, 0.0, 0.0])
    fits = Evaluated(params, devices, Physics().facts(), huge).value > -BAD
    assert fits.tolist() == [True, True, False, True, False, False, False]  # half of it fits into 8000 MB


def test_value_network_is_the_one_that_learns(params: FloatArray, devices: FloatArray) -> None:
    networks = deep(params)
    params[[TRUST, GOALS, EXCESS, USUAL]] = 1.0, 0.7, 3.0, 2.0
    devices[3, AVAILABLE] = 0.0
    found = Evaluated(params, devices, Physics().facts())
    legal = found.value > -BAD
    assert 0 < legal.sum() < len(legal)
    context, options = (torch.from_numpy(a.astype(np.float32)) for a in (found.context, found.options[legal]))
    learned = option_values(networks.values.weights.pieces, context, options).numpy()
    at_once = 0.7 * found.figures[legal, 0] / 2.0
    assert found.value[legal] == pytest.approx(0.7 * 3.0 / 2.0 * learned - at_once, abs=1e-4)
    params[TRUST] = 0.0
    assert Evaluated(params, devices, Physics().facts()).value[legal] == pytest.approx(-at_once)


def test_units_of_time_change_nothing(params: FloatArray, devices: FloatArray) -> None:
    """A node on which everything takes a thousand times as long looks the same to the network."""
    deep(params)
    params[TRUST] = 1.0
    first = Evaluated(params, devices, Physics().facts())
    params[[USUAL, USUAL + 1, USUAL + 2, EXCESS, EXCESS - 1, EXCESS + 1]] *= 1000.0
    devices[:, BACKLOG] *= 1000.0
    second = Evaluated(params, devices, Physics().facts())
    assert second.options == pytest.approx(first.options)
    assert second.context == pytest.approx(first.context)
    assert second.value == pytest.approx(first.value)


def test_the_same_weights_fit_a_node_of_any_size(params: FloatArray) -> None:
    """On a large node the options are those of the eight GPUs that would be done first."""
    large = Layout(cpus=3, gpus=12, fractions=2, hidden=16)
    other = empty(large)
    networks = deep(params)
    networks.move(large, other)
    assert np.array_equal(other[large.first_weight :], params[LAYOUT.first_weight :])
    devices = np.repeat(ClusterSpec.default(1).public_table(), (3, 12), axis=0)
    devices[:, BACKLOG] = np.arange(15.0)[::-1]
    found = Evaluated(other, devices, Physics().facts(), layout=large)
    assert len(found.value) == 2 + 8 * 2
    assert found.shown.tolist() == [2, 1, *range(14, 6, -1)]
    assert (found.value > -BAD).all()


def test_time_head_is_the_one_that_learns(params: FloatArray, devices: FloatArray) -> None:
    networks = deep(params)
    figures = LAYOUT.figures(params)
    figures[:, :-1] = 0.2 * np.random.default_rng(1).normal(size=(4, figures.shape[1] - 1))
    found = Evaluated(params, devices, Physics().facts())
    device = np.arange(BATCH) % 4
    batch = {
        "features": np.tile(found.context[:3].astype(np.float32), (BATCH, 1)),
        "kind": (device > 0).astype(np.float32),
        "coefficients": figures[device, :-1].astype(np.float32),
        "log_seconds": np.log(found.times[SHARED])[device].astype(np.float32),
    }
    assert networks.times.learn(batch) == pytest.approx(0.0, abs=1e-9)


def test_a_node_is_known_by_what_is_public() -> None:
    devices = ClusterSpec.default(2).public_table()
    table = devices[:, :4].copy()
    assert same_devices(table, devices)
    devices[:, BACKLOG] = 3.0
    assert same_devices(table, devices)
    assert not same_devices(table, ClusterSpec.default(3).public_table())
    assert not same_devices(table, ClusterSpec.default(2, memory_per_gpu=4000.0).public_table())
