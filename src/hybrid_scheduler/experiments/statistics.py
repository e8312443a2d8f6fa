"""Statistics over seeds: means with 95 % intervals, and paired differences with words for them.

From five seeds on an interval is a percentile bootstrap of the mean (Efron, Annals of Statistics 7, 1979) with a fixed
seed of its own; fewer seeds are too few to resample, so Student's t is used; one seed has no interval. The same
resamples serve every figure, so the interval of a difference is that of the paired differences.

A bootstrap of few seeds is too narrow, and many comparisons find something by chance. So a verdict needs two things: an
interval that excludes zero, and a paired t test (Student, Biometrika 6, 1908) below 5 % after Holm's correction (Holm,
Scandinavian Journal of Statistics 6, 1979) over all comparisons by the same metric. Figures that are all positive are
tested twice, by their differences and by their ratios (logarithms), and the smaller p counts double (Bonferroni): where
one seed's queues are ten times as long as another's, ratios are what the seeds have in common, elsewhere differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray

BOOTSTRAP_FROM = 5
RESAMPLES = 10_000
RESAMPLING_SEED = 20_240_229
STUDENT_T = {2: 12.706204736, 3: 4.302652730, 4: 3.182446305}
"""97.5 % quantiles by number of seeds (degrees of freedom plus one)."""
ROUNDING = 1e-9
"""A difference below this share of the figures themselves is rounding."""
ALPHA = 0.05
NOT_SHOWN = "no difference shown"


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its interval (None where one seed gives none), and the values it comes from."""

    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """The words of the document."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "values": list(self.values)}


@dataclass(frozen=True)
class PairedComparison:
    """The mean of a's figure less b's over the seeds, with its interval, and what it says about a.

    Attributes:
        a: Whom the verdict is about.
        b: The other.
        metric: What they are compared by.
        difference: Mean of a's figure less b's.
        low: Lower end of the interval; None for one seed.
        high: Upper end.
        verdict: `better`, `worse` or `NOT_SHOWN`.
        p: Of the two-sided paired t test, by differences or ratios; None for one seed.
        p_holm: The same after the correction for all comparisons by this metric.
        effect_size: Cohen's d of the paired differences: their mean over their deviation; None where they all agree.
    """

    a: str
    b: str
    metric: str
    difference: float
    low: float | None
    high: float | None
    verdict: str
    p: float | None = None
    p_holm: float | None = None
    effect_size: float | None = None

    def to_json(self) -> dict[str, object]:
        """The words of the document."""
        return {key: getattr(self, key) for key in ("a", "b", "metric", "difference", "low", "high", "verdict")}

    def significance(self) -> dict[str, object]:
        """What the verdict rests on besides the interval."""
        return {key: getattr(self, key) for key in ("a", "b", "metric", "p", "p_holm", "effect_size")}


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and interval of one value per seed."""
    column = np.asarray(values, dtype=float)
    ends = interval(column)
    low, high = (None, None) if ends is None else (float(ends[0]), float(ends[1]))
    return Estimate(float(column.mean()), low, high, tuple(column.tolist()))


def interval(values: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Ends of the 95 % interval of the mean over the first axis (the seeds); None for a single seed."""
    count = len(values)
    if count == 0:
        raise InvalidInputError("there are no values to average; run at least one seed")
    if count == 1:
        return None
    if count >= BOOTSTRAP_FROM:
        means = np.tensordot(_resamples(count), values, axes=1)
        low, high = np.percentile(means, [2.5, 97.5], axis=0)
        return low, high
    mean = values.mean(axis=0)
    half = STUDENT_T[count] * values.std(axis=0, ddof=1) / np.sqrt(count)
    return mean - half, mean + half


def method(seeds: int) -> str:
    """How the intervals of so many seeds are made, in words."""
    if seeds == 1:
        return "none: one seed gives no interval"
    if seeds < BOOTSTRAP_FROM:
        return f"95 %, Student's t over {seeds} seeds"
    return f"95 %, percentile bootstrap of the mean over {seeds} seeds, {RESAMPLES} resamples, paired by seed"


def verdict_method() -> str:
    """When "better" and "worse" are said, in words."""
    return (
        "better or worse only where the interval of the paired differences excludes zero and the paired t test (of "
        f"differences or ratios, with Bonferroni's correction for the two) stays below {ALPHA:g} after Holm's "
        f"correction over all comparisons by the same metric; else: {NOT_SHOWN}"
    )


def compare(
    a: str, b: str, metric: str, ours: Sequence[float], theirs: Sequence[float], *, bigger_is_better: bool = False
) -> PairedComparison:
    """Compare two schedulers seed by seed; the verdict counts this comparison as the only one (see `corrected`).

    Args:
        a: Whom the verdict is about.
        b: The other.
        metric: What `ours` and `theirs` are.
        ours: One value per seed of a.
        theirs: The same seeds of b.
        bigger_is_better: Which way is better.
    """
    first, second = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    differences = first - second
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    difference = estimate(differences.tolist())
    p = effect = None
    if len(differences) > 1:
        p, effect = _paired_t(differences)
        if np.all(first > 0) and np.all(second > 0):
            ratios = np.where(differences == 0.0, 0.0, np.log(first / second))
            # Ratios that point the other way than the differences say nothing for them.
            by_ratio = _paired_t(ratios)[0] if ratios.mean() * difference.mean > 0 else 1.0
            p = min(1.0, 2.0 * min(p, by_ratio))
    verdict = NOT_SHOWN
    if difference.low is not None and difference.high is not None and (difference.low > 0 or difference.high < 0):
        verdict = "better" if (difference.low > 0) == bigger_is_better else "worse"
    alone = PairedComparison(a, b, metric, difference.mean, difference.low, difference.high, verdict, p, p, effect)
    return corrected([alone])[0]


def corrected(comparisons: Sequence[PairedComparison]) -> list[PairedComparison]:
    """The same comparisons as one family: Holm's step-down correction of their p values, verdicts accordingly."""
    tested = sorted((comparison.p, k) for k, comparison in enumerate(comparisons) if comparison.p is not None)
    adjusted: dict[int, float] = {}
    highest = 0.0
    for rank, (p, k) in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - rank) * p))
        adjusted[k] = highest
    return [
        replace(
            comparison,
            p_holm=adjusted.get(k),
            verdict=comparison.verdict if k in adjusted and adjusted[k] < ALPHA else NOT_SHOWN,
        )
        for k, comparison in enumerate(comparisons)
    ]


def _paired_t(differences: FloatArray) -> tuple[float, float | None]:
    """The p value of the two-sided t test that the mean is zero, and Cohen's d; of two values at least."""
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if deviation <= ROUNDING * abs(mean):  # every seed says the same
        return (1.0 if mean == 0.0 else 0.0), None
    effect, count = mean / deviation, len(differences)
    return student_t_p(effect * math.sqrt(count), count - 1), effect


def student_t_p(t: float, freedom: int) -> float:
    """Probability that |T| exceeds |t|: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cosine = math.cos(angle)
    term = total = cosine if freedom % 2 else 1.0
    for k in range(2 + freedom % 2, freedom, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = math.sin(angle) * total
    if freedom == 1:
        inside = 2.0 / math.pi * angle
    elif freedom % 2:
        inside = 2.0 / math.pi * (angle + inside)
    return max(0.0, 1.0 - inside)


@cache
def _resamples(count: int) -> FloatArray:
    """One row per resample: the weight every seed has in it."""
    drawn = np.random.default_rng(RESAMPLING_SEED).multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES)
    weights: FloatArray = drawn / count
    return weights
