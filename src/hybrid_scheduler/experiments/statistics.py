"""Statistics over seeds: means with 95 % intervals, and paired differences.

From five seeds on an interval is a percentile bootstrap of the mean (Efron, Annals of Statistics 7, 1979) with a fixed
seed of its own; fewer seeds are too few to resample, so Student's t is used; one seed has no interval. The same
resamples serve every figure, so the interval of a difference is that of the paired differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    """The mean of a's figure less b's over the seeds, with its interval, and what it says about a."""

    a: str
    b: str
    metric: str
    difference: float
    low: float | None
    high: float | None
    verdict: str

    def to_json(self) -> dict[str, object]:
        """The words of the document."""
        return asdict(self)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and interval of one value per seed."""
    column = np.asarray(values, dtype=float)
    found = interval(column)
    low, high = (None, None) if found is None else (float(found[0]), float(found[1]))
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


def compare(
    a: str, b: str, metric: str, ours: Sequence[float], theirs: Sequence[float], *, bigger_is_better: bool = False
) -> PairedComparison:
    """Compare two schedulers seed by seed; "better" and "worse" only where the interval excludes zero.

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
    found = estimate(differences.tolist())
    verdict = NOT_SHOWN
    if found.low is not None and found.high is not None and (found.low > 0 or found.high < 0):
        verdict = "better" if (found.low > 0) == bigger_is_better else "worse"
    return PairedComparison(a, b, metric, found.mean, found.low, found.high, verdict)


@cache
def _resamples(count: int) -> FloatArray:
    """One row per resample: the weight every seed has in it."""
    drawn = np.random.default_rng(RESAMPLING_SEED).multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES)
    weights: FloatArray = drawn / count
    return weights
