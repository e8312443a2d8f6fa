"""Noticing that tasks or times are no longer what the model was trained on.

Page's cumulative sum (Page, "Continuous inspection schemes", Biometrika 41, 1954) of the evidence for a change: every
row adds the logarithm of how much likelier it is after a change than before. The sum never falls below zero, and an
alarm is raised above a threshold h; without a change that takes at least e^h rows on average (Lorden, "Procedures for
reacting to a change in distribution", Ann. Math. Stat. 42, 1971), here 60 000.

The evidence is coarse on purpose, so that it holds for any distribution of errors: whether an error is among the
largest hundredth of the usual ones, whether it is larger than twice the largest, and whether a feature lies outside the
range seen so far.
"""

from __future__ import annotations

import math
from typing import Final, Self

import numpy as np

from hybrid_scheduler.learning.model_file import Arrays
from hybrid_scheduler.model.task import FloatArray

THRESHOLD: Final = 11.0
REFERENCE: Final = 2000
"""Errors that say what is usual: the latest ones."""
ARMED: Final = 50
"""Fewer errors than this say nothing yet."""
SETTLING: Final = 30
"""Rows after a new start whose errors are not usual: the model is still finding its feet."""
LARGE: Final = 0.99
"""Quantile above which an error is large."""
FAR: Final = 2.0
"""An error beyond the largest usual one by this factor is far out."""
MARGIN: Final = 0.1
"""A feature is outside when it is beyond the range by this share of it."""
AFTER_LARGE, AFTER_FAR, AFTER_USUAL = 0.3, 0.3, 0.4
"""How likely large, far-out and usual errors are after a change."""
AFTER_OUTSIDE: Final = 0.3
FIGURES: Final = ("evidence", "since", "count", "seen", "large", "far", "alarms")


class DriftDetector:
    """Watches features and errors.

    Attributes:
        evidence: The cumulative sum.
        since: Rows since the sum was last zero: those after the change, when there was one.
        alarms: How often it has fired.
        known: On how many errors rests what is far out, while errors are learned anew; else 0.
    """

    def __init__(self, features: int) -> None:
        self.errors = np.zeros(REFERENCE)
        self.low, self.high = np.full(features, np.inf), np.full(features, -np.inf)
        self.alarms = 0
        self.restart()

    def restart(self) -> None:
        """Forget what is usual."""
        self.evidence, self.since = 0.0, 0
        self.count, self.seen = 0, 0
        self.low[:], self.high[:] = np.inf, -np.inf
        self.large = self.far = math.inf
        self.known = 0

    def forget_errors(self) -> None:
        """Learn anew which errors are usual; until then only what was far out counts, and strange features."""
        self.known = max(self.known, min(self.count, REFERENCE))
        self.evidence, self.since, self.count = 0.0, 0, 0
        self.large = self.far

    def learn(self, features: FloatArray, errors: FloatArray) -> None:
        """Take training rows and their honest errors as usual, in place of everything before."""
        self.restart()
        self.low, self.high, self.seen = features.min(axis=0), features.max(axis=0), len(features)
        usual = errors[np.isfinite(errors)]
        usual = usual[np.linspace(0, len(usual) - 1, min(len(usual), REFERENCE)).astype(np.int64)]
        self.errors[: len(usual)] = usual
        self.count = len(usual)
        self.settle()

    def settle(self) -> None:
        """Work out anew what a large error is, from the latest ones."""
        if self.count >= ARMED:
            usual = self.errors[: min(self.count, REFERENCE)]
            self.large, self.far = float(np.quantile(usual, LARGE)), FAR * float(usual.max())
            self.known = 0

    def notice(self, features: FloatArray, error: float) -> bool:
        """Take in a row and the error of its prediction; returns whether the world has changed."""
        self.evidence += self._evidence(features, error)
        if self.evidence <= 0.0:
            self.evidence, self.since = 0.0, 0
        else:
            self.since += 1
        if self.evidence > THRESHOLD:
            self.alarms += 1
            return True
        np.minimum(self.low, features, out=self.low)
        np.maximum(self.high, features, out=self.high)
        self.seen += 1
        if self.seen > SETTLING and math.isfinite(error):
            self.errors[self.count % REFERENCE] = error
            self.count += 1
        return False

    def figures(self) -> dict[str, float]:
        """What to save beside `arrays`, fit for JSON."""
        return {**{name: getattr(self, name) for name in FIGURES}, "known": self.known}

    def arrays(self) -> Arrays:
        """The usual errors and ranges, for a file."""
        return {"errors": self.errors, "low": self.low, "high": self.high}

    @classmethod
    def from_arrays(cls, features: int, figures: dict[str, float], arrays: Arrays) -> Self:
        """The detector that was saved.

        Raises:
            KeyError, TypeError, ValueError: Something is missing or does not fit together.
        """
        detector = cls(features)
        detector.errors[:], detector.low[:], detector.high[:] = arrays["errors"], arrays["low"], arrays["high"]
        for name in FIGURES:
            setattr(detector, name, figures[name])
        detector.known = int(figures.get("known", 0))  # older files lack it
        return detector

    def _evidence(self, features: FloatArray, error: float) -> float:
        if self.large == math.inf:
            return 0.0
        n = max(min(self.count, REFERENCE), self.known) + 1
        large = math.log(AFTER_LARGE / max(1.0 - LARGE, 2.0 / n))
        if error > self.far:
            # A machine that halts for a moment makes errors of this kind on all devices at once, and labels tell of
            # no such moments: until errors are known anew, one row alone says no more than a large error would.
            result = large if self.known else math.log(AFTER_FAR * n)
        elif error > self.large:
            result = large
        else:
            result = math.log(AFTER_USUAL / LARGE)
        margin = MARGIN * (self.high - self.low)
        if ((features < self.low - margin) | (features > self.high + margin)).any():
            # Each of n rows is as likely as the next to be the smallest or largest of any feature.
            return result + max(0.0, math.log(AFTER_OUTSIDE * (self.seen + 1) / (2 * len(features))))
        return result + math.log(1.0 - AFTER_OUTSIDE)
