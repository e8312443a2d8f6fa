"""Means, intervals and verdicts against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hybrid_scheduler.experiments.statistics import NOT_SHOWN, STUDENT_T, compare, estimate, interval, method
from hybrid_scheduler.model.errors import InvalidInputError


def test_one_seed_has_no_interval() -> None:
    found = estimate([3.0])
    assert (found.mean, found.low, found.high, found.values) == (3.0, None, None, (3.0,))
    assert method(1).startswith("none")
    assert compare("a", "b", "cost", [1.0], [9.0]).verdict == NOT_SHOWN


def test_few_seeds_use_students_t() -> None:
    found = estimate([1.0, 2.0, 3.0])
    # Deviation 1, so the half width is t(0.975, 2) / sqrt(3) = 4.302653 / 1.732051.
    assert found.mean == 2.0
    assert (found.low, found.high) == pytest.approx((2 - 2.484138, 2 + 2.484138))
    assert {n: pytest.approx(stats.t.ppf(0.975, n - 1)) for n in STUDENT_T} == STUDENT_T
    assert "Student" in method(4)


def test_bootstrap_of_a_binomial() -> None:
    # The resampled sum of one 1 among five values is binomial(5, 0.2): P(0) = 0.328, P(<= 2) = 0.942, P(<= 3) = 0.993.
    found = estimate([0.0, 0.0, 0.0, 0.0, 1.0])
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.0, 0.6), abs=0)
    assert "bootstrap" in method(5)


def test_bootstrap_of_many_seeds_is_the_normal_interval() -> None:
    values = np.random.default_rng(1).normal(5.0, 2.0, 400)
    found = interval(values)
    assert found is not None
    half = 1.96 * values.std() / 20
    assert found[0] == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found[1] == pytest.approx(values.mean() + half, abs=0.1 * half)
    assert interval(values) == found, "the resamples are always the same"


@pytest.mark.parametrize("seeds", [3, 8])
def test_curves_get_the_interval_of_each_point(seeds: int) -> None:
    curves = np.random.default_rng(2).normal(size=(seeds, 4))
    found = interval(curves)
    assert found is not None
    for column in range(4):
        alone = estimate(curves[:, column].tolist())
        assert (found[0][column], found[1][column]) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_differences_are_paired_by_seed() -> None:
    theirs = [1.0, 20.0, 300.0, 4000.0, 50000.0]
    ours = [value - 0.5 for value in theirs]
    found = compare("a", "b", "total_time", ours, theirs)
    assert (found.difference, found.low, found.high) == pytest.approx((-0.5,) * 3)
    assert found.verdict == "better", "the spread over the seeds is the same for both"
    assert compare("a", "b", "throughput", ours, theirs, bigger_is_better=True).verdict == "worse"
    assert compare("b", "a", "total_time", theirs, ours).verdict == "worse"
    assert compare("b", "a", "throughput", theirs, ours, bigger_is_better=True).verdict == "better"


def test_words_only_where_the_interval_excludes_zero() -> None:
    zeros = [0.0] * 6
    assert compare("a", "b", "cost", [-1.0, 1.0, -1.0, 1.0, -1.0, 1.5], zeros).verdict == NOT_SHOWN
    assert compare("a", "b", "cost", [1.0, 1.1, 0.9, 1.0, 1.2, 1.0], zeros).verdict == "worse"


def test_rounding_is_no_difference() -> None:
    theirs = [10.0, 11.0, 12.0, 13.0, 14.0]
    found = compare("a", "b", "cost", [value * (1 + 1e-13) for value in theirs], theirs)
    assert (found.difference, found.verdict) == (0.0, NOT_SHOWN)


def test_no_values() -> None:
    with pytest.raises(InvalidInputError, match="at least one seed"):
        interval(np.zeros(0))
