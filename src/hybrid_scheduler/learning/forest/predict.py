"""Trees as flat arrays, and the compiled loop that predicts with them.

A node is one 8-byte word of a float64 array, so that a forest fits into the `state` of a compiled policy. Seen as two
32-bit halves (`view`), the first is the threshold (float32), the second ``child << FEATURE_BITS | feature``: a task
with ``x[feature] <= threshold`` goes to the node `child`, any other to the one after it. Nodes are numbered within
their tree. A leaf carries as its feature the place behind the last one, where the loop keeps minus infinity, and
itself as its child: so a descent may take more steps than a tree is deep, and needs no test for leaves. The first half
of a leaf is the row of its values.
"""

from __future__ import annotations

from typing import Any, Final

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.model.task import FloatArray, IntArray

FEATURE_BITS: Final = 8
FEATURE_MASK: Final = (1 << FEATURE_BITS) - 1
MOST_FEATURES: Final = FEATURE_MASK
MOST_NODES: Final = 1 << (31 - FEATURE_BITS)
MOST_ROOM: Final = 1 << 24
"""Words that a forest from a file may take whatever its size is."""

Floats32 = NDArray[np.float32]
Ints32 = NDArray[np.int32]


@nb.njit(cache=True)
def add_forest(
    nodes: FloatArray,
    values: FloatArray,
    trees: int,
    node_room: int,
    leaf_room: int,
    outputs: int,
    depth: int,
    x: Floats32,
    total: FloatArray,
) -> None:
    """Add every tree's values for one task to `total`.

    Four trees are descended at a time: each step waits for a load, and four waits overlap.

    Args:
        nodes: The trees' nodes, `node_room` words each.
        values: The leaves' values, `leaf_room` rows of `outputs` numbers per tree.
        trees: How many trees.
        node_room: Words between the first nodes of two trees.
        leaf_room: Rows between the first leaves of two trees.
        outputs: Values per leaf.
        depth: Steps that reach the deepest leaf.
        x: The features, and minus infinity behind the last.
        total: Gets the sums, one per output.
    """
    words = nodes.view(np.int32)
    thresholds = nodes.view(np.float32)
    tree = 0
    while tree + 4 <= trees:
        base0 = tree * node_room
        base1, base2, base3 = base0 + node_room, base0 + 2 * node_room, base0 + 3 * node_room
        n0, n1, n2, n3 = base0, base1, base2, base3
        for _ in range(depth):
            w0, w1, w2, w3 = words[2 * n0 + 1], words[2 * n1 + 1], words[2 * n2 + 1], words[2 * n3 + 1]
            n0 = base0 + (w0 >> FEATURE_BITS) + (x[w0 & FEATURE_MASK] > thresholds[2 * n0])
            n1 = base1 + (w1 >> FEATURE_BITS) + (x[w1 & FEATURE_MASK] > thresholds[2 * n1])
            n2 = base2 + (w2 >> FEATURE_BITS) + (x[w2 & FEATURE_MASK] > thresholds[2 * n2])
            n3 = base3 + (w3 >> FEATURE_BITS) + (x[w3 & FEATURE_MASK] > thresholds[2 * n3])
        v0 = (tree * leaf_room + words[2 * n0]) * outputs
        v1 = ((tree + 1) * leaf_room + words[2 * n1]) * outputs
        v2 = ((tree + 2) * leaf_room + words[2 * n2]) * outputs
        v3 = ((tree + 3) * leaf_room + words[2 * n3]) * outputs
        for k in range(outputs):
            total[k] += values[v0 + k] + values[v1 + k] + values[v2 + k] + values[v3 + k]
        tree += 4
    while tree < trees:
        add_tree(words, thresholds, values, tree * node_room, tree * leaf_room, outputs, x, total)
        tree += 1


@nb.njit(cache=True)
def add_tree(
    words: Ints32,
    thresholds: Floats32,
    values: FloatArray,
    base: int,
    first_leaf: int,
    outputs: int,
    x: Floats32,
    total: FloatArray,
) -> None:
    """Add one tree's values for one task to `total`; the nodes begin at `base`, the leaves' rows at `first_leaf`."""
    node = base
    while True:
        word = words[2 * node + 1]
        child = base + (word >> FEATURE_BITS)
        if child == node:
            break
        node = child + (x[word & FEATURE_MASK] > thresholds[2 * node])
    row = (first_leaf + words[2 * node]) * outputs
    for k in range(outputs):
        total[k] += values[row + k]


@nb.njit(cache=True)
def predict_rows(
    nodes: FloatArray,
    values: FloatArray,
    trees: int,
    node_room: int,
    leaf_room: int,
    outputs: int,
    depth: int,
    rows: Floats32,
) -> FloatArray:
    """The mean over the trees for many tasks: shape (rows, outputs)."""
    result = np.zeros((rows.shape[0], outputs))
    x = np.full(rows.shape[1] + 1, -np.inf, np.float32)
    for i in range(rows.shape[0]):
        x[:-1] = rows[i]
        add_forest(nodes, values, trees, node_room, leaf_room, outputs, depth, x, result[i])
    return result / trees


@nb.njit(cache=True)
def add_tree_rows(
    words: FloatArray,
    values: FloatArray,
    rows: Floats32,
    bag: FloatArray,
    total: FloatArray,
    count: FloatArray,
) -> None:
    """Add what one tree says about the rows that are not in its bag to `total`, and 1 to their `count`."""
    flat = values.reshape(-1)
    x = np.full(rows.shape[1] + 1, -np.inf, np.float32)
    for i in range(rows.shape[0]):
        if bag[i] == 0.0:
            x[:-1] = rows[i]
            add_tree(words.view(np.int32), words.view(np.float32), flat, 0, 0, values.shape[1], x, total[i])
            count[i] += 1.0


@nb.njit(cache=True)
def tree_error(words: FloatArray, values: FloatArray, rows: Floats32, y: FloatArray, bag: FloatArray) -> float:
    """Squared error of one tree on those of the rows that are not in the bag, over the targets that are known."""
    said, asked = np.zeros((rows.shape[0], values.shape[1])), np.zeros(rows.shape[0])
    add_tree_rows(words, values, rows, bag, said, asked)
    error = 0.0
    for i in range(rows.shape[0]):
        for k in range(values.shape[1]):
            if asked[i] > 0.0 and not np.isnan(y[i, k]):
                error += (said[i, k] - y[i, k]) ** 2
    return error


def pack_tree(feature: Any, threshold: Any, left: Any, right: Any, features: int) -> tuple[FloatArray, Any]:
    """Lay a tree in scikit-learn's arrays (`left` is -1 at a leaf) out as words.

    A threshold is rounded down to float32, which leaves every comparison with a float32 feature as it was. Children
    become neighbours.

    Returns:
        The words, and for every leaf row the number of the node it had before.
    """
    count = len(feature)
    place = np.zeros(count, np.int64)
    order = [0]
    for node in order:
        if left[node] >= 0:
            place[left[node]] = len(order)
            place[right[node]] = len(order) + 1
            order += [int(left[node]), int(right[node])]
    leaf = np.asarray(left) < 0
    leaves = np.flatnonzero(leaf)
    down = np.asarray(threshold, dtype=np.float32)
    down = np.where(down > threshold, np.nextafter(down, np.float32(-np.inf)), down).astype(np.float32)
    words = np.zeros(count)
    halves, floats = words.view(np.int32), words.view(np.float32)
    floats[2 * place] = down
    halves[2 * place[leaves]] = np.arange(len(leaves))
    child = np.where(leaf, place, place[left])
    halves[2 * place + 1] = child << FEATURE_BITS | np.where(leaf, features, feature)
    return words, leaves


@nb.njit(cache=True)
def tree_depths(words: FloatArray, nodes: IntArray) -> IntArray:
    """Splits on the longest path of each tree; every child must come after its parent."""
    links = words.view(np.int32)
    result = np.zeros(len(nodes), np.int64)
    first = 0
    for tree in range(len(nodes)):
        depths = np.zeros(nodes[tree], np.int64)
        for node in range(nodes[tree]):
            child = links[2 * (first + node) + 1] >> FEATURE_BITS
            if child != node:
                for reached in (child, child + 1):
                    depths[reached] = max(depths[reached], depths[node] + 1)
        result[tree] = depths.max()
        first += nodes[tree]
    return result


def check_forest(
    words: FloatArray, values: FloatArray, nodes: Any, leaves: Any, features: int, trees: int, outputs: int
) -> None:
    """Refuse trees that the loop, which checks nothing, could fall out of.

    Raises:
        ValueError: They are not trees.
    """
    if min(nodes.min(), leaves.min()) < 1:
        raise ValueError("a tree has no nodes or no leaves")
    if len(nodes) != trees or len(leaves) != trees or nodes.sum() != len(words) or leaves.sum() != len(values):
        raise ValueError("the trees' sizes do not add up")
    # Laid out, every tree has as much room as the largest.
    if trees * (nodes.max() + leaves.max() * outputs) > MOST_ROOM + 20 * (len(words) + values.size):
        raise ValueError("a tree is far larger than the others")
    if values.shape[1:] != (outputs,):
        raise ValueError(f"the leaves have values of shape {values.shape[1:]}, not {(outputs,)}")
    links, rows = words.view(np.int32)[1::2], words.view(np.int32)[0::2]
    child, feature = links >> FEATURE_BITS, links & FEATURE_MASK
    own = np.arange(len(words)) - np.repeat(np.cumsum(nodes) - nodes, nodes)
    leaf = feature == features
    inner = ~leaf & (feature < features) & (child > own) & (child + 1 < np.repeat(nodes, nodes))
    last = leaf & (child == own) & (rows >= 0) & (rows < np.repeat(leaves, nodes))
    if not (inner | last).all():
        raise ValueError("a node points outside its tree")
