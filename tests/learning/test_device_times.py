"""What the agent knows of times: one network for all devices, and a filter for each."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.learning.agent_layout import COEFFICIENTS, HEADER, MEAN, TIME_OUTPUTS, Layout
from hybrid_scheduler.learning.device_times import (
    CLIP,
    PRIOR,
    DeviceFilter,
    expected_log,
    expected_seconds,
    task_features,
)
from hybrid_scheduler.model.device_columns import KIND
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.model.task_columns import SHARED

LAYOUT = Layout(cpus=1, gpus=2, fractions=2, hidden=8)


def outcomes(count: int, noise: float = 0.0) -> list[tuple[FloatArray, FloatArray, float]]:
    """Features, what the network says, and the log of seconds on a device with coefficients of its own."""
    rng, own = np.random.default_rng(3), np.random.default_rng(4).normal(size=COEFFICIENTS) * np.sqrt(PRIOR)
    found = []
    for _ in range(count):
        features, y = rng.normal(size=3), rng.normal(size=TIME_OUTPUTS)
        found.append((features, y, expected_log(own, features, y) + noise * rng.normal()))
    return found


def mean_error(after: int, noise: float = 0.0) -> float:
    """Of the 50 outcomes after so many."""
    device, own, errors = DeviceFilter(1), np.zeros(COEFFICIENTS), []
    for features, y, log in outcomes(after + 50, noise):
        errors.append(abs(device.learn(0, own, features, y, log)))
    return float(np.mean(errors[after:]))


def test_a_device_is_known_after_a_few_outcomes() -> None:
    assert mean_error(0) > 0.08
    assert mean_error(COEFFICIENTS + 2) < 0.05
    assert mean_error(100) < 0.005


def test_noise_is_averaged() -> None:
    exact = 0.2 * np.sqrt(2.0 / np.pi)  # the mean error of one who knows the device
    assert mean_error(300, noise=0.2) < 1.2 * exact


def test_what_was_learned_can_be_overturned() -> None:
    """A device that has become slower is followed at once after `forget`, slowly without."""
    known, own = DeviceFilter(1), np.zeros(COEFFICIENTS)
    for features, y, log in outcomes(500):
        known.learn(0, own, features, y, log)
    errors = {}
    for forgets in (False, True):
        other, coefficients = DeviceFilter(1), own.copy()
        other.restore(known.state())
        if forgets:
            other.forget()
        errors[forgets] = [other.learn(0, coefficients, f, y, log + 2.0) for f, y, log in outcomes(20)]
    assert np.abs(errors[True][-5:]).max() < 0.2 < np.abs(errors[False][-5:]).min()


def test_devices_differ_by_their_coefficients_and_kinds_by_the_network() -> None:
    params = LAYOUT.empty()
    rng = np.random.default_rng(1)
    params[LAYOUT.first_weight :] = 0.3 * rng.normal(size=len(params) - LAYOUT.first_weight)
    devices = np.zeros((3, 9))
    devices[1:, KIND] = 1.0
    logs, times = np.empty(3), np.zeros((2, 3))
    expected_seconds(params, devices, np.array([0.3, -1.0, 0.5]), logs, times)
    assert logs[1] == logs[2] != logs[0]
    LAYOUT.figures(params)[2, 0] = 0.7
    expected_seconds(params, devices, np.array([0.3, -1.0, 0.5]), logs, times)
    assert logs[2] == pytest.approx(logs[1] + 0.7)
    assert times[SHARED] == pytest.approx(np.exp(logs))
    assert params[HEADER + 2 * 9] == 0.7


def test_features_far_out_stay_in_order_but_small() -> None:
    params = LAYOUT.empty()
    params[MEAN : MEAN + 6] = np.log(1000.0), 0.5, np.log(101.0), 0.01, 0.01, 0.01
    seen = []
    for size in (1e3, 1.1e3, 1e6, 1e12):
        x = np.zeros(3)
        task_features(np.array([size, 0.5, 100.0, 0.0, 0.0, 0.0]), params, x)
        seen.append(x[0])
    assert seen[0] == pytest.approx(0.0)
    assert seen == sorted(seen)
    assert CLIP < seen[-1] < 3 * CLIP
