"""Presets: every value in its range, and the distributions the specification names, checked against formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hybrid_scheduler.model import InvalidInputError, UnknownNameError
from hybrid_scheduler.model.task import FloatArray
from hybrid_scheduler.workloads import PRESETS, WorkloadGenerator, drifting, find_preset
from hybrid_scheduler.workloads.presets import Preset

N = 200_000
SPECIFIED = {
    "mixed": ((100, 5000), (0.05, 1.0), (10, 500)),
    "bursty": ((100, 5000), (0.05, 1.0), (10, 500)),
    "gpu_favourable": ((1000, 10_000), (0.8, 1.0), (10, 500)),
    "cpu_favourable": ((10, 100), (0.0, 0.1), (2000, 5000)),
    "uniform": ((500, 1500), (0.1, 0.9), (50, 150)),
    "drift": ((10, 10_000), (0.0, 1.0), (10, 5000)),
}


def columns(preset: str | Preset, n: int = N, seed: int = 11) -> tuple[FloatArray, FloatArray, FloatArray]:
    tasks = WorkloadGenerator(seed).generate(preset, n, 4.0)
    return tasks.size, tasks.compute_intensity, tasks.memory_required


def near(value: float, expected: float, standard_error: float) -> None:
    """Within 4.5 standard errors: about one false alarm in 150 000, and the seeds are fixed."""
    assert abs(value - expected) < 4.5 * standard_error, (value, expected)


def test_the_presets_are_those_of_the_specification() -> None:
    assert set(PRESETS) == set(SPECIFIED)
    assert all(preset.name == name and preset.summary for name, preset in PRESETS.items())


@pytest.mark.parametrize("name", SPECIFIED)
def test_values_fill_the_range_of_the_preset_and_stay_in_it(name: str) -> None:
    for values, (low, high) in zip(columns(name), SPECIFIED[name], strict=True):
        assert values.dtype == np.float64
        assert low <= values.min() <= low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) <= values.max() <= high


@pytest.mark.parametrize("name", ["gpu_favourable", "cpu_favourable", "uniform"])
def test_uniform_presets_are_uniform_real_and_independent(name: str) -> None:
    drawn = columns(name)
    for values, (low, high) in zip(drawn, SPECIFIED[name], strict=True):
        unit = (values - low) / (high - low)
        # Kolmogorov-Smirnov: the largest gap to the straight line; 1.95 / sqrt(n) is the 0.1 % point.
        assert np.abs(np.sort(unit) - np.arange(N) / N).max() < 1.95 / math.sqrt(N)
        assert (values != np.round(values)).mean() > 0.99
    assert np.abs(np.corrcoef(drawn) - np.eye(3)).max() < 4.5 / math.sqrt(N)


def test_mixed_size_is_a_clipped_pareto() -> None:
    size, _, _ = columns("mixed")
    # P(size > x) = (100 / x) ^ 1.5 below the clip, so the median is 100 * 2 ^ (2 / 3).
    for x in (100 * 2 ** (2 / 3), 300.0, 2000.0, 4999.0):
        p = (100 / x) ** 1.5
        near((size > x).mean(), p, math.sqrt(p * (1 - p) / N))
    assert (size == 5000).mean() == pytest.approx(50**-1.5, rel=0.15)


def test_mixed_intensity_has_two_groups() -> None:
    _, intensity, _ = columns("mixed")
    low = intensity < 0.5
    # The groups are three standard deviations from 0.5 each: 0.135 % of either lies on the other side.
    tail = 0.5 * math.erfc(3 / math.sqrt(2))
    p = 0.3 * (1 - tail) + 0.7 * tail
    near(low.mean(), p, math.sqrt(p * (1 - p) / N))
    # The quartiles of the upper group: 0.8 -/+ 0.0674, unmoved by the clip at 1.
    upper = intensity[~low]
    assert np.median(upper) == pytest.approx(0.8, abs=0.002)
    assert np.quantile(upper, [0.25, 0.75]) == pytest.approx([0.8 - 0.06745, 0.8 + 0.06745], abs=0.003)
    assert np.median(intensity[low]) == pytest.approx(0.2, abs=0.003)
    assert (intensity == 1.0).mean() == pytest.approx(0.7 * 0.5 * math.erfc(2 / math.sqrt(2)), rel=0.1)


def test_mixed_memory_grows_with_size_with_noise() -> None:
    size, intensity, memory = columns("mixed")
    big = (size > 1500) & (size < 3000)  # between 150 and 300 MB: far from both clips
    noise = memory[big] - size[big] / 10
    near(noise.mean(), 0.0, 50 / math.sqrt(big.sum()))
    assert noise.std() == pytest.approx(50, rel=0.05)
    assert abs(np.corrcoef(intensity, size)[0, 1]) < 4.5 / math.sqrt(N)


@pytest.mark.parametrize(("name", "squared_variation"), [("mixed", 1.0), ("uniform", 1.0), ("bursty", 31.6)])
def test_gaps_have_the_mean_and_the_variation_of_their_process(name: str, squared_variation: float) -> None:
    gaps = np.diff(WorkloadGenerator(3).generate(name, N, 8.0).arrival_time, prepend=0.0)
    assert (gaps >= 0).all()
    near(gaps.mean(), 1 / 8, math.sqrt(squared_variation / N) / 8)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(squared_variation, rel=0.08)
    if name == "mixed":
        assert np.median(gaps) == pytest.approx(math.log(2) / 8, rel=0.02)


def test_bursts_have_twenty_tasks_on_average_and_tenfold_rate_inside() -> None:
    gaps = np.diff(WorkloadGenerator(3).generate("bursty", N, 1.0).arrival_time)
    # Hardly any gap within a burst reaches 1 (e^-10), nearly every silence does (e^-1/18).
    assert (gaps > 1).mean() == pytest.approx(math.exp(-1 / 18) / 20, rel=0.05)
    assert np.median(gaps) == pytest.approx(0.1 * math.log(2), rel=0.1)


def test_drift_moves_linearly_from_one_preset_to_the_other() -> None:
    size, intensity, memory = columns("drift")
    moved = size <= 100  # cpu_favourable ends where gpu_favourable has not begun
    assert ((memory[moved] >= 2000) & (intensity[moved] <= 0.1)).all()
    assert ((memory[~moved] <= 500) & (intensity[~moved] >= 0.8)).all()
    tenth = moved.reshape(10, -1).mean(axis=1)
    assert tenth == pytest.approx(np.arange(0.05, 1, 0.1), abs=0.015)
    assert not moved[0]
    assert moved[-1]


def test_drift_ends_can_be_chosen_by_object_and_by_name() -> None:
    other = WorkloadGenerator(2).generate(drifting("uniform", "cpu_favourable", tasks=10), 50, 1.0)
    assert (other.size[:1] >= 500).all()
    assert (other.size[9:] <= 100).all(), "past `tasks` it stays at the end"
    named = WorkloadGenerator(2).generate("drift:uniform:cpu_favourable", 50, 1.0)
    assert named.size[0] >= 500
    assert named.size[-1] <= 100
    with pytest.raises(UnknownNameError, match="did you mean 'uniform'"):
        find_preset("drift:unifrom:mixed")
    with pytest.raises(InvalidInputError, match="must name two presets"):
        find_preset("drift:mixed")
    with pytest.raises(InvalidInputError, match="over 0 tasks"):
        drifting("mixed", "uniform", tasks=0)


def test_an_endless_drift_ends_after_a_thousand_tasks() -> None:
    stream = WorkloadGenerator(5).stream("drift", 1.0)
    sizes = np.array([next(stream).size for _ in range(3000)])
    assert (sizes[999:] <= 100).all()
    assert (sizes[:500] > 100).mean() == pytest.approx(0.75, abs=0.06)


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown preset 'mixd': did you mean 'mixed'"):
        WorkloadGenerator(1).generate("mixd", 5, 1.0)
    assert find_preset("mixed") is PRESETS["mixed"]
