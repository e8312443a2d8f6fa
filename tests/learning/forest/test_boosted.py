from __future__ import annotations

import numpy as np
import pytest
import xgboost

from hybrid_scheduler.learning.forest.boosted import BoostedForest, packed_trees
from hybrid_scheduler.learning.forest.forest import ForestSettings
from hybrid_scheduler.model import InvalidInputError
from hybrid_scheduler.model.task import FloatArray


def rows(count: int, seed: int = 0, noise: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Features in [0, 1) and two targets that depend on three of them."""
    random = np.random.default_rng(seed)
    x = random.random((count, 4))
    y = np.column_stack([np.sin(5.0 * x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]])
    return x, y + noise * random.standard_normal(y.shape)


def trained(x: FloatArray, y: FloatArray, places: int = 32, **settings: int) -> BoostedForest:
    forest = BoostedForest(ForestSettings(places, 6, 1, **settings), x.shape[1], y.shape[1])
    forest.grow(x, y)
    return forest


def error(forest: BoostedForest, x: FloatArray, y: FloatArray) -> float:
    return float(np.abs(forest.predict(x) - y).mean())


@pytest.mark.parametrize("outputs", [1, 2])
def test_converted_trees_say_what_the_booster_says(outputs: int) -> None:
    x, y = rows(600)
    x = x.astype(np.float32).astype(np.float64)
    settings = {"multi_strategy": "multi_output_tree", "base_score": 0.0, "max_depth": 5}
    booster = xgboost.train(settings, xgboost.DMatrix(x, label=y[:, :outputs]), 12)
    forest = BoostedForest(ForestSettings(16, 5), 4, outputs)
    forest._put_trees(0, packed_trees(booster, 4, 16))
    # Random rows, the rows it was trained on, and rows that lie exactly on the thresholds, where < and <= differ.
    thresholds = booster.trees_to_dataframe() if outputs == 1 else None
    asked = [rows(500, seed=1)[0], x]
    if thresholds is not None:
        splits = thresholds[thresholds["Feature"] != "Leaf"]
        on = np.repeat(rows(1, seed=2)[0], len(splits), axis=0)
        on[np.arange(len(splits)), splits["Feature"].str[1:].astype(int)] = splits["Split"]
        asked.append(on)
    for each in asked:
        expected = booster.predict(xgboost.DMatrix(each)).reshape(-1, outputs)
        assert forest.predict(each) == pytest.approx(expected, rel=1e-5, abs=2e-6)


def test_it_predicts_rows_it_has_not_seen_and_says_how_well() -> None:
    x, y = rows(2000, noise=0.05)
    forest = BoostedForest(ForestSettings(32, 6, 3), 4, 2)
    honest = forest.grow(x, y)
    outside = ~np.isnan(honest[:, 0])
    assert outside.sum() == 500
    assert np.array_equal(honest[outside], forest.predict(x[outside]))
    assert (forest.used, forest.replaced, forest.tried) == (24, 24, 24)
    assert forest.error_before is None
    assert forest.error_after is not None
    assert forest.error_after == pytest.approx(error(forest, *rows(2000, seed=1, noise=0.05)), rel=0.15)
    assert forest.error_after < 0.1


def test_the_same_seed_and_rows_give_the_same_trees() -> None:
    x, y = rows(400)
    assert np.array_equal(trained(x, y).buffer, trained(x, y).buffer)


def test_missing_targets_count_nowhere() -> None:
    x, y = rows(2000)
    holes = y.copy()
    holes[::2, 1] = np.nan
    assert error(trained(x, holes), *rows(500, seed=1)) < 0.1
    holes[:, 1] = np.nan
    half = trained(x, holes)
    assert np.isnan(half.predict(x)[:, 1]).all(), "nothing is known of it"
    half.grow(x, y, range(2), judges=500)  # now something is: what there is cannot be added to
    assert error(half, *rows(500, seed=1)) < 0.1


def test_added_trees_stay_only_when_the_whole_is_no_worse() -> None:
    forest = trained(*rows(2000))
    before = forest.buffer.copy()
    # Pure noise teaches nothing: whatever is learned from it is worse on the rows outside.
    x, y = rows(300, seed=5)
    noise = forest.predict(x) + np.random.default_rng(7).standard_normal(y.shape)
    forest.grow(x, noise, range(4), judges=300)
    assert (forest.replaced, forest.tried, forest.used) == (0, 8, 24)
    assert np.array_equal(forest.buffer, before)
    old = error(forest, x, y + 1.0)
    forest.grow(x, y + 1.0, range(4), judges=300)
    assert (forest.replaced, forest.used) == (4, 28), "added"
    assert error(forest, x, y + 1.0) < 0.5 * old
    assert forest.error_after is not None
    assert forest.error_before is not None
    assert forest.error_after < 0.5 * forest.error_before


def test_without_a_free_place_the_latest_trees_are_replaced() -> None:
    forest = trained(*rows(2000))
    x, y = rows(300, seed=5)
    for step in range(1, 6):
        old = error(forest, x, y + 0.5 * step)
        forest.grow(x, y + 0.5 * step, range(4), judges=300)
        assert forest.replaced == 4
        assert forest.used == min(24 + 4 * step, 32)
        assert error(forest, x, y + 0.5 * step) < old


def test_boosting_needs_two_trees() -> None:
    with pytest.raises(InvalidInputError, match="n_estimators is 1, but boosting needs at least 2"):
        BoostedForest(ForestSettings(1), 4, 2)
