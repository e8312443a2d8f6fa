from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.learning.forest.forest import Forest, ForestSettings
from hybrid_scheduler.learning.forest.predict import FEATURE_BITS, FEATURE_MASK, add_tree_rows, check_forest
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.task import FloatArray


def rows(count: int, seed: int = 0, noise: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Features in [0, 1) and two targets that depend on three of them."""
    random = np.random.default_rng(seed)
    x = random.random((count, 4))
    y = np.column_stack([np.sin(5.0 * x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]])
    return x, y + noise * random.standard_normal(y.shape)


def grown(x: FloatArray, y: FloatArray, seed: int = 0, **settings: int) -> Forest:
    forest = Forest(ForestSettings(**{"n_estimators": 30, **settings}), x.shape[1], y.shape[1], seed)
    forest.grow(x, y)
    return forest


def walk_slowly(forest: Forest, tree: int, x: FloatArray) -> tuple[FloatArray, int]:
    """The definition of a walk in plain Python: the values of the leaf, and how deep it is."""
    words, values = forest.tree_arrays(tree)
    halves, floats = words.view(np.int32), words.view(np.float32)
    node, depth = 0, 0
    while (halves[2 * node + 1] & FEATURE_MASK) < forest.features:
        feature, child = halves[2 * node + 1] & FEATURE_MASK, halves[2 * node + 1] >> FEATURE_BITS
        node = int(child) + (0 if np.float32(x[feature]) <= floats[2 * node] else 1)
        depth += 1
    return values[halves[2 * node]], depth


@pytest.mark.parametrize("trees", [1, 4, 7])
def test_prediction_is_the_mean_over_the_leaves(trees: int) -> None:
    x, y = rows(300)
    forest = grown(x, y, n_estimators=trees)
    for point in rows(20, seed=9)[0]:
        expected = np.mean([walk_slowly(forest, tree, point)[0] for tree in range(trees)], axis=0)
        assert forest.predict(point[None, :])[0] == pytest.approx(expected, abs=1e-12)


def test_it_is_as_accurate_as_scikit_learn() -> None:
    from sklearn.ensemble import RandomForestRegressor

    x, y = rows(800, noise=0.05)
    x_new, y_new = rows(400, seed=1)
    theirs = RandomForestRegressor(30, max_depth=12, min_samples_leaf=2, random_state=0).fit(x, y)
    their_error = np.abs(theirs.predict(x_new) - y_new).mean()
    own_error = np.abs(grown(x, y, max_depth=12, min_samples_leaf=2).predict(x_new) - y_new).mean()
    assert own_error < 1.1 * their_error


def test_one_tree_finds_the_best_split() -> None:
    x = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 4.0], [3.0, 1.0]] * 10)
    y = np.where(x[:, :1] < 1.5, 1.0, 7.0)
    forest = grown(x, y, n_estimators=1, max_depth=1)
    words, values = forest.tree_arrays(0)
    assert words.view(np.int32)[1] & FEATURE_MASK == 0
    assert words.view(np.float32)[0] == 1.5
    assert sorted(values.ravel()) == [1.0, 7.0]


def test_depth_and_leaf_sizes_are_kept() -> None:
    x, y = rows(400)
    forest = grown(x, y, max_depth=4, min_samples_leaf=20)
    assert forest.depth <= 4
    assert all(walk_slowly(forest, 0, point)[1] <= 4 for point in x[:50])
    assert max(forest.leaves) <= 400 // 20
    assert grown(x, y, max_depth=15, min_samples_leaf=1).leaves.max() > 100


def test_same_seed_same_forest_other_seed_another() -> None:
    x, y = rows(200)
    one, two, other = grown(x, y, seed=5), grown(x, y, seed=5), grown(x, y, seed=6)
    assert np.array_equal(one.buffer, two.buffer)
    assert not np.array_equal(one.predict(x), other.predict(x))


def test_a_subset_of_features_gives_other_trees() -> None:
    x, y = rows(200)
    assert not np.array_equal(grown(x, y).predict(x), grown(x, y, max_features=1).predict(x))


def test_regrowing_touches_only_the_trees_named() -> None:
    x, y = rows(200)
    forest = grown(x, y, n_estimators=6)
    before = [tuple(part.copy() for part in forest.tree_arrays(tree)) for tree in range(6)]
    forest.grow(*rows(500, seed=3), [1, 4])  # larger trees: the buffer is laid out anew
    for tree in range(6):
        words, values = forest.tree_arrays(tree)
        same = np.array_equal(words, before[tree][0]) and np.array_equal(values, before[tree][1])
        assert same == (tree not in (1, 4))


def test_judges_keep_the_better_tree() -> None:
    x, y = rows(2000)
    forest = grown(x, y, n_estimators=8)
    before = forest.buffer.copy()
    few = rows(100, seed=4)
    forest.grow(*few, range(8), judges=100)
    assert forest.replaced == 0
    assert np.array_equal(forest.buffer, before)
    forest.grow(few[0], few[1] + 1.0, range(8), judges=100)
    assert forest.replaced == 8


def test_rows_outside_the_sample_are_predicted_honestly() -> None:
    x, y = rows(500, noise=0.3)
    forest = Forest(ForestSettings(n_estimators=40, min_samples_leaf=1), 4, 2)
    honest = forest.grow(x, y)
    x_new, y_new = rows(500, seed=2, noise=0.3)
    new_error = ((forest.predict(x_new) - y_new) ** 2).mean()
    assert ((honest - y) ** 2).mean() == pytest.approx(new_error, rel=0.2)
    assert ((forest.predict(x) - y) ** 2).mean() < 0.5 * new_error


def test_the_errors_of_a_regrowth_are_those_of_the_whole_forest_outside_the_samples() -> None:
    """Two of eight trees are regrown; the samples are told by growing the same trees in a forest of their own."""
    x, y = rows(300, noise=0.3)
    forest = grown(x, y, n_estimators=8)
    assert forest.error_before is None
    assert forest.error_after == pytest.approx(np.nanmean(np.abs(Forest(forest.settings, 4, 2).grow(x, y) - y)))
    before, x, y = forest.predict(rows(200, seed=3)[0]), *rows(200, seed=3)
    old = [tuple(part.copy() for part in forest.tree_arrays(tree)) for tree in (0, 1)]
    forest.grow(x, y + 1.0, [0, 1])
    total, asked = 8.0 * before, np.zeros(200)
    for tree, (words, values) in enumerate(old):
        alone = Forest(ForestSettings(1, forest.settings.max_depth, forest.settings.min_samples_leaf), 4, 2)
        alone.grown = 8 + tree
        honest = alone.grow(x, y + 1.0)  # NaN for the rows of its sample
        outside = ~np.isnan(honest[:, 0])
        said = np.zeros((200, 2))
        add_tree_rows(words, values, x.astype(np.float32), np.zeros(200), said, np.zeros(200))
        total += np.where(outside[:, None], honest, 0.0) - said
        asked += outside
    after, known = total / (6 + asked)[:, None], asked > 0
    assert 0 < known.sum() < 200
    assert forest.error_after == pytest.approx(np.abs(after - y - 1.0)[known].mean())
    assert forest.error_before == pytest.approx(np.abs(before - y - 1.0)[known].mean())


def test_missing_targets_count_nowhere() -> None:
    x, y = rows(600)
    holes = y.copy()
    holes[::2, 1] = np.nan
    forest = grown(x, holes)
    x_new, y_new = rows(300, seed=2)
    assert np.abs(forest.predict(x_new) - y_new).mean() < 1.5 * np.abs(grown(x, y).predict(x_new) - y_new).mean()


def test_an_output_never_seen_stays_unknown() -> None:
    x, y = rows(50)
    y[:, 1] = np.nan
    said = grown(x, y).predict(x)
    assert np.isfinite(said[:, 0]).all()
    assert np.isnan(said[:, 1]).all()


def test_with_and_without_missing_targets_the_same_splits_are_found() -> None:
    # Leaves of ten rows: between two rows every feature splits equally well, and rounding decides.
    x, y = rows(300)
    unknown = np.full((len(y), 1), np.nan)
    partial = grown(x, np.hstack([y, unknown]), min_samples_leaf=10)
    assert partial.predict(x)[:, :2] == pytest.approx(grown(x, y, min_samples_leaf=10).predict(x), abs=1e-6)


def test_one_row_is_enough() -> None:
    forest = grown(np.array([[1.0, 2.0]]), np.array([[3.0]]), min_samples_leaf=3)
    assert forest.predict(np.array([[9.0, 9.0]])).tolist() == [[3.0]]


def test_outputs_can_be_taken_several_times() -> None:
    x, y = rows(100)
    forest = grown(x, y)
    before = forest.predict(x)
    forest.take_outputs(np.array([1, 0, 1]))
    assert np.array_equal(forest.predict(x), before[:, [1, 0, 1]])


def test_trees_with_links_that_lead_nowhere_are_refused() -> None:
    x, y = rows(100)
    forest = grown(x, y, n_estimators=1)
    words, values = (part.copy() for part in forest.tree_arrays(0))
    shape = (np.array([len(words)]), np.array([len(values)]), 4, 1, 2)
    check_forest(words, values, *shape)
    words.view(np.int32)[1] = 10**6 << FEATURE_BITS
    with pytest.raises(ValueError, match="outside its tree"):
        check_forest(words, values, *shape)


@pytest.mark.parametrize(("setting", "value"), [("n_estimators", 0), ("max_depth", 99), ("min_samples_leaf", 1.5)])
def test_settings_out_of_range_are_named(setting: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=setting):
        ForestSettings(**{setting: value})  # type: ignore[arg-type]


def test_rows_of_the_wrong_shape_are_refused() -> None:
    forest = Forest(ForestSettings(2), 4, 2)
    with pytest.raises(InvalidInputError, match="x has shape"):
        forest.grow(np.zeros((3, 5)), np.zeros((3, 2)))
    with pytest.raises(InvalidInputError, match="y has shape"):
        forest.grow(np.zeros((3, 4)), np.zeros((3, 1)))
    with pytest.raises(InvalidInputError, match="not finite"):
        forest.grow(np.full((3, 4), np.nan), np.zeros((3, 2)))
