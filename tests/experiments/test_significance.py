"""The t test and Holm's correction, against SciPy and against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hybrid_scheduler.experiments.statistics import NOT_SHOWN, compare, corrected, student_t_p


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 9, 30, 31, 199])
def test_students_t(freedom: int) -> None:
    for t in (0.0, 0.1, -1.0, 2.5, -7.0, 40.0):
        assert student_t_p(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-9, abs=1e-14)


def test_paired_test_and_effect_size() -> None:
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(0.0, 1.0, 7), rng.normal(1.0, 1.0, 7)
    found = compare("a", "b", "energy", ours.tolist(), theirs.tolist())
    assert found.p == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    difference = ours - theirs
    assert found.effect_size == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert found.p_holm == found.p


def test_positive_figures_are_tested_by_their_ratios_too() -> None:
    # Half as long at every seed, but the seeds differ by powers of ten: the differences alone would say nothing.
    theirs = np.array([1.0, 11.0, 90.0, 1200.0, 9000.0])
    ours = theirs * np.array([0.5, 0.52, 0.48, 0.5, 0.51])
    found = compare("a", "b", "avg_response", ours.tolist(), theirs.tolist())
    assert found.p == pytest.approx(2 * stats.ttest_rel(np.log(ours), np.log(theirs)).pvalue), "two tests were made"
    assert stats.ttest_rel(ours, theirs).pvalue > 0.05
    assert found.verdict == "better"
    assert found.difference == pytest.approx((ours - theirs).mean()), "what is shown is the difference"


def test_differences_and_ratios_that_disagree_show_nothing() -> None:
    # Most seeds are far smaller and two are larger by more: the ratios' certainty must not serve the differences.
    ours, theirs = np.array([1.0, 1.0, 1.0, 1.0, 1000.0, 1000.0]), np.array([99.0, 98.0, 99.0, 98.0, 700.0, 690.0])
    found = compare("a", "b", "cost", ours.tolist(), theirs.tolist())
    assert found.difference > 0
    assert np.log(ours / theirs).mean() < 0
    assert found.p == 1.0
    assert found.verdict == NOT_SHOWN


def test_seeds_that_all_agree() -> None:
    same = compare("a", "b", "energy", [1.0, 2.0], [1.0, 2.0])
    assert (same.p, same.effect_size, same.verdict) == (1.0, None, NOT_SHOWN)
    less = compare("a", "b", "energy", [1.0, 2.0], [3.0, 4.0])
    assert (less.p, less.effect_size, less.verdict) == (0.0, None, "better")


def test_one_seed_says_nothing() -> None:
    found = compare("a", "b", "energy", [1.0], [3.0])
    assert (found.p, found.p_holm, found.effect_size, found.verdict) == (None, None, None, NOT_SHOWN)
    assert corrected([found]) == [found]


def test_holm_by_hand() -> None:
    # p = 0.01, 0.04, 0.03 times 3, 1, 2, never falling: 0.03, 0.06, 0.06.
    values = {0.01: [0.0], 0.04: [0.0], 0.03: [0.0]}
    made = [compare("a", str(p), "cost", [1.0, 1.1, 0.9, 1.05], [0.0] * 4) for p in values]
    made = [type(each)(**{**each.__dict__, "p": p}) for each, p in zip(made, values, strict=True)]
    found = corrected(made)
    assert [each.p_holm for each in found] == [pytest.approx(p) for p in (0.03, 0.06, 0.06)]
    assert [each.verdict for each in found] == ["worse", NOT_SHOWN, NOT_SHOWN]
    assert [each.b for each in found] == ["0.01", "0.04", "0.03"], "the order stays"


def test_the_interval_alone_is_not_enough() -> None:
    # The bootstrap never resamples below zero, yet four of five small values leave the t test unconvinced.
    found = compare("a", "b", "cost", [0.1, 0.1, 0.1, 0.1, 9.0], [0.0] * 5)
    assert found.low is not None
    assert found.low > 0
    assert found.p is not None
    assert found.p > 0.05
    assert found.verdict == NOT_SHOWN


def test_more_comparisons_need_more_evidence() -> None:
    values = [1.0, 1.4, 0.6, 1.6, 0.8]
    alone = compare("a", "b", "cost", values, [0.0] * 5)
    assert alone.verdict == "worse"
    assert {each.verdict for each in corrected([alone] * 20)} == {NOT_SHOWN}
