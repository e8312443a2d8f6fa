from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from hybrid_scheduler.learning.predictor_file import write_predictor
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor, XGBoostPredictor
from hybrid_scheduler.model import InvalidInputError, MissingExtraError

NAMES = ["a", "b", "c"]


def frame(count: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(seed)
    x = pd.DataFrame(random.random((count, 3)), columns=NAMES)
    return x, pd.Series(x["a"] * 3.0 + (x["b"] > 0.5) + 0.01 * random.standard_normal(count), name="fraction")


@pytest.fixture(scope="module")
def forest() -> RandomForestPredictor:
    predictor = RandomForestPredictor(n_estimators=25)
    predictor.fit(*frame())
    return predictor


def test_the_compiled_walk_gives_scikit_learns_figures(forest: RandomForestPredictor) -> None:
    x, _ = frame(500, seed=1)
    assert np.abs(forest.predict(x) - forest.estimator.predict(x.to_numpy())).max() <= 1e-12


def test_fit_says_how_well_it_went() -> None:
    result = RandomForestPredictor(n_estimators=20).fit(*frame())
    assert list(result) == ["train_r2", "test_r2", "cv_r2_mean", "cv_r2_std", "mae"]
    assert 0.9 < result["test_r2"] < result["train_r2"] <= 1.0
    assert 0.9 < result["cv_r2_mean"] < 1.0
    assert 0.0 < result["mae"] < 0.2


def test_the_same_seed_gives_the_same_model() -> None:
    x, y = frame(120)
    one, two, other = (RandomForestPredictor(10, seed=seed) for seed in (4, 4, 5))
    assert one.fit(x, y) == two.fit(x, y) != other.fit(x, y)
    assert np.array_equal(one.predict(x), two.predict(x))


def test_importances_largest_first(forest: RandomForestPredictor) -> None:
    found = forest.feature_importance()
    assert list(found) == ["a", "b", "c"]
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["c"] < 0.05


def test_it_knows_features_and_target(forest: RandomForestPredictor) -> None:
    x, _ = frame(10)
    assert forest.feature_names == ("a", "b", "c")
    assert np.array_equal(forest.predict(x[["c", "a", "b"]]), forest.predict(x))
    forest.require_target("fraction")
    with pytest.raises(InvalidInputError, match="predicts 'fraction', but 'seconds' is needed"):
        forest.require_target("seconds")
    with pytest.raises(InvalidInputError, match="fitted on"):
        forest.predict(x.rename(columns={"a": "z"}))
    with pytest.raises(InvalidInputError, match="2 columns"):
        forest.predict(x.to_numpy()[:, :2])


def test_arrays_get_names_too() -> None:
    x, y = frame(100)
    predictor = RandomForestPredictor(5)
    predictor.fit(x.to_numpy(), y.to_numpy())
    assert predictor.feature_names == ("feature_0", "feature_1", "feature_2")
    assert predictor.target == "gpu_fraction"


def test_saved_and_loaded_it_predicts_the_same(forest: RandomForestPredictor, tmp_path: Path) -> None:
    x, _ = frame(50, seed=2)
    forest.save(tmp_path / "m.pkl")
    for loaded in (RandomForestPredictor.load(tmp_path / "m.pkl"), RandomForestPredictor().load(tmp_path / "m.pkl")):
        assert np.array_equal(loaded.predict(x), forest.predict(x))
        assert (loaded.feature_names, loaded.target) == (forest.feature_names, "fraction")
        assert (loaded.n_estimators, loaded.max_depth) == (25, 15)


def test_files_that_are_no_such_model_are_refused(forest: RandomForestPredictor, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.pkl", tmp_path / "bad.pkl"
    forest.save(good)

    def refused(match: str) -> None:
        with pytest.raises(InvalidInputError, match=match) as caught:
            RandomForestPredictor.load(bad)
        assert str(bad) in str(caught.value)

    refused("no such file")
    bare = joblib.load(good)
    for contents in (b"", b"not a pickle at all", good.read_bytes()[:40], pickle.dumps(bare)):
        bad.write_bytes(contents)
        refused("its beginning does not say what it is.*trusted=True")
    bad.write_bytes(good.read_bytes()[:-200])
    refused("its checksum does not match")
    bad.write_bytes(good.read_bytes().replace(b"version 1", b"version 9", 1))
    refused("version 9, but this program reads 1")
    bad.write_bytes(good.read_bytes().replace(b"RandomForestPredictor", b"XGBoostPredictor", 1))
    refused("a XGBoostPredictor, but a RandomForestPredictor is needed")
    write_predictor(bad, {key: value for key, value in bare.items() if key != "target"})
    refused("no 'target'")
    write_predictor(bad, {**bare, "estimator": 3})
    refused("damaged or incomplete")


def test_a_bare_pickle_needs_trust(forest: RandomForestPredictor, tmp_path: Path) -> None:
    forest.save(tmp_path / "good.pkl")
    contents: dict[str, Any] = joblib.load(tmp_path / "good.pkl")
    bare = tmp_path / "bare.pkl"
    joblib.dump(contents, bare, compress=3)
    x, _ = frame(50, seed=2)
    with pytest.warns(UserWarning, match=r"bare\.pkl is a bare pickle: reading it runs whatever code it holds"):
        loaded = RandomForestPredictor.load(bare, trusted=True)
    assert np.array_equal(loaded.predict(x), forest.predict(x))
    for wrong, match in (
        ([1, 2, 3], "not a saved predictor"),
        ({**contents, "version": 99}, "version 99"),
        ({**contents, "model": "XGBoostPredictor"}, "a XGBoostPredictor, but"),
    ):
        joblib.dump(wrong, bare)
        with pytest.warns(UserWarning, match="bare pickle"), pytest.raises(InvalidInputError, match=match):
            RandomForestPredictor.load(bare, trusted=True)


class Burglar:
    """Makes a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.trace,)


def test_nothing_is_unpickled_before_it_is_checked(tmp_path: Path) -> None:
    trace, path = tmp_path / "trace", tmp_path / "m.pkl"
    joblib.dump(Burglar(trace), path)
    with pytest.raises(InvalidInputError, match="does not say what it is"):
        RandomForestPredictor.load(path)
    write_predictor(path, {"model": "RandomForestPredictor", "estimator": Burglar(trace)})
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(InvalidInputError, match="checksum"):
        RandomForestPredictor.load(path)
    assert not trace.exists()


def test_what_cannot_be_learned_from_is_refused() -> None:
    x, y = frame(40)
    predictor = RandomForestPredictor(3)
    with pytest.raises(InvalidInputError, match="not been fitted"):
        predictor.predict(x)
    with pytest.raises(InvalidInputError, match="40 rows and y has 39"):
        predictor.fit(x, y[:-1])
    with pytest.raises(InvalidInputError, match="too few"):
        predictor.fit(x[:4], y[:4])
    with pytest.raises(InvalidInputError, match="test_size is 1"):
        predictor.fit(x, y, test_size=1.0)
    with pytest.raises(InvalidInputError, match="not finite"):
        predictor.fit(x.mask(x > 0.9), y)
    with pytest.raises(InvalidInputError, match="not a number"):
        predictor.fit(x.assign(a="many"), y)


def test_any_regressor_will_do(tmp_path: Path) -> None:
    x, y = frame()
    linear = Predictor(LinearRegression())
    assert linear.fit(x, y)["test_r2"] > 0.8
    assert next(iter(linear.feature_importance())) == "a"
    linear.save(tmp_path / "linear.pkl")
    assert np.array_equal(Predictor.load(tmp_path / "linear.pkl").predict(x), linear.predict(x))
    nearest = Predictor(KNeighborsRegressor())
    nearest.fit(x, y)
    with pytest.raises(InvalidInputError, match="does not say how much its features matter"):
        nearest.feature_importance()


def test_xgboost_where_it_is_installed(tmp_path: Path) -> None:
    x, y = frame()
    predictor = XGBoostPredictor(n_estimators=12, seed=3)
    assert predictor.fit(x, y)["test_r2"] > 0.9
    assert (predictor.estimator.n_estimators, predictor.estimator.max_depth) == (12, 7)
    assert predictor.estimator.random_state == 3
    assert sum(predictor.feature_importance().values()) == pytest.approx(1.0)
    predictor.save(tmp_path / "x.pkl")
    assert np.array_equal(XGBoostPredictor.load(tmp_path / "x.pkl").predict(x), predictor.predict(x))


def test_xgboost_where_it_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingExtraError, match=r"pip install hybrid-ml-scheduler\[xgboost\]"):
        XGBoostPredictor().fit(*frame())
    with pytest.raises(MissingExtraError, match=r"\[xgboost\]"):
        XGBoostPredictor.load(tmp_path / "x.pkl")
