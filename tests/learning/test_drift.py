from __future__ import annotations

import numpy as np

from hybrid_scheduler.learning.drift import ARMED, SETTLING, DriftDetector
from hybrid_scheduler.model.task import FloatArray


def usual_errors(count: int, seed: int) -> FloatArray:
    """Heavy-tailed, as a forest's errors are."""
    return np.exp(np.random.default_rng(seed).normal(-4.0, 1.0, count))


def trained(seed: int = 0) -> DriftDetector:
    detector = DriftDetector(2)
    detector.learn(np.random.default_rng(seed).random((5000, 2)), usual_errors(5000, seed))
    return detector


def alarms(detector: DriftDetector, features: FloatArray, errors: FloatArray) -> list[int]:
    """After which rows it fires; it goes on from there as the scheduler lets it."""
    found = []
    for i, (row, error) in enumerate(zip(features, errors, strict=True)):
        if detector.notice(row, float(error)):
            found.append(i)
            detector.restart()
        elif i % 50 == 49:
            detector.settle()
    return found


def test_no_alarm_on_forty_thousand_rows_like_those_before() -> None:
    random = np.random.default_rng(5)
    assert alarms(trained(), random.random((40_000, 2)), usual_errors(40_000, 6)) == []


def test_far_errors_and_strange_features_fire_at_once() -> None:
    detector = trained()
    assert detector.notice(np.array([50.0, 50.0]), 5.0)
    assert detector.since == 1


def test_errors_alone_fire_within_a_few_rows() -> None:
    detector = trained()
    fired = [detector.notice(np.array([0.5, 0.5]), 1.0) for _ in range(5)]
    assert any(fired)
    assert not fired[0]


def test_errors_that_have_grown_fire_before_long() -> None:
    found = alarms(trained(), np.random.default_rng(1).random((3000, 2)), 8.0 * usual_errors(3000, 2))
    assert found
    assert found[0] < 300


def test_errors_are_learned_anew_and_what_was_far_out_counts_meanwhile() -> None:
    random, detector = np.random.default_rng(1), trained()
    detector.forget_errors()
    # Eight times the errors of before are usual now.
    assert alarms(detector, random.random((3000, 2)), 8.0 * usual_errors(3000, 2)) == []
    assert alarms(detector, random.random((300, 2)), 64.0 * usual_errors(300, 3)) != []
    detector = trained()
    detector.forget_errors()
    assert any(detector.notice(np.array([0.5, 0.5]), 5.0) for _ in range(5))
    detector = trained()
    detector.forget_errors()
    # The machine has halted for a moment, while two or three devices were busy.
    assert not any(detector.notice(np.array([0.5, 0.5]), error) for error in (5.0, 5.0, 5.0, *[0.01] * 20))
    detector = trained()
    detector.forget_errors()
    assert any(detector.notice(np.array([far, far]), 0.01) for far in (50.0, 500.0, 5000.0))
    again = DriftDetector.from_arrays(2, detector.figures(), detector.arrays())
    assert again.figures() == detector.figures()
    assert again.known == 2000


def test_it_is_not_armed_before_it_knows_what_is_usual() -> None:
    detector = DriftDetector(2)
    features = np.random.default_rng(2).random((SETTLING + ARMED - 1, 2))
    assert alarms(detector, features, np.linspace(5.0, 0.1, len(features))) == []
    assert detector.large == np.inf


def test_after_an_alarm_the_rows_since_the_change_are_known() -> None:
    detector = trained()
    for row in np.random.default_rng(3).random((20, 2)):
        detector.notice(row, 0.001)
    rows = 1
    while not detector.notice(np.array([0.5, 0.5]), 1.0):
        rows += 1
    assert detector.since == rows


def test_saved_and_restored_it_goes_on_alike() -> None:
    one = trained()
    for row in np.random.default_rng(3).random((20, 2)):
        one.notice(row, 0.2)
    two = DriftDetector.from_arrays(2, one.figures(), one.arrays())
    later = np.random.default_rng(4).random((200, 2)), usual_errors(200, 9)
    assert alarms(one, *later) == alarms(two, *later)
    assert one.figures() == two.figures()
