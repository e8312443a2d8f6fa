"""Growing regression trees, compiled.

Random forests after Breiman, "Random Forests", Machine Learning 45 (2001): every tree sees a bootstrap sample and, at
every node, a random subset of the features. A split is the one that lowers the variance of all outputs together the
most, found exactly: the rows are sorted by every feature once for all trees, and every node keeps its rows sorted by
stable partition, so a level of a tree costs one pass over the rows per feature.

A target may be missing (NaN): it then counts nowhere, and a leaf without any keeps the value of the node above it.
"""

from __future__ import annotations

from typing import Final

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.learning.forest.predict import FEATURE_BITS, Floats32, Ints32
from hybrid_scheduler.model.task import FloatArray, IntArray

Flags = NDArray[np.int8]
Seeds = NDArray[np.uint64]

LEAST_GAIN: Final = 1e-12
"""A split must lower the squared error by this share of the error at the root; less is rounding."""


@nb.njit(cache=True)
def draw(random: Seeds, below: int) -> int:
    """The next number in [0, below) of the SplitMix64 sequence in `random[0]` (Steele, Lea, Flood, OOPSLA 2014)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return int((z >> np.uint64(32)) * np.uint64(below) >> np.uint64(32))


@nb.njit(cache=True)
def _explained(sums: FloatArray, counts: FloatArray, at: int) -> float:
    """The part of the squared error that the means of a node explain; counts of 0 explain nothing."""
    result = 0.0
    for k in range(sums.shape[1]):
        if counts[at, k] > 0.0:
            result += sums[at, k] * sums[at, k] / counts[at, k]
    return result


@nb.njit(cache=True, error_model="numpy")
def _scan_complete(
    rows: Ints32,
    x: Floats32,
    weight: FloatArray,
    products: FloatArray,
    sums: FloatArray,
    at: int,
    total: float,
    min_leaf: float,
    left: FloatArray,
) -> tuple[float, int]:
    """Best score of a split of these rows, sorted by x, and how many go left; every target is known."""
    outputs = sums.shape[1]
    best, best_at, count = -1.0, -1, 0.0
    for k in range(outputs):
        left[k] = 0.0
    following = x[rows[0]]
    for i in range(len(rows) - 1):
        row = rows[i]
        count += weight[row]
        explained_left, explained_right = 0.0, 0.0
        for k in range(outputs):
            sum_left = left[k] + products[row, k]
            left[k] = sum_left
            sum_right = sums[at, k] - sum_left
            explained_left += sum_left * sum_left
            explained_right += sum_right * sum_right
        current, following = following, x[rows[i + 1]]
        rest = total - count
        score = (explained_left * rest + explained_right * count) / (count * rest)
        if score > best and current != following and count >= min_leaf and rest >= min_leaf:
            best, best_at = score, i + 1
    return best, best_at


@nb.njit(cache=True, error_model="numpy")
def _scan_partial(
    rows: Ints32,
    x: Floats32,
    weight: FloatArray,
    known: FloatArray,
    products: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    at: int,
    total: float,
    min_leaf: float,
    left: FloatArray,
    left_counts: FloatArray,
) -> tuple[float, int]:
    """As `_scan_complete`, each output counting only the rows where it is known."""
    outputs = sums.shape[1]
    best, best_at, count = -1.0, -1, 0.0
    for k in range(outputs):
        left[k], left_counts[k] = 0.0, 0.0
    for i in range(len(rows) - 1):
        row = rows[i]
        count += weight[row]
        score = 0.0
        for k in range(outputs):
            left[k] += products[row, k]
            left_counts[k] += known[row, k]
            if left_counts[k] > 0.0:
                score += left[k] * left[k] / left_counts[k]
            rest = counts[at, k] - left_counts[k]
            if rest > 0.0:
                score += (sums[at, k] - left[k]) ** 2 / rest
        if score > best and x[row] != x[rows[i + 1]] and count >= min_leaf and total - count >= min_leaf:
            best, best_at = score, i + 1
    return best, best_at


@nb.njit(cache=True)
def _between(low: np.float32, high: np.float32) -> np.float32:
    """A threshold that tells the two apart: about halfway, but never as large as `high`."""
    middle = np.float32(0.5 * (np.float64(low) + np.float64(high)))
    return middle if middle < high else low


@nb.njit(cache=True)
def _partition(lists: Ints32, sorted_by: int, first: int, middle: int, last: int, left: Flags, spare: Ints32) -> None:
    """Put the rows that go left before the others in every list, keeping their order."""
    for i in range(first, middle):
        left[lists[sorted_by, i]] = 1
    for i in range(middle, last):
        left[lists[sorted_by, i]] = 0
    for f in range(lists.shape[0]):
        if f == sorted_by:
            continue
        kept, put_aside = first, 0
        for i in range(first, last):
            row = lists[f, i]
            # Both are written and one of the two places moves on: again no branch.
            lists[f, kept] = row
            spare[put_aside] = row
            step = int(left[row])
            kept += step
            put_aside += 1 - step
        for i in range(put_aside):
            lists[f, kept + i] = spare[i]


@nb.njit(cache=True)
def _bootstrap(
    x: Floats32, order: Ints32, y: FloatArray, random: Seeds, bag: FloatArray
) -> tuple[Ints32, Floats32, FloatArray, FloatArray, FloatArray]:
    """Draw rows with replacement.

    The rows drawn are numbered anew in the order of the first feature, so that neighbours there are stored side by
    side.

    Returns:
        The rows sorted by every feature, their features, how often each was drawn, the same per output (0 where the
        target is missing), and that times the target.
    """
    features, n = x.shape
    outputs = y.shape[1]
    bag[:] = 0.0
    for _ in range(n):
        bag[draw(random, n)] += 1.0
    # Written whether drawn or not, and the place moves on only if it was: no branch for the processor to guess wrong.
    number = np.empty(n, np.int32)
    m = 0
    for i in range(n):
        number[order[0, i]] = m
        m += bag[order[0, i]] > 0.0
    lists = np.empty((features, m + 1), np.int32)
    for f in range(features):
        j = 0
        for i in range(n):
            lists[f, j] = number[order[f, i]]
            j += bag[order[f, i]] > 0.0
    inside, weight = np.empty((features, m), np.float32), np.empty(m)
    known, products = np.zeros((m, outputs)), np.zeros((m, outputs))
    for row in range(n):
        if bag[row] > 0.0:
            i = number[row]
            weight[i] = bag[row]
            for f in range(features):
                inside[f, i] = x[f, row]
            for k in range(outputs):
                if not np.isnan(y[row, k]):
                    known[i, k] = bag[row]
                    products[i, k] = bag[row] * y[row, k]
    return lists, inside, weight, known, products


@nb.njit(cache=True)
def _best_split(
    lists: Ints32,
    inside: Floats32,
    weight: FloatArray,
    known: FloatArray,
    products: FloatArray,
    complete: bool,
    first: int,
    last: int,
    at: int,
    totals: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    least_gain: float,
    min_leaf: int,
    max_features: int,
    choice: IntArray,
    random: Seeds,
    scratch: FloatArray,
) -> tuple[int, int]:
    """The feature of the best split of the node on top of the stack (-1: none is worth it), and how many go left."""
    features = len(choice)
    best, best_at, best_feature = _explained(sums, counts, at) + least_gain, -1, -1
    tried = 0
    while tried < features and (tried < max_features or best_feature < 0):
        swap = tried + draw(random, features - tried)
        f, choice[swap] = choice[swap], choice[tried]
        choice[tried] = f
        tried += 1
        rows, x = lists[f, first:last], inside[f]
        if x[rows[0]] == x[rows[-1]]:
            continue
        if complete:
            score, cut = _scan_complete(rows, x, weight, products, sums, at, totals[at], min_leaf, scratch[0])
        else:
            score, cut = _scan_partial(
                rows,
                x,
                weight,
                known,
                products,
                sums,
                counts,
                at,
                totals[at],
                min_leaf,
                scratch[0],
                scratch[1],
            )
        if score > best:
            best, best_at, best_feature = score, cut, f
    return best_feature, best_at


@nb.njit(cache=True)
def _divide(
    rows: Ints32,
    weight: FloatArray,
    known: FloatArray,
    products: FloatArray,
    top: int,
    totals: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    mean: FloatArray,
) -> None:
    """Move what the rows that go left amount to from the top of the stack to a new place above it."""
    over, outputs = top + 1, sums.shape[1]
    totals[over] = 0.0
    for k in range(outputs):
        sums[over, k], counts[over, k], mean[over, k] = 0.0, 0.0, mean[top, k]
    for i in range(len(rows)):
        row = rows[i]
        totals[over] += weight[row]
        for k in range(outputs):
            sums[over, k] += products[row, k]
            counts[over, k] += known[row, k]
    totals[top] -= totals[over]
    for k in range(outputs):
        sums[top, k] -= sums[over, k]
        counts[top, k] -= counts[over, k]


@nb.njit(cache=True)
def _set_root(known: FloatArray, products: FloatArray, sums: FloatArray, counts: FloatArray) -> float:
    """Add everything up at the bottom of the stack; returns the squared error around the means."""
    error = 0.0
    for i in range(len(products)):
        for k in range(products.shape[1]):
            sums[0, k] += products[i, k]
            counts[0, k] += known[i, k]
            if known[i, k] > 0.0:
                error += products[i, k] * products[i, k] / known[i, k]
    return error - _explained(sums, counts, 0)


@nb.njit(cache=True)
def grow_tree(
    x: Floats32,
    order: Ints32,
    y: FloatArray,
    complete: bool,
    fallback: FloatArray,
    max_depth: int,
    min_leaf: int,
    max_features: int,
    seed: np.uint64,
    words: FloatArray,
    values: FloatArray,
    bag: FloatArray,
) -> tuple[int, int, int]:
    """Grow one tree.

    Args:
        x: Features, shape (features, rows).
        order: The rows sorted by every feature, same shape.
        y: Targets, shape (rows, outputs), NaN where one is not known.
        complete: Whether no target is missing.
        fallback: The value of each output at a root whose sample has none.
        max_depth: Splits on the longest path.
        min_leaf: Rows of the bootstrap sample that a leaf must have.
        max_features: Features looked at per node, drawn at random.
        seed: Decides the sample and the features.
        words: Gets the nodes (see `predict`); room for twice the leaves.
        values: Gets the leaves' values, shape (leaves, outputs); room for ``rows // min_leaf`` of them.
        bag: Gets how often each row was drawn.

    Returns:
        The number of nodes, of leaves, and the depth.
    """
    features, outputs, room = x.shape[0], y.shape[1], max_depth + 3
    halves, floats = words.view(np.int32), words.view(np.float32)
    random = np.array([seed], np.uint64)
    lists, inside, weight, known, products = _bootstrap(x, order, y, random, bag)
    m = len(weight)
    flags, spare = np.empty(m, np.int8), np.empty(m, np.int32)
    choice, scratch = np.arange(features), np.empty((2, outputs))
    # A stack of nodes: rows from, to, depth, number; their weight, sums, counts, and means (at first those above them).
    span, totals = np.empty((room, 4), np.int64), np.empty(room)
    sums, counts, mean = np.zeros((room, outputs)), np.zeros((room, outputs)), np.empty((room, outputs))
    span[0, 0], span[0, 1], span[0, 2], span[0, 3], totals[0] = 0, m, 0, 0, len(bag)
    mean[0] = fallback
    least_gain = LEAST_GAIN * _set_root(known, products, sums, counts)
    nodes, leaves, deepest, top = 1, 0, 0, 0
    while top >= 0:
        first, last, depth, node = span[top, 0], span[top, 1], span[top, 2], span[top, 3]
        deepest = max(deepest, depth)
        for k in range(outputs):
            if counts[top, k] > 0.0:
                mean[top, k] = np.float32(sums[top, k] / counts[top, k])
        feature, cut = -1, 0
        if depth < max_depth and totals[top] >= 2 * min_leaf:
            feature, cut = _best_split(
                lists, inside, weight, known, products, complete, first, last, top, totals, sums, counts,
                least_gain, min_leaf, max_features, choice, random, scratch,
            )  # fmt: skip
        if feature < 0:
            halves[2 * node], halves[2 * node + 1] = leaves, node << FEATURE_BITS | features
            for k in range(outputs):
                values[leaves, k] = mean[top, k]
            leaves += 1
            top -= 1
            continue
        middle = first + cut
        floats[2 * node] = _between(
            inside[feature, lists[feature, middle - 1]], inside[feature, lists[feature, middle]]
        )
        halves[2 * node + 1] = nodes << FEATURE_BITS | feature
        # The left child goes on top of the right one: its nodes follow at once.
        _divide(lists[feature, first:middle], weight, known, products, top, totals, sums, counts, mean)
        if depth + 1 < max_depth and max(totals[top], totals[top + 1]) >= 2 * min_leaf:
            _partition(lists, feature, first, middle, last, flags, spare)
        span[top, 0], span[top, 2], span[top, 3] = middle, depth + 1, nodes + 1
        top += 1
        span[top, 0], span[top, 1], span[top, 2], span[top, 3] = first, middle, depth + 1, nodes
        nodes += 2
    return nodes, leaves, deepest
