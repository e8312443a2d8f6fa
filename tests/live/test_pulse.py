"""How busy devices were: bounded, exact, and over the whole run."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.live.pulse import MOST, RECENT_SECONDS, PulseSeries

DEVICES = ("cpu_0", "gpu_0")


def filled(samples: int, every: float = 0.5, speed: float = 3.0) -> PulseSeries:
    """The CPU is busy half of the time, the GPU in the second half of the series only."""
    series, busy = PulseSeries(DEVICES), np.zeros(2)
    for number in range(samples):
        busy = busy + every * speed * np.array([0.5, float(number > samples // 2)])
        series.add(1000.0 + number * every, {"greedy": number * every * speed}, {"greedy": busy})
    return series


def test_a_long_run_stays_whole_and_small() -> None:
    points = filled(40_000).points("greedy")
    assert len(points) <= MOST + RECENT_SECONDS / 0.5 + 2
    assert points[0]["time"] < 1000.0 + 40_000 * 0.5 * 0.02
    assert points[-1]["time"] == 1000.0 + 39_999 * 0.5
    times = [point["time"] for point in points]
    assert times == sorted(times)
    assert {point["utilization"][0] for point in points} == {0.5}
    mean = np.average([p["utilization"][1] for p in points], weights=np.diff([1000.0, *times]))
    assert mean == pytest.approx(0.5, abs=1e-3)


def test_the_last_minute_is_as_fine_as_it_was_sampled() -> None:
    points = filled(10_000).points("greedy")
    last = [point["time"] for point in points if point["time"] > points[-1]["time"] - 30.0]
    assert np.diff(last).max() == pytest.approx(0.5)


def test_no_time_passes_while_the_race_stands_still() -> None:
    series = PulseSeries(DEVICES)
    for at, simulated, busy in ((0.0, 0.0, 0.0), (1.0, 2.0, 1.0), (2.0, 2.0, 1.0), (9.0, 2.0, 1.0), (10.0, 4.0, 3.0)):
        series.add(at, {"greedy": simulated}, {"greedy": np.array([busy, 0.0])})
    assert [(p["time"], p["utilization"][0]) for p in series.points("greedy")] == [(1.0, 0.5), (10.0, 1.0)]


def test_before_the_second_sample_there_is_nothing() -> None:
    assert PulseSeries(DEVICES).points("greedy") == []
    assert filled(1).document("greedy") == {"devices": list(DEVICES), "points": []}
