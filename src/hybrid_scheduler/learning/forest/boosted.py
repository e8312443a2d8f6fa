"""Gradient-boosted trees of XGBoost's in the forest's array, so that the same compiled policy decides with them.

After Chen, Guestrin, "XGBoost: A scalable tree boosting system", KDD 2016. XGBoost is an extra; it trains, and is not
needed to predict, save or load.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.forest.forest import Forest, ForestSettings
from hybrid_scheduler.learning.forest.predict import Floats32, add_tree_rows, pack_tree, tree_depths
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray

FIRST: Final = 0.75
"""Share of the places that a training from scratch fills; the others are for trees that are added later."""
SAMPLE: Final = 0.75
"""Share of the rows that a training looks at; the others judge it."""
LEARNING_RATE: Final = 0.2
DEEPEST: Final = 8
"""Boosted trees are many small steps: deeper ones take long and are no better."""

Tree = tuple[FloatArray, FloatArray]
"""The words and the leaves' values of one tree."""


class BoostedForest(Forest):
    """Trees that add up, each trained on what those before it got wrong; all outputs share the trees.

    A `Forest` predicts the mean over its places, so a leaf's value is its part of the sum times the number of places;
    the values of the first tree include the mean of the targets, and a place not in use has one leaf of 0. A split is
    ``x < threshold`` in XGBoost and ``x <= threshold`` here: thresholds are the next smaller numbers.

    Attributes:
        used: Places in use.
    """

    predictor = "xgboost"

    def __init__(self, settings: ForestSettings, features: int, outputs: int, seed: int = 0, prefix: int = 0) -> None:
        if settings.n_estimators < 2:
            raise InvalidInputError(f"n_estimators is {settings.n_estimators}, but boosting needs at least 2 trees")
        super().__init__(settings, features, outputs, seed, prefix)
        self.used = 0

    def grow(self, x: FloatArray, y: FloatArray, trees: Iterable[int] | None = None, *, judges: int = 0) -> FloatArray:
        """Train from scratch, or add trees to what there is.

        Added trees stay only if the whole is no worse with them on the judges, among the rows the training did not
        look at. Where they do not, or no place is free, the latest trees are replaced by new ones, on the same
        condition.

        Args:
            x: One row of features each.
            y: One row of targets each; NaN where one is missing.
            trees: None: from scratch. Otherwise as many trees as these are added or replaced; which does not matter.
            judges: The first so many rows are judges; all when 0.

        Returns:
            What the trained trees say about the rows they were not trained on (NaN for the others and when no tree
            was any better).
        """
        rows, _ = self._checked(x, y)
        inside = self._sample(len(rows))
        judged = ~inside
        if 0 < judges < len(rows):
            judged[judges:] = False
        before = self.predict(rows) if self.used else None
        count = 0 if trees is None else min(len(list(trees)), self.trees - 1)
        self.tried = self.replaced = 0
        # An output without any value yet cannot be added to.
        if before is None or count == 0 or (np.isnan(before) & ~np.isnan(y)).any():
            known = ~np.isnan(y)
            means = np.where(known, y, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
            new = self._boost(rows, y, inside, np.tile(means, (len(rows), 1)), max(1, round(FIRST * self.trees)))
            words, values = new[0]
            self._put_trees(0, [(words, _single(values + self.trees * means)), *new[1:]])
        else:
            error = _squares(before - y, judged)
            for first in (self.used, self.used - count):
                if not 1 <= first <= self.trees - count:
                    continue
                margin = before - self._said(rows, [self.tree_arrays(tree) for tree in range(first, self.used)])
                new = self._boost(rows, y, inside, margin, count)
                if _squares(margin + self._said(rows, new) - y, judged) <= error:
                    self._put_trees(first, new)
                    break
        honest = np.full_like(y, np.nan)
        if self.replaced > 0:
            honest[~inside] = self.predict(rows[~inside])
            self.error_before = None if before is None else _mean_error(before - y, judged)
            self.error_after = _mean_error(honest - y, judged)
        return honest

    def header(self) -> dict[str, Any]:
        """What to save beside the trees."""
        return {**super().header(), "used": self.used}

    def restore(self, header: dict[str, Any]) -> None:
        """Go on from what was saved."""
        super().restore(header)
        self.used = int(header["used"])
        if not 1 <= self.used <= self.trees:
            raise ValueError(f"{self.used} of {self.trees} places are in use")

    def _sample(self, count: int) -> NDArray[np.bool_]:
        """The rows to train on, drawn anew each time; always at least one."""
        random = np.random.default_rng([self.seed % 2**31, self.grown])
        inside = np.zeros(count, np.bool_)
        inside[random.choice(count, int(np.ceil(SAMPLE * count)), replace=False)] = True
        return inside

    def _boost(
        self, rows: Floats32, y: FloatArray, inside: NDArray[np.bool_], margin: FloatArray, count: int
    ) -> list[Tree]:
        """Train so many trees on the rows of the sample, from the predictions in `margin` on."""
        import xgboost

        x, known = rows[inside], ~np.isnan(y[inside])
        targets = np.where(known, y[inside], 0.0)

        def squared_error(said: Any, _: object) -> tuple[FloatArray, FloatArray]:
            """Gradient and curvature; a target that is missing counts nowhere."""
            return np.where(known, said.reshape(targets.shape) - targets, 0.0), known.astype(np.float64)

        s = self.settings
        settings = {
            "tree_method": "hist",
            "multi_strategy": "multi_output_tree",
            "learning_rate": LEARNING_RATE,
            "max_depth": min(s.max_depth, DEEPEST),
            "min_child_weight": s.min_samples_leaf,
            "colsample_bynode": (s.max_features or self.features) / self.features,
            "seed": (self.seed + self.grown) % 2**31,
            "base_score": 0.0,
            "nthread": 1,
            "disable_default_eval_metric": True,
        }
        start = np.nan_to_num(margin[inside])
        data = xgboost.DMatrix(x, label=targets, base_margin=start, nthread=1)
        booster = xgboost.train(settings, data, count, obj=squared_error)
        self.grown += count
        self.tried += count
        return packed_trees(booster, self.features, self.trees)

    def _said(self, rows: Floats32, trees: list[Tree]) -> FloatArray:
        """What some trees add to the prediction of every row."""
        total, nobody = np.zeros((len(rows), self.outputs)), np.zeros(len(rows))
        for words, values in trees:
            add_tree_rows(words, values, rows, nobody, total, np.zeros(len(rows)))
        return total / self.trees

    def _put_trees(self, first: int, new: list[Tree]) -> None:
        """Put new trees into the places from `first` on; those behind them are free again."""
        for place in range(first, self.trees):
            words, values = new[place - first] if place - first < len(new) else self._empty()
            self.put_tree(place, words, values, int(tree_depths(words, np.array([len(words)]))[0]))
        self.used, self.replaced = first + len(new), len(new)

    def _empty(self) -> Tree:
        words = np.zeros(1)
        words.view(np.int32)[1] = self.features  # a leaf, its own child
        return words, np.zeros((1, self.outputs))


def packed_trees(booster: Any, features: int, places: int) -> list[Tree]:
    """The trees of an XGBoost model in the forest's format, for a forest of so many places."""
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    packed = []
    for tree in model["trees"]:
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        conditions = np.array(tree["split_conditions"], np.float32)
        below = np.nextafter(conditions, np.float32(-np.inf))
        words, leaves = pack_tree(np.array(tree["split_indices"]), below, left, right, features)
        outputs = max(1, int(tree["tree_param"]["size_leaf_vector"]))
        # A leaf of several values names their row in the place of its right child; one value is in that of a threshold.
        if outputs > 1:
            found = np.array(tree["leaf_weights"]).reshape(-1, outputs)[right[leaves]]
        else:
            found = conditions[leaves][:, None]
        packed.append((words, _single(places * np.asarray(found, np.float64))))
    return packed


def _single(values: FloatArray) -> FloatArray:
    """Rounded to single precision, in which values are saved."""
    return values.astype(np.float32).astype(np.float64)


def _squares(errors: FloatArray, rows: NDArray[np.bool_]) -> float:
    """The sum of squares over what is known."""
    return float(np.nansum(errors[rows] ** 2))


def _mean_error(errors: FloatArray, rows: NDArray[np.bool_]) -> float | None:
    """The mean absolute error over what is known."""
    known = errors[rows][np.isfinite(errors[rows])]
    return float(np.abs(known).mean()) if len(known) else None
