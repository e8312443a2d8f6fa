"""A random forest of our own: grown and asked by compiled code, tree by tree, in one flat array.

Why not scikit-learn's: a refresh regrows a few trees in a few milliseconds instead of all of them in hundreds, and the
array is the very `state` that a compiled policy reads. After Breiman, "Random Forests", Machine Learning 45 (2001).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from hybrid_scheduler.learning.forest.grow import grow_tree
from hybrid_scheduler.learning.forest.predict import (
    MOST_FEATURES,
    MOST_NODES,
    Floats32,
    add_tree_rows,
    predict_rows,
    tree_error,
)
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ForestSettings:
    """What a forest is like.

    Attributes:
        n_estimators: How many trees.
        max_depth: Splits on the longest path of a tree.
        min_samples_leaf: Rows of its sample that a leaf must have.
        max_features: Features looked at per node, drawn at random; 0 for all.
    """

    n_estimators: int = 100
    max_depth: int = 15
    min_samples_leaf: int = 1
    max_features: int = 0

    def __post_init__(self) -> None:
        limits = {
            "n_estimators": (1, 10_000),
            "max_depth": (1, 60),
            "min_samples_leaf": (1, 10**9),
            "max_features": (0, MOST_FEATURES),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and low <= value <= high):
                raise InvalidInputError(f"{name} is {value!r}, but it must be a whole number from {low} to {high}")


class Forest:
    """Regression trees for several outputs at once.

    Args:
        settings: What it is like.
        features: Columns of x.
        outputs: Columns of y.
        seed: Decides every sample; the same seed and rows give the same trees.
        prefix: Places at the front of `buffer` that belong to somebody else.

    Attributes:
        buffer: `prefix` places, then `node_room` words per tree, then `leaf_room` rows of values per tree (`predict`).
        grown: How many trees have been grown in all.
        tried: How many trees were grown last.
        replaced: How many of those were put in place.
        error_before: Mean absolute error of the whole forest before trees were last replaced, over the rows and outputs
            by which `error_after` is known; None if there was no forest yet or no such row.
        error_after: The same of the forest with the new trees, each of which speaks only about rows outside its own
            sample; None if there is no such row.
        depth: Steps that reach the deepest leaf.
    """

    predictor: ClassVar[str] = "forest"
    """What files and schedulers call this kind of trees."""

    def __init__(self, settings: ForestSettings, features: int, outputs: int, seed: int = 0, prefix: int = 0) -> None:
        if not 1 <= features <= MOST_FEATURES:
            raise InvalidInputError(f"there are {features} features, but a forest takes from 1 to {MOST_FEATURES}")
        self.settings, self.features, self.outputs, self.seed, self.prefix = settings, features, outputs, seed, prefix
        trees = settings.n_estimators
        self.node_room, self.leaf_room, self.depth = 1, 1, 0
        self.grown = self.tried = self.replaced = 0
        self.error_before: float | None = None
        self.error_after: float | None = None
        self.nodes = np.zeros(trees, np.int64)
        self.leaves = np.zeros(trees, np.int64)
        self.depths = np.zeros(trees, np.int64)
        self.buffer = np.zeros(prefix + trees * (1 + outputs))

    @property
    def trees(self) -> int:
        """How many trees."""
        return self.settings.n_estimators

    @property
    def words(self) -> FloatArray:
        """The nodes of all trees, a view into `buffer`."""
        return self.buffer[self.prefix : self.prefix + self.trees * self.node_room]

    @property
    def values(self) -> FloatArray:
        """The leaves' values of all trees, a view into `buffer`."""
        return self.buffer[self.prefix + self.trees * self.node_room :]

    def grow(self, x: FloatArray, y: FloatArray, trees: Iterable[int] | None = None, *, judges: int = 0) -> FloatArray:
        """Grow these trees, or all, on the rows given; the others stay as they are.

        Args:
            x: One row of features each.
            y: One row of targets each; NaN where one is missing.
            trees: Numbers of the trees.
            judges: When above 0, a tree is replaced only by one that is no worse on those of the first so many rows
                that are not in the new one's sample. A tree grown on many rows long ago is thus kept as long as it
                does well.

        Returns:
            What the new trees say about the rows that were not in their samples, on average: an honest prediction of
            every row (NaN for a row that was in all of them).
        """
        rows, columns = self._checked(x, y)
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
        complete = not bool(np.isnan(y).any())
        known = ~np.isnan(y)
        counts = known.sum(axis=0)
        fallback = np.where(counts > 0, np.where(known, y, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
        s = self.settings
        most = min(len(x) // s.min_samples_leaf + 1, 2**s.max_depth)
        words, values, bag = np.zeros(2 * most), np.zeros((most, self.outputs)), np.zeros(len(x))
        said, asked = np.zeros_like(y), np.zeros(len(x))
        judged, nobody = rows[:judges] if judges > 0 else rows, np.zeros(len(x))
        before, new = None, np.zeros((len(judged), self.outputs))
        self.tried = self.replaced = 0
        for tree in range(self.trees) if trees is None else trees:
            nodes, leaves, depth = grow_tree(
                columns,
                order,
                y,
                complete,
                fallback,
                s.max_depth,
                s.min_samples_leaf,
                s.max_features or self.features,
                np.uint64((self.seed % 2**31) * 2**32 + self.grown % 2**32),
                words,
                values,
                bag,
            )
            self.grown += 1
            self.tried += 1
            if judges > 0 and self.nodes[tree] > 0:
                old_words, old_values = self.tree_arrays(tree)
                old = tree_error(old_words, old_values, rows[:judges], y, bag)
                if tree_error(words, values, rows[:judges], y, bag) > old:
                    continue
            if self.replaced == 0 and self.nodes.all():
                before = self.predict(judged)
            add_tree_rows(words, values, rows, bag, said, asked)
            if trees is not None:
                add_tree_rows(words, values, judged, nobody, new, np.zeros(len(judged)))
            self._put(tree, words[:nodes], values[:leaves], depth)
            self.replaced += 1
        self.depth = int(self.depths.max())
        if self.replaced > 0:
            self._note_errors(judged, y[: len(judged)], before, new, said[: len(judged)], asked[: len(judged)])
        with np.errstate(invalid="ignore"):
            result: FloatArray = said / np.where(asked > 0, asked, np.nan)[:, None]
        return result

    def predict(self, x: FloatArray | Floats32) -> FloatArray:
        """The mean over the trees, one row per row of x, one column per output."""
        rows = np.ascontiguousarray(x, dtype=np.float32)
        result: FloatArray = predict_rows(
            self.words, self.values, self.trees, self.node_room, self.leaf_room, self.outputs, self.depth, rows
        )
        return result

    def _note_errors(
        self,
        rows: Floats32,
        y: FloatArray,
        before: FloatArray | None,
        new: FloatArray,
        outside: FloatArray,
        asked: FloatArray,
    ) -> None:
        """Measure what replacing trees was worth.

        Args:
            rows: Features.
            y: Targets.
            before: What the whole forest said before.
            new: The sums of what the new trees say.
            outside: The same, of those new trees whose sample a row was not in.
            asked: How many those are.
        """
        kept = self.trees - self.replaced
        old = self.predict(rows) * self.trees - new if kept else np.zeros_like(new)
        with np.errstate(invalid="ignore"):
            after = (old + outside) / np.where(asked > 0, kept + asked, np.nan)[:, None]
        known = np.isfinite(after) & np.isfinite(y)
        if before is not None:
            known &= np.isfinite(before)
        self.error_after = float(np.abs(after - y)[known].mean()) if known.any() else None
        self.error_before = float(np.abs(before - y)[known].mean()) if before is not None and known.any() else None

    def take_outputs(self, columns: IntArray) -> None:
        """Let the forest have these of its present outputs, in this order; one may be taken several times."""
        kept = self.values.reshape(-1, self.outputs)[:, columns]
        self.buffer = np.concatenate([self.buffer[: self.prefix + self.trees * self.node_room], kept.ravel()])
        self.outputs = len(columns)

    def tree_arrays(self, tree: int) -> tuple[FloatArray, FloatArray]:
        """The words and the values of one tree, as views."""
        first = tree * self.node_room
        leaves = self.values.reshape(-1, self.outputs)[tree * self.leaf_room :]
        return self.words[first : first + self.nodes[tree]], leaves[: self.leaves[tree]]

    def put_tree(self, tree: int, words: FloatArray, values: FloatArray, depth: int) -> None:
        """Replace one tree by another, e.g. one read from a file."""
        self._put(tree, words, values, depth)
        self.depth = int(self.depths.max())

    def header(self) -> dict[str, Any]:
        """What to save beside the trees, fit for JSON."""
        return {"predictor": self.predictor, "settings": asdict(self.settings), "seed": self.seed, "grown": self.grown}

    def restore(self, header: dict[str, Any]) -> None:
        """Go on from what was saved beside the trees."""
        self.grown = int(header["grown"])

    def _put(self, tree: int, words: FloatArray, values: FloatArray, depth: int) -> None:
        self._make_room(len(words), len(values))
        self.nodes[tree], self.leaves[tree], self.depths[tree] = len(words), len(values), depth
        own_words, own_values = self.tree_arrays(tree)
        own_words[:], own_values[:] = words, values

    def _make_room(self, nodes: int, leaves: int) -> None:
        """Lay the buffer out anew when a tree is larger than any before; a tenth more, so that it happens seldom."""
        if nodes <= self.node_room and leaves <= self.leaf_room:
            return
        old = [tuple(part.copy() for part in self.tree_arrays(tree)) for tree in range(self.trees)]
        self.node_room = max(self.node_room, nodes + nodes // 10)
        self.leaf_room = max(self.leaf_room, leaves + leaves // 10)
        if self.node_room >= MOST_NODES:
            raise InvalidInputError(f"a tree of {nodes} nodes is too large; raise min_samples_leaf")
        room = self.trees * (self.node_room + self.leaf_room * self.outputs)
        self.buffer = np.concatenate([self.buffer[: self.prefix], np.zeros(room)])
        for tree, (words, values) in enumerate(old):
            own_words, own_values = self.tree_arrays(tree)
            own_words[:], own_values[:] = words, values

    def _checked(self, x: FloatArray, y: FloatArray) -> tuple[Floats32, Floats32]:
        """The features as rows and as columns, in the precision the trees compare in."""
        if x.ndim != 2 or x.shape[1] != self.features or len(x) == 0:
            raise InvalidInputError(f"x has shape {x.shape}, but it must be (rows, {self.features}), rows above 0")
        if y.shape != (len(x), self.outputs):
            raise InvalidInputError(f"y has shape {y.shape}, but it must be {(len(x), self.outputs)}")
        rows = np.ascontiguousarray(x, dtype=np.float32)
        if not np.isfinite(rows).all():
            raise InvalidInputError("x holds a value that is not finite; remove the row or repair the value")
        return rows, np.ascontiguousarray(rows.T)
