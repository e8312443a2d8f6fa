"""What a forest scheduler has learned: how long a task takes on every device, in the array its kernel decides on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from hybrid_scheduler.learning.features import FEATURES
from hybrid_scheduler.learning.forest.boosted import BoostedForest
from hybrid_scheduler.learning.forest.forest import Forest, ForestSettings
from hybrid_scheduler.learning.forest.option_search import (
    DEPTH,
    DEVICE_FIGURES,
    DEVICES,
    LEAF_ROOM,
    NODE_ROOM,
    OUTPUT,
    OUTPUTS,
    TABLE,
    TREES,
    TYPICAL,
)
from hybrid_scheduler.learning.forest.predict import check_forest, tree_depths
from hybrid_scheduler.learning.model_file import Arrays
from hybrid_scheduler.model.errors import UnknownNameError
from hybrid_scheduler.model.task import FloatArray, IntArray

PREDICTORS: Final[dict[str, type[Forest]]] = {each.predictor: each for each in (Forest, BoostedForest)}
"""The kinds of trees, by name."""


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """One state of a model.

    Attributes:
        number: Counts from 1.
        rows: Labelled tasks it was grown on.
        trees: Trees that were grown anew and are better than, or at least as good as, those they replace.
        r2: Share of the variance of the log seconds that was predicted before the labels were known: out of the bag
            for the first version, on the window for a refresh. NaN when there was nothing to compare.
        mae: Mean absolute error of the seconds, measured likewise.
        reason: `fit`, `interval`, `few rows` or `drift`.
    """

    number: int
    rows: int
    trees: int
    r2: float
    mae: float
    reason: str


def log_seconds(seconds: FloatArray) -> FloatArray:
    """The targets: logarithms, because tasks differ by orders of magnitude and a decision depends on ratios."""
    return np.log(np.maximum(seconds, 1e-12))


def score(targets: FloatArray, predicted: FloatArray) -> tuple[float, float]:
    """R² of log seconds and mean absolute error of seconds, where both are known; NaN when nothing is."""
    both = np.isfinite(targets) & np.isfinite(predicted)
    if both.sum() < 2:
        return np.nan, np.nan
    y, p = targets[both], predicted[both]
    spread = float(((y - y.mean()) ** 2).sum())
    r2 = 1.0 - float(((y - p) ** 2).sum()) / spread if spread > 0.0 else np.nan
    return r2, float(np.abs(np.exp(y) - np.exp(p)).mean())


class TimeModel:
    """A forest with one output per kind of device that the labels tell apart.

    Devices whose labels are all alike share an output, so four like GPUs cost one; the first label that tells them
    apart gives each its own.

    Args:
        settings: What the forest is like.
        devices: How many devices there are.
        seed: Decides every sample.
        front: The header of the scheduler's state, carried over.
        predictor: What kind of trees: `forest` (each for itself, their mean) or `xgboost` (boosted, their sum).
    """

    def __init__(
        self, settings: ForestSettings, devices: int, seed: int, front: FloatArray, predictor: str = "forest"
    ) -> None:
        if predictor not in PREDICTORS:
            raise UnknownNameError("predictor", predictor, PREDICTORS)
        self.groups: IntArray = np.zeros(devices, np.int64)
        self.forest = PREDICTORS[predictor](settings, FEATURES, 1, seed, prefix=TABLE + DEVICE_FIGURES * devices)
        self.forest.buffer[:TABLE] = front[:TABLE]

    @property
    def devices(self) -> int:
        """How many devices it knows."""
        return len(self.groups)

    @property
    def state(self) -> FloatArray:
        """The array the kernel decides on."""
        return self.forest.buffer

    def grow(self, x: FloatArray, y: FloatArray, trees: Iterable[int] | None = None, *, judges: int = 0) -> FloatArray:
        """Grow these trees, or all, from features and log seconds per device; returns honest predictions of the rows.

        See `Forest.grow`.
        """
        if trees is None:
            self._set_groups(_alike(y))
        else:
            self.tell_apart(y)
        said = self.forest.grow(x, y[:, self._representatives()], trees, judges=judges)
        self.describe()
        self._table[:, TYPICAL] = _typical(y)
        return said[:, self.groups]

    def predict(self, x: FloatArray) -> FloatArray:
        """Log seconds, one row per row of features, one column per device."""
        return self.forest.predict(x)[:, self.groups]

    def tell_apart(self, y: FloatArray) -> None:
        """Give devices that share an output but differ in these rows outputs of their own."""
        finer = _alike(np.vstack([y, self.groups.astype(np.float64)]))
        if finer.max() > self.groups.max():
            sources = np.array([self.groups[np.flatnonzero(finer == g)[0]] for g in range(finer.max() + 1)])
            self.forest.take_outputs(sources)
            self.groups = finer
            self.describe()

    def describe(self) -> None:
        """Write what the kernel needs to know about the forest into the state."""
        forest, state = self.forest, self.state
        state[[TREES, NODE_ROOM, LEAF_ROOM, OUTPUTS, DEPTH, DEVICES]] = (
            forest.trees,
            forest.node_room,
            forest.leaf_room,
            forest.outputs,
            forest.depth,
            self.devices,
        )
        self._table[:, OUTPUT] = self.groups

    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """Everything there is to save: plain figures, and arrays."""
        forest = self.forest
        trees = [forest.tree_arrays(tree) for tree in range(forest.trees)]
        halves = np.concatenate([words for words, _ in trees]).view(np.int32)
        return forest.header(), {
            "groups": self.groups,
            "usual": self._table[:, TYPICAL].copy(),
            "nodes": forest.nodes,
            "leaves": forest.leaves,
            "depths": forest.depths,
            "thresholds": halves[0::2].copy(),
            "links": halves[1::2].copy(),
            # The leaves' values are rounded to this precision when they are grown.
            "values": np.concatenate([values for _, values in trees]).astype(np.float32),
        }

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Arrays, front: FloatArray) -> Self:
        """The model that `to_arrays` took apart.

        Raises:
            KeyError, TypeError, ValueError, IndexError: Something is missing or does not fit together.
        """
        settings, groups = ForestSettings(**header["settings"]), arrays["groups"].astype(np.int64)
        words = np.empty(len(arrays["links"]))
        words.view(np.int32)[0::2], words.view(np.int32)[1::2] = arrays["thresholds"], arrays["links"]
        values, outputs = arrays["values"].astype(np.float64), arrays["values"].shape[1]
        nodes, leaves = arrays["nodes"].astype(np.int64), arrays["leaves"].astype(np.int64)
        check_forest(words, values, nodes, leaves, FEATURES, settings.n_estimators, outputs)
        if groups.min() < 0 or groups.max() >= outputs:
            raise ValueError("a device has an output that the trees do not have")
        # Not those of the file: too few steps would end beside the leaves.
        depths = tree_depths(words, nodes)
        if depths.max() > settings.max_depth:
            raise ValueError(f"a tree has {depths.max()} splits on a path, not {settings.max_depth} at most")
        model = cls(settings, len(groups), int(header["seed"]), front, header.get("predictor", "forest"))
        model.groups, forest = groups, model.forest
        forest.take_outputs(np.zeros(outputs, np.int64))
        first = np.concatenate([[0], np.cumsum(nodes)])
        leaf = np.concatenate([[0], np.cumsum(leaves)])
        for tree in range(forest.trees):
            own = words[first[tree] : first[tree + 1]], values[leaf[tree] : leaf[tree + 1]]
            forest.put_tree(tree, *own, int(depths[tree]))
        forest.restore(header)
        model._table[:, TYPICAL] = arrays["usual"]
        model.describe()
        return model

    @property
    def _table(self) -> FloatArray:
        return self.state[TABLE : TABLE + DEVICE_FIGURES * self.devices].reshape(self.devices, DEVICE_FIGURES)

    def _set_groups(self, groups: IntArray) -> None:
        """Let devices share outputs like this; each new output begins as that of its first device."""
        old, self.groups = self.groups, groups
        if not np.array_equal(old, groups):
            self.forest.take_outputs(old[self._representatives()])

    def _representatives(self) -> IntArray:
        return np.array([np.flatnonzero(self.groups == g)[0] for g in range(self.groups.max() + 1)])


def _alike(y: FloatArray) -> IntArray:
    """A number for every column, the same for columns that are equal, counting from 0 in order of appearance."""
    groups = np.zeros(y.shape[1], np.int64)
    numbers: dict[bytes, int] = {}
    for d in range(y.shape[1]):
        groups[d] = numbers.setdefault(np.ascontiguousarray(y[:, d]).tobytes(), len(numbers))
    return groups


def _typical(y: FloatArray) -> FloatArray:
    """What the fastest device takes on average, each device's part of it: the yardstick of all goals."""
    complete = np.where(np.isnan(y), np.inf, y)
    seconds, fastest = np.exp(complete.min(axis=1)), complete.argmin(axis=1)
    result: FloatArray = np.bincount(fastest, seconds, minlength=y.shape[1]) / len(y)
    return result
