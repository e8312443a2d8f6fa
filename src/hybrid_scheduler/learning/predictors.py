"""Predictors of one figure per task, by name: a random forest, gradient boosting, any scikit-learn regressor.

They learn the best GPU fraction of a task offline. The libraries are imported when they are first needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from hybrid_scheduler.learning.features import FEATURE_NAMES
from hybrid_scheduler.learning.forest.forest import Forest, ForestSettings
from hybrid_scheduler.learning.forest.predict import pack_tree
from hybrid_scheduler.learning.predictor_file import read_predictor, require, write_predictor
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.model.task import FloatArray

FOLDS = 3
"""Parts of the cross-validation."""
LEAST_ROWS = 2 * FOLDS
UNNAMED_TARGET = "gpu_fraction"
"""What a target without a name is taken for."""

P = TypeVar("P", bound="Predictor")
P_co = TypeVar("P_co", bound="Predictor", covariant=True)


class _Restore(Protocol[P_co]):
    """The type of `Predictor.restore`."""

    def __call__(self, path: str | Path, *, trusted: bool = False) -> P_co: ...


class _Load:
    """``load(path)``: on an object it fills that one, on a class it makes a new one."""

    def __get__(self, predictor: P | None, owner: type[P]) -> _Restore[P]:
        return (owner() if predictor is None else predictor).restore


class Predictor:
    """A scikit-learn regressor that knows what it predicts from what, and how well.

    Args:
        estimator: The regressor, not fitted.
        seed: Decides which rows are set aside for the test.
    """

    load = _Load()

    def __init__(self, estimator: Any = None, seed: int = 0) -> None:
        self.estimator = estimator
        self.seed = seed
        self.feature_names: tuple[str, ...] = ()
        self.target = ""

    @property
    def fitted(self) -> bool:
        """Whether there is anything to predict with."""
        return bool(self.feature_names)

    def fit(self, X: Any, y: Any, test_size: float = 0.2) -> dict[str, float]:  # noqa: N803 (the users' name)
        """Learn from rows of features and a figure each, and say how well.

        Args:
            X: A data frame, whose columns are the features' names, or an array.
            y: The target; a series' name is the target's.
            test_size: Share of the rows set aside for the test.

        Returns:
            `train_r2` and `test_r2`, `cv_r2_mean` and `cv_r2_std` by cross-validation on the training rows, and `mae`,
            the mean absolute error on the test rows.

        Raises:
            InvalidInputError: The shapes do not fit, a value is not finite, or there are too few rows.
            MissingExtraError: scikit-learn is not installed.
        """
        if not 0.0 < test_size < 1.0:
            raise InvalidInputError(f"test_size is {test_size}, but it must be a number between 0 and 1")
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else _default_names(np.asarray(X))
        rows, targets = _finite("X", X, 2), _finite("y", y, 1)
        if len(rows) != len(targets):
            raise InvalidInputError(f"X has {len(rows)} rows and y has {len(targets)}; each row needs its target")
        held = max(2, round(len(rows) * test_size))
        if len(rows) - held < LEAST_ROWS:
            raise InvalidInputError(
                f"{len(rows)} rows are too few to train and test on; give at least {LEAST_ROWS + 2}"
            )
        self._require_library()
        from sklearn.base import clone
        from sklearn.metrics import mean_absolute_error, r2_score
        from sklearn.model_selection import KFold, cross_val_score, train_test_split

        x_train, x_test, y_train, y_test = train_test_split(rows, targets, test_size=held, random_state=self.seed)
        folds = KFold(FOLDS, shuffle=True, random_state=self.seed)
        cv = cross_val_score(clone(self.estimator), x_train, y_train, cv=folds, scoring="r2")
        self.estimator = clone(self.estimator).fit(x_train, y_train)
        self.feature_names, self.target = names, str(getattr(y, "name", None) or UNNAMED_TARGET)
        self._prepare()
        predicted = self._predict(x_test)
        return {
            "train_r2": float(r2_score(y_train, self._predict(x_train))),
            "test_r2": float(r2_score(y_test, predicted)),
            "cv_r2_mean": float(cv.mean()),
            "cv_r2_std": float(cv.std()),
            "mae": float(mean_absolute_error(y_test, predicted)),
        }

    def predict(self, X: Any) -> FloatArray:  # noqa: N803
        """One figure per row.

        Raises:
            InvalidInputError: It has not been fitted, or the features are not those it was fitted on.
        """
        return self._predict(self._rows(X))

    @property
    def ranks_features(self) -> bool:
        """Whether the fitted regressor says how much its features matter."""
        return any(hasattr(self.estimator, name) for name in ("feature_importances_", "coef_"))

    def feature_importance(self) -> dict[str, float]:
        """How much each feature matters, largest first; by the regressor's own measure, adding up to 1.

        Raises:
            InvalidInputError: It has not been fitted, or the regressor has no such measure.
        """
        self._require_fitted()
        found = getattr(self.estimator, "feature_importances_", None)
        if found is None:
            found = getattr(self.estimator, "coef_", None)
        if found is None:
            raise InvalidInputError(
                f"{type(self.estimator).__name__} does not say how much its features matter; use another regressor"
            )
        sizes = np.abs(np.asarray(found, dtype=np.float64)).ravel()
        sizes = sizes / sizes.sum() if sizes.sum() > 0.0 else sizes
        order = np.argsort(-sizes, kind="stable")
        return {self.feature_names[i]: float(sizes[i]) for i in order}

    def require_target(self, target: str) -> None:
        """Refuse a model that predicts something else.

        Raises:
            InvalidInputError: It does.
        """
        self._require_fitted()
        if self.target != target:
            raise InvalidInputError(
                f"the model predicts {self.target!r}, but {target!r} is needed; train one that does"
            )

    def save(self, path: str | Path) -> None:
        """Write the fitted model with joblib, and what it is, with a checksum.

        Raises:
            InvalidInputError: It has not been fitted, or the file cannot be written.
        """
        self._require_fitted()
        contents = {
            "model": type(self).__name__,
            "feature_names": self.feature_names,
            "target": self.target,
            "seed": self.seed,
            "estimator": self.estimator,
        }
        write_predictor(path, contents)

    def restore(self: P, path: str | Path, *, trusted: bool = False) -> P:
        """Continue from a saved model; returns the predictor itself.

        What `load` does on an object; on the class, `load` makes a new one. What the file is and whether it is damaged
        is checked first. Still, it is a pickle, which can run any code when it is read, and a checksum does not tell
        who made it: load only files whose origin you trust.

        Args:
            path: The file.
            trusted: Load a bare joblib file too, one that `save` of an earlier version or somebody else wrote; a
                warning says what that means.

        Raises:
            InvalidInputError: The file is missing, damaged, not such a model, or of another version.
        """
        self._require_library()
        contents = read_predictor(path, type(self).__name__, trusted=trusted)
        try:
            self.estimator = contents["estimator"]
            self.feature_names, self.target = tuple(contents["feature_names"]), str(contents["target"])
            self.seed = int(contents["seed"])
            self._prepare()
        except (AttributeError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise InvalidInputError(f"{path}: the model is damaged or incomplete ({error}); train it again") from error
        return self

    def _require_library(self) -> None:
        require(type(self).__name__, "scikit-learn", "sklearn", "learning")

    def _prepare(self) -> None:
        """Make ready to predict; called when there is a new estimator."""

    def _predict(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.estimator.predict(rows), dtype=np.float64).ravel()

    def _rows(self, x: Any) -> FloatArray:
        self._require_fitted()
        if hasattr(x, "columns"):
            if set(map(str, x.columns)) != set(self.feature_names):
                raise InvalidInputError(
                    f"the features are {list(map(str, x.columns))}, but the model was fitted on "
                    f"{list(self.feature_names)}; give it those"
                )
            x = x[list(self.feature_names)]
        rows = _finite("X", x, 2)
        if rows.shape[1] != len(self.feature_names):
            raise InvalidInputError(
                f"X has {rows.shape[1]} columns, but the model was fitted on {list(self.feature_names)}"
            )
        return rows

    def _require_fitted(self) -> None:
        if not self.fitted:
            raise InvalidInputError(f"{type(self).__name__} has not been fitted; call fit or load first")


class RandomForestPredictor(Predictor):
    """A random forest of scikit-learn's, whose trees are asked by compiled code: the same figures, much sooner.

    Args:
        n_estimators: Trees.
        max_depth: Splits on the longest path of a tree.
        seed: Decides the samples and the test rows.
    """

    def __init__(self, n_estimators: int = 100, max_depth: int = 15, seed: int = 0) -> None:
        super().__init__(None, seed)
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self._forest: Forest | None = None
        ForestSettings(n_estimators, max_depth)  # says what is wrong with them

    def fit(self, X: Any, y: Any, test_size: float = 0.2) -> dict[str, float]:  # noqa: N803
        """See `Predictor.fit`."""
        self._require_library()
        from sklearn.ensemble import RandomForestRegressor

        self.estimator = RandomForestRegressor(self.n_estimators, max_depth=self.max_depth, random_state=self.seed)
        return super().fit(X, y, test_size)

    def _prepare(self) -> None:
        self.n_estimators, self.max_depth = self.estimator.n_estimators, self.estimator.max_depth
        features = len(self.feature_names)
        self._forest = Forest(ForestSettings(self.n_estimators, self.max_depth), features, 1)
        for number, tree in enumerate(fitted.tree_ for fitted in self.estimator.estimators_):
            words, leaves = pack_tree(tree.feature, tree.threshold, tree.children_left, tree.children_right, features)
            self._forest.put_tree(number, words, tree.value[leaves, :, 0], int(tree.max_depth))

    def _predict(self, rows: FloatArray) -> FloatArray:
        if self._forest is None:
            return super()._predict(rows)
        return self._forest.predict(rows)[:, 0]


class XGBoostPredictor(Predictor):
    """Gradient-boosted trees of XGBoost's, an extra.

    Args:
        n_estimators: Trees.
        max_depth: Splits on the longest path of a tree.
        seed: Decides the samples and the test rows.
    """

    def __init__(self, n_estimators: int = 100, max_depth: int = 7, seed: int = 0) -> None:
        super().__init__(None, seed)
        self.n_estimators = n_estimators
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any, test_size: float = 0.2) -> dict[str, float]:  # noqa: N803
        """See `Predictor.fit`.

        Raises:
            MissingExtraError: XGBoost is not installed.
        """
        self._require_library()
        from xgboost import XGBRegressor

        self.estimator = XGBRegressor(
            n_estimators=self.n_estimators, max_depth=self.max_depth, random_state=self.seed, n_jobs=1
        )
        return super().fit(X, y, test_size)

    def _require_library(self) -> None:
        super()._require_library()
        require(type(self).__name__, "XGBoost", "xgboost", "xgboost")


def _default_names(x: Any) -> tuple[str, ...]:
    width = x.shape[1] if x.ndim == 2 else 0
    return FEATURE_NAMES if width == len(FEATURE_NAMES) else tuple(f"feature_{i}" for i in range(width))


def _finite(name: str, values: Any, dimensions: int) -> FloatArray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} holds something that is not a number ({error})") from error
    if found.ndim != dimensions:
        raise InvalidInputError(f"{name} has {found.ndim} dimensions, but it must have {dimensions}")
    if not np.isfinite(found).all():
        raise InvalidInputError(f"{name} holds a value that is not finite; remove the row or repair the value")
    return found
